"""Pure cores: every prefix of a journal folds; no instance is lost, doubled or early."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from dsec.core.fold import Fold, fold
from dsec.core.scheduler import Scheduler
from dsec.events import (
    Continue,
    DeviceState,
    Drop,
    Exit,
    Notice,
    Pause,
    Retry,
    RunEnd,
    RunStart,
    Spawn,
    WorkerStart,
    WorkerStop,
)
from dsec.plan import Iterations


def story(choices: random.Random, length: int):
    """Events as an executor could write them: attempts of a few instances, in any order."""
    events = [RunStart(0, 1, 10, 5, "boot", 1000, False)]
    running: dict[tuple[str, int], int] = {}
    number: dict[tuple[str, int], int] = {}
    for at in range(length):
        instance = (choices.choice("ABC"), choices.randrange(3))
        if instance not in running:
            number[instance] = number.get(instance, 0) + 1
            running[instance] = at
            events.append(Spawn(at, *instance, number[instance], 100 + at, 1, 2, (), "logs/x", ""))
            continue
        begun = running.pop(instance)
        cause = choices.choice(["ok", "exit", "timeout", "interrupted"])
        code = {"ok": 0, "exit": 3}.get(cause)
        events.append(
            Exit(
                at, *instance, number[instance], cause, code, None, "", at - begun, 7, None, None, None, None
            )
        )
        if cause == "exit" and choices.random() < 0.5:
            events.append(Retry(at, *instance, number[instance] + 1, 10))
        elif cause == "timeout":
            events.append(Drop(at, *instance, "it failed and is discardable"))
        if choices.random() < 0.05:
            events.append(RunStart(at, 2, 11, 6, "boot", 2000, False))
            running.clear()
    events.append(RunEnd(length, "failed", ""))
    return events


def ended(step: str, cause: str) -> Exit:
    return Exit(9, step, 0, 1, cause, None, None, "", 5, None, None, None, None, None)


def test_what_stands_still_does_so_until_it_goes_on_or_ends():
    begun = [RunStart(0, 1, 10, 5, "boot", 1000, False)]
    begun += [Spawn(1, step, 0, 1, 11, 1, 2, (), "logs/x", "") for step in "ABC"]
    begun += [
        Pause(2, step, 0, 1, how, "x") for step, how in (("A", "frozen"), ("B", "frozen"), ("C", "saved"))
    ]
    assert set(fold(begun).paused) == {("A", 0), ("B", 0), ("C", 0)}
    later = [*begun, Continue(3, "A", 0, 1), ended("B", "exit"), ended("C", "gave-way")]
    assert set(fold(later).paused) == {("C", 0)}
    again = [*later, Spawn(10, "C", 0, 2, 12, 1, 2, (), "logs/x", "")]
    assert not fold(again).paused
    assert [type(one) for one in fold(again).remarks] == [Pause, Pause, Pause, Continue]


def test_a_new_executor_knows_nothing_of_devices_but_remarks_stay():
    first = [RunStart(0, 1, 10, 5, "boot", 1000, False), DeviceState(5, "GPU-1", "lost", "Xid 79")]
    assert fold(first).devices["GPU-1"].state == "lost"
    second = [*first, RunStart(0, 2, 11, 6, "boot", 2000, False), Notice(7, "unwatched", "", -1, "", "x")]
    assert not fold(second).devices
    assert [one.at_us for one in fold(second).remarks] == [5, 1_000_007]


@given(st.randoms(use_true_random=False), st.integers(0, 60))
def test_every_prefix_folds(choices, length):
    events = story(choices, length)
    growing = Fold()
    for at, event in enumerate(events):
        growing.take(event)
        state = fold(events[: at + 1])
        assert state == growing.state()
        assert all(one.attempt <= state.attempts[key] for key, one in state.running.items())
        ends = [one for one in events[: at + 1] if isinstance(one, Exit)]
        assert sum(tally.attempts for tally in state.tallies.values()) == len(ends)
        assert {(one.step, one.iteration) for one in ends if one.cause == "ok"} == set(state.finished)


def test_the_cpu_of_calls_counts_until_the_worker_tells_its_own():
    def call(number, cpu_us):
        return [
            Spawn(1, "A", number, 1, 7, 1, 2, (), "logs/w", "w"),
            Exit(2, "A", number, 1, "ok", None, None, "", 1, cpu_us, None, 0, 0, None),
        ]

    start = [RunStart(0, 1, 10, 5, "boot", 1000, False), WorkerStart(0, "w", 7, 1, 2, (), "logs/w")]
    events = [*start, *call(0, 30), *call(1, None), *call(2, 12)]
    assert (fold(events).call_us, fold(events).tallies["A"].cpu_us) == (42, 42)
    told = fold([*events, WorkerStop(9, "w", 7, 0, None, "done", 100, 1)])
    assert (told.call_us, told.worker_us["w"][0], told.tallies["A"].cpu_us) == (0, 100, 42)
    lost = fold([*events, *start, *call(3, 5)])
    assert (lost.call_us, lost.worker_us) == (47, {})
    assert fold([*start, *call(0, None)]).tallies["A"].cpu_us is None


def test_a_retry_waits_until_its_attempt_begins():
    begin = Spawn(1, "A", 0, 1, 7, 1, 2, (), "logs/x", "")
    failed = Exit(2, "A", 0, 1, "exit", 1, None, "", 1, 7, None, None, None, None)
    again = Retry(3, "A", 0, 2, 10)
    begun = [RunStart(0, 1, 10, 5, "boot", 1000, False), begin, failed, again]
    assert fold(begun).retrying == {("A", 0): again}
    for after in (begin._replace(attempt=2), RunEnd(4, "failed", ""), begun[0]):
        assert fold([*begun, after]).retrying == {}


@st.composite
def graphs(draw):
    """Forward edges, carried edges with staleness, a few demands, some iterations."""
    size = draw(st.integers(1, 7))
    needs = [sorted(draw(st.sets(st.integers(0, at - 1), max_size=3))) if at else [] for at in range(size)]
    carried = draw(
        st.lists(st.tuples(st.integers(0, size - 1), st.integers(0, size - 1), st.integers(0, 2)), max_size=3)
    )
    count = draw(st.integers(1, 5))
    staleness = max((one[2] for one in carried), default=0)
    in_flight = draw(st.integers(1, staleness + 3))
    return size, needs, carried, count, in_flight


def build(kit, drawn, finished=None):
    size, needs, carried, count, in_flight = drawn
    steps = [
        kit.step(
            f"S{at}",
            *(f"S{need}" for need in needs[at]),
            carried=[(f"S{need}", staleness) for need, reader, staleness in carried if reader == at],
            rank_ms=size - at,
        )
        for at in range(size)
    ]
    return Scheduler(
        steps, Iterations(count, 2, in_flight), groups=[at % 2 for at in range(size)], finished=finished
    )


def drive(scheduler, drawn, choices, done):
    """Start and finish at random until nothing moves; checks each start against the rules."""
    size, needs, carried, _, in_flight = drawn
    running = []
    while True:
        heads = scheduler.ready()
        if heads and (not running or choices.random() < 0.6):
            entry = choices.choice(heads)
            step, iteration = scheduler.locate(entry)
            scheduler.start(entry)
            assert (step, iteration) not in done
            assert (step, iteration) not in running
            assert all((need, iteration) in done for need in needs[step])
            assert iteration == 0 or (step, iteration - 1) in done
            for need, reader, staleness in carried:
                earlier = iteration - 1 - staleness
                assert reader != step or earlier < 0 or (need, earlier) in done
            old = iteration - in_flight
            assert old < 0 or all((at, old) in done for at in range(size))
            running.append((step, iteration))
            continue
        if not running:
            return
        step, iteration = running.pop(choices.randrange(len(running)))
        scheduler.finish(step, iteration)
        done.add((step, iteration))


@given(graphs(), st.randoms(use_true_random=False))
def test_all_instances_run_once_and_in_order(kit, drawn, choices):
    scheduler = build(kit, drawn)
    done = set()
    drive(scheduler, drawn, choices, done)
    assert scheduler.complete
    assert done == {(at, iteration) for at in range(drawn[0]) for iteration in range(drawn[3])}


@given(graphs(), st.randoms(use_true_random=False))
def test_a_scheduler_with_a_past_does_only_the_rest(kit, drawn, choices):
    """Any subset of instances may be finished: holes come from outputs that were deleted."""
    everything = {(at, iteration) for at in range(drawn[0]) for iteration in range(drawn[3])}
    past = {one for one in sorted(everything) if choices.random() < 0.5}
    finished: dict[int, frozenset[int]] = {}
    for step, iteration in past:
        finished[iteration] = finished.get(iteration, frozenset()) | {step}
    scheduler = build(kit, drawn, finished)
    done = set(past)
    drive(scheduler, drawn, choices, done)
    assert scheduler.complete
    assert done == everything


def test_iterations_overlap_as_far_as_staleness_permits(kit):
    """With staleness 1 the rollout of iteration 1 does not wait for the update of iteration 0."""
    for staleness, together in ((0, 1), (1, 2)):
        steps = [
            kit.step("roll", carried=[("update", staleness)]),
            kit.step("update", "roll"),
        ]
        scheduler = Scheduler(steps, Iterations(3, staleness, staleness + 2), groups=[0, 0])
        scheduler.start(scheduler.ready()[0])
        scheduler.finish(0, 0)
        started = 0
        while scheduler.ready():
            scheduler.start(scheduler.ready()[0])
            started += 1
        assert started == together


def test_100_000_instances_cost_a_window(kit):
    steps = [kit.step(f"S{at}", *([f"S{at - 1}"] if at else [])) for at in range(10)]
    scheduler = Scheduler(steps, Iterations(10_000, 0, 2), groups=[0] * 10)
    ended = 0
    while heads := scheduler.ready():
        step, iteration = scheduler.locate(heads[0])
        scheduler.start(heads[0])
        scheduler.finish(step, iteration)
        ended += 1
        assert len(scheduler._windows) <= 4
    assert ended == 100_000
