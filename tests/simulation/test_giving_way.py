"""The executor's own decisions, explored: whatever ends in whatever order, nothing critical is touched.

The real Runner with its scheduler, ledger and yielding is driven over every order of ends, saves and
refusals of small runs. In every state no critical attempt was touched and no device is held twice;
every way ends with each Step done once.
"""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from smallworld import LEVELS, World, box, every_way, play, step

from dsec.events import Resize
from dsec.plan import Elastic


@pytest.mark.parametrize("able", [frozenset(), frozenset({"pauseable", "elastic"})])
def test_every_way_through_a_run_on_one_gpu(monkeypatch, able):
    steps = [
        step("start", "discardable", gpus=0, cpu=100, rank=9),
        step("critical", "critical", gpus=1, cpu=500, needs=["start"], rank=8),
        step("pauseable", "pauseable", gpus=1, cpu=500, rank=3),
        step("elastic", "elastic", gpus=1, cpu=500, rank=2),
        step("discardable", "discardable", gpus=1, cpu=500, rank=1),
    ]
    ways, paused = every_way(monkeypatch, steps, box(1), most=4000, able=able)
    assert ways < 4000, "not all were seen"
    saving = {("pauseable", "saved"), ("elastic", "saved"), ("pauseable", "killed"), ("elastic", "killed")}
    assert paused == {("discardable", "killed")} | (saving if able else set()), (
        "who cannot save keeps its GPU"
    )


def test_every_way_through_a_run_whose_gpu_can_be_lent(monkeypatch):
    steps = [
        step("start", "discardable", gpus=0, cpu=100, rank=9),
        step("critical", "critical", gpus=1, cpu=500, needs=["start"], rank=8),
        step("pauseable", "pauseable", gpus=1, cpu=500, rank=3),
        step("elastic", "elastic", gpus=1, cpu=500, rank=2),
    ]
    ways, paused = every_way(monkeypatch, steps, box(1), most=4000, moves=True)
    assert ways < 4000, "not all were seen"
    assert paused == {(step, how) for step in ("pauseable", "elastic") for how in ("suspended", "killed")}


def test_every_way_through_a_run_whose_elastic_step_gives_gpus_back(monkeypatch):
    steps = [
        step("start", "discardable", gpus=0, cpu=100, rank=9),
        step("critical", "critical", gpus=2, cpu=500, needs=["start"], rank=8),
        step("elastic", "elastic", gpus=3, cpu=500, rank=3),
        step("pauseable", "pauseable", gpus=1, cpu=500, rank=1),
    ]
    seen = set()
    monkeypatch.setattr(World, "emit", told_to(seen))
    given = {"moves": True, "elastic": (Elastic("elastic", 1, 3),)}
    ways, paused = every_way(monkeypatch, steps, box(3), most=4000, **given)
    assert ways < 4000, "not all were seen"
    assert ("elastic", 1) in seen, "it went on with one"
    assert {step for step, _ in paused} <= {"elastic", "pauseable"}


def told_to(seen):
    before = World.emit

    def emit(self, event, *, long=False):
        if isinstance(event, Resize):
            seen.add((event.step, len(event.devices)))
        before(self, event, long=long)

    return emit


def test_every_way_through_a_run_that_lends_and_lacks_processors(monkeypatch):
    steps = [
        step("start", "discardable", gpus=0, cpu=0, rank=9),
        step("critical", "critical", gpus=2, cpu=2000, needs=["start"], rank=8),
        step("pauseable", "pauseable", gpus=2, cpu=2000, rank=3),
    ]
    ways, paused = every_way(monkeypatch, steps, box(2), most=1000, moves=True)
    assert ways < 1000, "not all were seen"
    assert paused == {("pauseable", "suspended"), ("pauseable", "killed")}


def test_every_way_through_a_run_that_lacks_processors(monkeypatch):
    steps = [
        step("start", "discardable", gpus=0, cpu=0, rank=9),
        step("critical", "critical", gpus=0, cpu=2000, needs=["start"], rank=8),
        step("pauseable", "pauseable", gpus=0, cpu=1000, rank=3),
        step("discardable", "discardable", gpus=0, cpu=1000, rank=1),
    ]
    ways, paused = every_way(monkeypatch, steps, box(0), most=4000)
    assert ways < 4000
    assert paused


def test_every_way_through_two_critical_ones(monkeypatch):
    steps = [
        step("start", "pauseable", gpus=0, cpu=0, rank=9),
        step("critical-a", "critical", gpus=1, cpu=1000, needs=["start"], rank=8),
        step("critical-b", "critical", gpus=2, cpu=1000, needs=["start"], rank=7),
        step("pauseable", "pauseable", gpus=1, cpu=1000, rank=3),
        step("discardable", "discardable", gpus=1, cpu=1000, rank=1),
    ]
    able = frozenset({"pauseable", "start"})
    ways, paused = every_way(monkeypatch, steps, box(2), most=6000, able=able)
    assert ways < 6000
    assert paused


def test_every_way_past_a_critical_one_that_is_less_urgent(monkeypatch):
    steps = [
        step("start", "discardable", gpus=0, cpu=0, rank=9),
        step("critical-first", "critical", gpus=1, cpu=1500, needs=["start"], rank=8),
        step("critical-late", "critical", gpus=1, cpu=1000, rank=1),
        step("elastic", "elastic", gpus=0, cpu=1000, rank=0),
    ]
    able = frozenset({"critical-late"})
    ways, paused = every_way(monkeypatch, steps, box(1), most=4000, able=able)
    assert ways < 4000
    assert {step for step, _ in paused} <= {"elastic"}


@st.composite
def runs(draw):
    steps = []
    for at in range(draw(st.integers(2, 7))):
        level = draw(st.sampled_from(LEVELS))
        needs = (
            draw(st.lists(st.sampled_from([one.id for one in steps]), max_size=2, unique=True))
            if steps
            else ()
        )
        steps.append(
            step(
                f"{level}-{at}",
                level,
                needs=needs,
                gpus=draw(st.integers(0, 2)),
                cpu=draw(st.sampled_from((0, 300, 1000, 2000))),
                rank=draw(st.integers(0, 3)),
            )
        )
    able = draw(st.sets(st.sampled_from([one.id for one in steps])))
    choices = draw(st.lists(st.integers(0, 9), max_size=60))
    spans = [Elastic(one.id, 1, 2) for one in steps if one.level == "elastic" and one.demand.gpu_count]
    elastic = tuple(spans) if draw(st.booleans()) else ()
    return steps, frozenset(able), draw(st.integers(1, 2)), choices, draw(st.booleans()), elastic


@pytest.mark.battery
@given(drawn=runs())
@settings(max_examples=150)
def test_any_run_ends_with_everything_done_once(drawn):
    steps, able, count, choices, moves, elastic = drawn
    left = list(choices)

    def choose(many):
        return (left.pop() if left else 0) % many

    with pytest.MonkeyPatch.context() as patch:
        given_ = {"able": able, "count": count, "moves": moves, "elastic": elastic}
        play(patch, steps, box(2), choose, **given_)
