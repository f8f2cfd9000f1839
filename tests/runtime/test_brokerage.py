"""Who gets which device when runs share a machine: never two at a time, nobody starves, shares are fair."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsec.core.brokerage import (
    CRITICAL,
    DISCARDABLE,
    ELASTIC,
    IDLE,
    PAUSEABLE,
    STAYS,
    Brokerage,
    Grant,
    Recall,
    Request,
)

GPUS = ("g0", "g1", "g2", "g3")
DEVICES = tuple(f"g{at}" for at in range(6))
SECOND = 1_000_000


def request(many: int, among: tuple[str, ...] = GPUS, *, since_us: int = 0, hunger: int = 0) -> Request:
    return Request(many, (among,), since_us, hunger)


class Box:
    """Runs that always want the same, and hold what they get for a fixed time."""

    def __init__(self, wants: dict[str, tuple[Request, int]]) -> None:
        """`wants`: of each run its request and for how long it holds what it gets."""
        self.wants, self.broker = wants, Brokerage()
        self.ends: list[tuple[int, str, tuple[str, ...]]] = []
        self.times: dict[str, list[int]] = {run: [0] for run in wants}
        self.device_us: Counter[str] = Counter()
        for run in wants:
            self.broker.join(run, (), 0)

    def play(self, until_us: int, *, beside: int = 1) -> None:
        """`beside`: how many requests each run has at a time."""
        now = 0
        while now < until_us:
            for run, (one, _) in self.wants.items():
                running = sum(name == run for _, name, _ in self.ends)
                self.broker.want(run, [one._replace(since_us=now)] * max(0, beside - running), now)
            for decision in self.broker.decide(now):
                if isinstance(decision, Grant):
                    length = self.wants[decision.run][1]
                    self.times[decision.run].append(now)
                    self.device_us[decision.run] += length * len(decision.devices)
                    self.ends.append((now + length, decision.run, decision.devices))
            held = [device for _, _, devices in self.ends for device in devices]
            assert len(held) == len(set(held)), f"held twice at {now}: {self.ends}"
            # Somebody looks at least once a second, as the process does while anybody waits.
            now = min([end for end, _, _ in self.ends] + [now + SECOND])
            for over in [one for one in self.ends if one[0] <= now]:
                self.ends.remove(over)
                self.broker.give_back(over[1], over[2], now)


def test_a_request_is_granted_whole_or_not_at_all():
    broker = Brokerage()
    broker.join("a", (), 0)
    broker.join("b", ("g0",), 0)
    broker.want("a", [request(4)], 0)
    assert broker.decide(0) == [Recall("b", ("g0",))]
    assert broker.held("a") == ()
    assert broker.decide(1) == [], "it is called back once"
    broker.give_back("b", ["g0"], 2)
    assert broker.decide(2) == [Grant("a", GPUS)]
    assert broker.requests("a") == ()


def test_what_more_than_there_is_would_keep_is_left_out():
    broker = Brokerage()
    broker.join("a", (), 0)
    broker.want("a", [request(5), request(1, ("g3",)), request(2, ("g1", "g1"))], 0)
    assert broker.decide(0) == [Grant("a", ("g3",))]


def test_many_small_requests_do_not_starve_a_large_one():
    box = Box({"large": (request(4), 30 * SECOND), "small": (request(1), 3 * SECOND)})
    box.play(1200 * SECOND, beside=4)
    gaps = [later - sooner for sooner, later in pairwise(box.times["large"])]
    assert len(gaps) > 10
    assert max(gaps) < 80 * SECOND, "once the small ones have had as much it is the large one's turn"


def test_two_that_always_want_all_have_equal_shares_however_long_each_holds_it():
    box = Box({"a": (request(1, ("g0",)), 7 * SECOND), "b": (request(1, ("g0",)), 2 * SECOND)})
    box.play(2000 * SECOND)
    assert abs(box.device_us["a"] - box.device_us["b"]) < 20 * SECOND


def test_the_hungry_have_up_to_twice_as_much():
    hungry = request(1, ("g0",), hunger=1000)
    broker = Brokerage()
    broker.join("a", ("g0",), 0)
    broker.join("b", ("g1",), 0)
    broker.want("a", [hungry], 0)
    broker.want("b", [request(1, ("g0",))], 0)
    broker.decide(10 * SECOND)
    assert broker.used_us("a") * 2 == broker.used_us("b") == 10 * SECOND


def test_nothing_is_saved_up_by_wanting_nothing():
    broker = Brokerage()
    broker.join("old", ("g0",), 0)
    broker.join("idle", (), 0)
    broker.want("idle", [request(1, ("g0",))], 100 * SECOND)
    broker.join("new", (), 100 * SECOND)
    assert broker.used_us("idle") == broker.used_us("new") == broker.used_us("old") == 100 * SECOND


def test_what_two_say_that_they_hold_is_free_when_both_are_gone():
    broker = Brokerage()
    for run in ("a", "b"):
        broker.join(run, ("g0",), 0)
    broker.join("c", (), 0)
    broker.want("c", [request(1, ("g0",))], 0)
    assert broker.holders("g0") == ("a", "b")
    broker.leave("a", 1)
    assert not any(isinstance(one, Grant) for one in broker.decide(1))
    broker.leave("b", 2)
    assert broker.decide(2) == [Grant("c", ("g0",))]


_WANTS = st.tuples(
    st.integers(1, 4),
    st.lists(st.sampled_from(GPUS), min_size=1, max_size=4, unique=True),
    st.integers(1, 20),
    st.integers(0, 1000),
)


@pytest.mark.battery
@given(st.lists(_WANTS, min_size=1, max_size=4), st.integers(1, 3))
def test_no_device_is_held_twice_and_nobody_starves(wants, beside):
    runs = {
        f"r{at}": (request(min(many, len(among)), tuple(among), hunger=hunger), length * SECOND)
        for at, (many, among, length, hunger) in enumerate(wants)
    }
    box = Box(runs)
    box.play(600 * SECOND, beside=beside)
    starved = {run: times for run, times in box.times.items() if len(times) < 3}
    assert not starved, "each had its turn, several times"


_ACTS = st.lists(
    st.tuples(
        st.sampled_from(("join", "leave", "want", "give", "decide")),
        st.sampled_from("abc"),
        st.integers(1, 4),
        st.integers(-5, 50),
    ),
    max_size=60,
)


@given(_ACTS)
def test_whatever_happens_in_whatever_order_a_grant_is_of_what_nobody_holds(acts):
    broker, now, there = Brokerage(), 0, set()
    for act, run, many, passed in acts:
        now += passed
        if act == "join" and run not in there:
            broker.join(run, (), now)
            there.add(run)
        elif act == "leave" and run in there:
            broker.leave(run, now)
            there.remove(run)
        elif act == "want" and run in there:
            broker.want(run, [request(many)] * 2, now)
        elif act == "give" and run in there:
            broker.give_back(run, broker.held(run)[:many], now)
        elif act == "decide":
            broker.decide(now)
        assert all(len(broker.holders(device)) <= 1 for device in GPUS)
        if there and act == "decide":
            free = sum(not broker.holders(device) for device in GPUS)
            waiting = [one for name in there for one in broker.requests(name)]
            assert not waiting or min(one.many for one in waiting) > 0
            assert not (free == len(GPUS) and waiting), "all are free and somebody waits"


ISLANDS = (("g0", "g1"), ("g2", "g3"))


class Keepers:
    """Runs that go on with what they have until it is called back, as runs do."""

    def __init__(self, wants: dict[str, tuple[Request, int]]) -> None:
        """`wants`: of each run its request and how long each of its Steps takes."""
        self.wants, self.broker = wants, Brokerage()
        self.units: list[tuple[int, str, tuple[str, ...]]] = []
        self.recalled: set[str] = set()
        self.steps: Counter[str] = Counter()
        self.device_us: Counter[str] = Counter()
        for run in wants:
            self.broker.join(run, (), 0)

    def play(self, until_us: int, *, beside: int) -> None:
        now = 0
        while now < until_us:
            for run, (one, _) in self.wants.items():
                running = sum(name == run for _, name, _ in self.units)
                self.broker.want(run, [one._replace(since_us=now)] * max(0, beside - running), now)
            for decision in self.broker.decide(now):
                if isinstance(decision, Recall):
                    self.recalled |= set(decision.devices)
                else:
                    self.begin(decision.run, decision.devices, now)
            held = [device for _, _, devices in self.units for device in devices]
            assert len(held) == len(set(held))
            now = min([end for end, _, _ in self.units] + [now + SECOND])
            for over in [one for one in self.units if one[0] <= now]:
                self.end(over, now)

    def begin(self, run: str, devices: tuple[str, ...], now: int) -> None:
        length = self.wants[run][1]
        self.steps[run] += 1
        self.device_us[run] += length * len(devices)
        self.units.append((now + length, run, devices))

    def end(self, over: tuple[int, str, tuple[str, ...]], now: int) -> None:
        self.units.remove(over)
        _, run, devices = over
        if self.recalled.isdisjoint(devices):
            self.begin(run, devices, now)
        else:
            self.recalled -= set(devices)
            self.broker.give_back(run, devices, now)


@pytest.mark.battery
@given(
    st.lists(
        st.tuples(
            st.sampled_from(((1, (GPUS,)), (2, (GPUS,)), (2, ISLANDS), (2, (*ISLANDS, GPUS)), (4, (GPUS,)))),
            st.integers(1, 20),
            st.booleans(),
        ),
        min_size=1,
        max_size=4,
    ),
    st.integers(1, 4),
)
def test_nobody_starves_among_runs_that_keep_what_is_not_called_back(wants, beside):
    runs = {
        f"r{at}": (Request(many, sets, 0, 0, urgent), length * SECOND)
        for at, ((many, sets), length, urgent) in enumerate(wants)
    }
    keepers = Keepers(runs)
    keepers.play(600 * SECOND, beside=beside)
    assert not [run for run in runs if keepers.steps[run] < 3]


def test_queues_that_keep_what_is_not_called_back_have_equal_shares():
    queues = Keepers({"a": (request(1), 2 * SECOND), "b": (request(1), 9 * SECOND)})
    queues.play(2000 * SECOND, beside=4)
    shares = sorted(queues.device_us.values())
    assert shares[0] > 0.45 * sum(shares), shares


def test_devices_of_one_island_are_kept_for_who_needs_them_together():
    broker = Brokerage()
    for run, device in (("a", "g0"), ("b", "g3"), ("c", "")):
        broker.join(run, (device,) if device else (), 0)
    broker.want("c", [Request(2, ISLANDS, 0, 0)], 0)
    assert broker.decide(0) == [Recall("a", ("g0",))]
    broker.want("b", [request(1, since_us=1)], 0)
    assert broker.decide(0) == [Grant("b", ("g2",))], "only g1 is kept"
    broker.give_back("a", ["g0"], 1)
    assert Grant("c", ("g0", "g1")) in broker.decide(1)


def test_who_can_make_room_at_once_is_asked_before_others():
    broker = Brokerage()
    broker.join("a", ("g0", "g1"), 0)
    broker.join("b", ("g2", "g3"), 0)
    broker.join("c", (), 0)
    broker.want("b", (), 0, soft=("g3",))
    broker.want("c", [request(1)], 0)
    assert broker.decide(0) == [Recall("a", ("g0",))]
    broker.want("c", [request(1)._replace(urgent=True)], 0)
    assert broker.decide(0) == [Recall("b", ("g3",), urgent=True)]
    assert broker.decide(1) == [], "it comes"


@pytest.mark.parametrize("urgent", [False, True])
@pytest.mark.parametrize("last", [CRITICAL, STAYS, PAUSEABLE, ELASTIC, DISCARDABLE])
def test_victims_are_chosen_by_level_then_by_cost(urgent, last):
    """The lowest index is the worst victim of all."""
    levels = [CRITICAL, STAYS, PAUSEABLE, ELASTIC, DISCARDABLE, IDLE]
    levels = levels[: levels.index(last) + 1]
    broker = Brokerage()
    broker.join("a", DEVICES[: len(levels)], 0)
    broker.join("b", (), 0)
    held = list(zip(DEVICES, levels, strict=False))
    broker.want("a", (), 0, costs=[(device, level, 0) for device, level in held])
    broker.want("b", [Request(1, (DEVICES[: len(levels)],), 0, 0, urgent)], 0)
    assert broker.decide(0) == [Recall("a", (held[-1][0],), urgent)]


@pytest.mark.parametrize("costs", [(3, 1, 2), (1, 3, 2), (2, 3, 1)])
def test_of_one_level_the_cheapest_gives_way(costs):
    broker = Brokerage()
    for run, device, cost in zip("abc", DEVICES, costs, strict=False):
        broker.join(run, (device,), 0)
        broker.want(run, (), 0, costs=[(device, PAUSEABLE, cost)])
    broker.join("d", (), 0)
    broker.want("d", [Request(1, (DEVICES[:3],), 0, 0, True)], 0)
    at = costs.index(1)
    assert broker.decide(0) == [Recall("abc"[at], (DEVICES[at],), True)]


def test_what_was_called_back_from_a_critical_step_is_not_waited_for():
    """Something that can save its state is asked, though the other device comes one day."""
    broker = Brokerage()
    broker.join("a", ("g0", "g1"), 0)
    broker.join("b", (), 0)
    broker.want("a", (), 0, costs=[("g0", CRITICAL, 0), ("g1", CRITICAL, 0)])
    broker.want("b", [Request(1, (("g0", "g1"),), 0, 0)], 0)
    assert broker.decide(0) == [Recall("a", ("g0",))]
    broker.want("a", (), 0, costs=[("g0", CRITICAL, 0), ("g1", PAUSEABLE, 0)])
    broker.want("b", [Request(1, (("g0", "g1"),), 0, 0, True)], 0)
    assert broker.decide(0) == [Recall("a", ("g1",), True)]


def test_what_a_run_that_is_gone_holds_is_waited_for_and_not_called_back():
    broker = Brokerage()
    broker.join("a", ("g0", "g1"), 0)
    broker.join("b", ("g2", "g3"), 0)
    broker.join("c", (), 0)
    broker.gone("a", 0)
    broker.want("c", [request(2)], 0)
    assert broker.decide(0) == []
    broker.leave("a", 1)
    assert broker.decide(1) == [Grant("c", ("g0", "g1"))]
