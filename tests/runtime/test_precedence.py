"""Within a run, what a critical Step needs goes first, and what may be thrown away goes last."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dsec.core.contest import Contest
from dsec.core.fold import Fold
from dsec.core.leases import Ledger
from dsec.core.order import topological
from dsec.core.precedence import CRITICAL, DISCARDABLE, OTHERS, lifted, precedence
from dsec.core.schedule import Work, list_schedule
from dsec.core.scheduler import Scheduler
from dsec.core.search import best_order
from dsec.core.why import why
from dsec.inventory import Inventory
from dsec.plan import Demand, Iterations
from dsec_cli.commands.reasoning import reasons

LEVELS = ("critical", "pauseable", "elastic", "discardable")


@st.composite
def graphs(draw):
    n = draw(st.integers(1, 8))
    after = [sorted(draw(st.sets(st.integers(0, n - 1), max_size=3))) for _ in range(n)]
    return draw(st.lists(st.sampled_from(LEVELS), min_size=n, max_size=n)), after


@given(graphs())
def test_a_class_is_the_most_important_level_that_can_be_reached(drawn):
    levels, after = drawn
    own = {"critical": CRITICAL, "pauseable": OTHERS, "elastic": OTHERS, "discardable": DISCARDABLE}
    for at, found in enumerate(precedence(levels, after.__getitem__)):
        reached, todo = {at}, [at]
        while todo:
            new = set(after[todo.pop()]) - reached
            reached |= new
            todo += new
        assert found == min(own[levels[one]] for one in reached)


@given(st.lists(st.tuples(st.integers(0, 99), st.integers(0, 2)), min_size=1, max_size=9))
def test_ranks_keep_their_order_within_a_class_and_classes_theirs(pairs):
    ranks, classes = zip(*pairs, strict=True)
    found = lifted(ranks, classes)
    for at, one in enumerate(found):
        for other in range(len(found)):
            if classes[at] < classes[other] or (classes[at] == classes[other] and ranks[at] > ranks[other]):
                assert one > found[other]


def order_of(kit, *steps, count=1, in_flight=1):
    scheduler = Scheduler(steps, Iterations(count, in_flight - 1, in_flight), groups=range(len(steps)))
    found = [scheduler.locate(entry) for entry in scheduler.ready()]
    return scheduler, [(steps[at].id, iteration) for at, iteration in found]


def test_the_order_of_what_is_ready(kit):
    steps = (
        kit.step("sweep", level="discardable", rank_ms=99),
        kit.step("prep", level="discardable", rank_ms=3),
        kit.step("eval", rank_ms=50),
        kit.step("update", level="critical", rank_ms=1),
        kit.step("apply", "prep", level="critical"),
    )
    assert order_of(kit, *steps)[1] == [("prep", 0), ("update", 0), ("eval", 0), ("sweep", 0)]
    alike = [one._replace(level="discardable") for one in steps]
    assert order_of(kit, *alike)[1] == [("sweep", 0), ("eval", 0), ("prep", 0), ("update", 0)]


def test_a_later_iteration_of_a_critical_step_goes_before_an_earlier_one_of_another(kit):
    steps = (kit.step("sweep", level="discardable", rank_ms=9), kit.step("update", level="critical"))
    scheduler, found = order_of(kit, *steps, count=3, in_flight=3)
    assert found == [("update", 0), ("sweep", 0)]
    for iteration in range(2):
        scheduler.start(scheduler.entry(1, iteration))
        scheduler.finish(1, iteration)
        assert scheduler.locate(scheduler.ready()[0]) == (1, iteration + 1)
    assert scheduler.promote(0, 0) > scheduler.entry(1, 2)  # hungry, and yet of its class
    assert scheduler.locate(scheduler.ready()[1]) == (0, 0)


@given(graphs(), st.lists(st.integers(1, 9), min_size=8, max_size=8))
def test_the_plans_schedule_follows_the_same_order(drawn, durations):
    levels, after = drawn
    successors = [[other for other in targets if other > at] for at, targets in enumerate(after)]
    works = [Work(Demand(1000, 0, 0, 0, (), 0, 0), durations[at], 0) for at in range(len(levels))]
    machine = Inventory("os", 1000, None, None, None, (), ())
    classes = precedence(levels, successors.__getitem__)
    found = best_order(Contest(successors, topological(successors), works, machine, classes=classes))
    ranked = [work._replace(rank=rank) for work, rank in zip(works, found.best.priorities, strict=True)]
    slices = list_schedule(successors, ranked, Ledger(machine))
    assert [one.start for one in slices] == found.best.run.starts
    for at, one in enumerate(slices):
        for other, its in enumerate(slices):
            ready = max(
                (slices[need].end for need in range(len(levels)) if at in successors[need]), default=0
            )
            if classes[at] < classes[other] and its.start < one.start:
                assert its.start < ready, "a lower class started though a higher one was ready"


def test_status_says_whose_turn_it_is(kit):
    plan = kit.plan(
        kit.step("sweep", level="discardable"),
        kit.step("update", level="critical"),
        kit.step("eval"),
        count=2,
    )
    state = Fold().state()
    assert why(plan, state, "sweep").first == (("update", 0), ("eval", 0))
    assert why(plan, state, "eval").first == (("update", 0),)
    assert why(plan, state, "update").first == ()
    data, lines = reasons(plan, state, "sweep", path="")
    assert data["first"] == [["update", 0], ["eval", 0]]
    assert lines[2] == (
        "  before it: update@0, eval@0 (critical Steps and what they need go first, discardable ones last)"
    )
    assert (
        "  it is critical: running Steps that are not make room where they can"
        in reasons(plan, state, "update", path="")[1]
    )


def test_a_critical_step_does_not_wait_for_one_that_may_be_thrown_away(job, kit):
    """It began first and goes first by its rank; both need the whole machine."""
    whole, none = kit.demand(cpu_m=1_000_000), kit.demand(cpu_m=0)
    begun = "until [ -e $DSEC_RUN_DIR/../logs/sweep@0.1.log ]; do sleep 0.02; done"
    wait = "[ -e $DSEC_RUN_DIR/done ] || exec sleep 60"
    steps = (
        kit.step("prep", shell=begun, demand=none),
        kit.step("sweep", shell=wait, level="discardable", demand=whole, rank_ms=9),
        kit.step("update", "prep", shell="touch $DSEC_RUN_DIR/done", level="critical", demand=whole),
    )
    job.run(kit.plan(*steps), "-q")
    assert job.ends() == [("prep", "ok"), ("sweep", "gave-way"), ("update", "ok"), ("sweep", "ok")]
