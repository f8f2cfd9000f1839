"""Longest paths against an oracle; the list schedule keeps precedence, capacity and its bounds."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsec.core.bounds import lower_bounds
from dsec.core.leases import Ledger
from dsec.core.order import critical_path, earliest_starts, levels, topological, upward_ranks
from dsec.core.overlap import Rounds, _repeated, _unrolled, covered, overlap
from dsec.core.schedule import Work, list_schedule, makespan
from dsec.inventory import Device, Inventory
from dsec.plan import Demand

GIB = 2**30


def machine(gpus, *, cores=4, memory=16 * GIB):
    devices = tuple(
        Device(f"GPU-{at}", at, "", type_, size, None, None, None, (), 1000, "ok")
        for at, (type_, size) in enumerate(gpus)
    )
    return Inventory("described:test", cores * 1000, memory, None, None, devices, ())


BOX = machine([("a", 8 * GIB), ("a", 8 * GIB), ("b", 4 * GIB)])


@st.composite
def dags(draw, largest=9):
    n = draw(st.integers(1, largest))
    return [
        sorted(draw(st.sets(st.integers(u + 1, n - 1), max_size=3))) if u + 1 < n else [] for u in range(n)
    ]


@st.composite
def jobs(draw):
    successors = draw(dags())
    works = []
    order = topological(successors)
    lengths = [draw(st.integers(0, 9)) for _ in successors]
    ranks = upward_ranks(order, successors, lengths)
    for at in range(len(successors)):
        gpus = draw(st.integers(0, 2))
        types = draw(st.sampled_from([(), ("a",), ("b",)])) if gpus == 1 else ()
        size = draw(st.sampled_from([0, GIB, 3 * GIB])) if gpus else 0
        demand = Demand(
            draw(st.sampled_from([0, 500, 1000, 9000])),
            draw(st.integers(0, 2)) * 5 * GIB,
            gpus,
            size,
            types,
            0,
            0,
        )
        works.append(Work(demand, lengths[at], ranks[at], draw(st.sampled_from(["", "", "w"]))))
    return successors, works


def all_paths(successors, node):
    """Oracle: every path from `node` to an end."""
    if not successors[node]:
        return [[node]]
    return [[node, *rest] for target in successors[node] for rest in all_paths(successors, target)]


@given(graph=dags(7), data=st.data())
def test_ranks_levels_starts_and_path_are_those_of_all_paths(graph, data):
    weights = [data.draw(st.integers(0, 9)) for _ in graph]
    order = topological(graph)
    paths = [path for node in range(len(graph)) for path in all_paths(graph, node)]

    def length(path):
        return sum(weights[at] for at in path)

    ranks = upward_ranks(order, graph, weights)
    assert ranks == [max(length(p) for p in paths if p[0] == node) for node in range(len(graph))]
    starts = earliest_starts(order, graph, weights)
    depth = levels(order, graph)
    for node in range(len(graph)):
        before = [p[: p.index(node)] for p in paths if node in p]
        assert starts[node] == max(length(head) for head in before)
        assert depth[node] == max(len(head) for head in before)
    found = critical_path(graph, ranks)
    assert length(found) == max(length(p) for p in paths)
    assert all(b in graph[a] for a, b in itertools.pairwise(found))


@given(job=jobs())
def test_the_schedule_keeps_precedence_capacity_workers_and_bounds(job):
    successors, works = job
    slices = list_schedule(successors, works, Ledger(BOX))
    for node, targets in enumerate(successors):
        assert slices[node].end == slices[node].start + works[node].duration
        assert all(slices[target].start >= slices[node].end for target in targets)
    for instant in {part.start for part in slices}:
        check_instant(instant, works, slices)
    longest = max(work.rank for work in works)
    for name, bound in lower_bounds(works, longest, BOX).items():
        assert bound <= makespan(slices), name


def check_instant(instant, works, slices):
    """Nothing is given twice: processors, memory, devices, workers."""
    now = [at for at, part in enumerate(slices) if part.start <= instant < part.end]
    assert sum(min(works[at].demand.cpu_m, BOX.cpu_m) for at in now) <= BOX.cpu_m
    assert sum(works[at].demand.memory_bytes for at in now) <= BOX.memory_bytes
    workers = [works[at].worker for at in now if works[at].worker]
    assert len(workers) == len(set(workers))
    for device in BOX.devices:
        here = [works[at].demand for at in now if device.uuid in slices[at].devices]
        assert all(not demand.gpu_types or device.type in demand.gpu_types for demand in here)
        assert sum(demand.gpu_memory_bytes for demand in here) <= device.memory_bytes
        assert len(here) == 1 or all(demand.gpu_memory_bytes for demand in here)


@given(job=jobs())
def test_the_machine_never_idles_while_a_ready_step_fits(job):
    """List scheduling leaves no hole: when a Step starts late, it did not fit or was not ready before."""
    successors, works = job
    slices = list_schedule(successors, works, Ledger(BOX))
    for at, part in enumerate(slices):
        ready = max((slices[u].end for u in range(len(works)) if at in successors[u]), default=0)
        if part.start > ready:
            busy = [o for o, other in enumerate(slices) if other.start <= ready < other.end]
            assert busy, f"{at} was ready at {ready}, nothing ran, and it started at {part.start}"


def chain(*lengths):
    works = [Work(Demand(1000, 0, 0, 0, (), 0, 0), ms, sum(lengths[at:])) for at, ms in enumerate(lengths)]
    return [[at + 1] if at + 1 < len(lengths) else [] for at in range(len(lengths))], works


@pytest.mark.parametrize(
    ("in_flight", "carried", "period", "loop"),
    [
        (1, (), 60, None),
        (2, (), 30, None),
        (9, (), 30, None),
        (9, ((2, 0, 1),), 60, 60),
        (9, ((1, 1, 1),), 30, 20),
        (9, ((1, 0, 1),), 30, 30),
        (9, ((2, 0, 2),), 30, 30),
    ],
)
def test_iterations_of_a_chain_overlap_as_far_as_they_may(in_flight, carried, period, loop):
    """Steps of 10, 20 and 30; the longest alone sets the rhythm unless something holds it up."""
    successors, works = chain(10, 20, 30)
    rounds = Rounds(100, in_flight, carried)
    found = overlap(successors, works, rounds=rounds, inventory=machine([], cores=64))
    assert found is not None
    assert found.period == period
    assert found.total == pytest.approx(60 + 99 * period, abs=period)
    assert (found.loop.period if found.loop is not None else None) == loop


@pytest.mark.battery
@given(job=jobs(), in_flight=st.integers(1, 4), data=st.data())
def test_overlap_is_never_faster_than_its_loop_nor_slower_than_one_by_one(job, in_flight, data):
    successors, works = job
    nodes = st.integers(0, len(works) - 1)
    carried = tuple(data.draw(st.lists(st.tuples(nodes, nodes, st.integers(1, 3)), max_size=3)))
    # Few enough to be simulated whole, so nothing is extrapolated.
    rounds = Rounds(6, in_flight, carried)
    found = overlap(successors, works, rounds=rounds, inventory=BOX)
    alone = makespan(list_schedule(successors, works, Ledger(BOX)))
    assert found is not None
    if found.loop is not None:
        assert found.total >= found.loop.period * (5 // found.loop.lag)
    if in_flight == 1:
        assert found.total == 6 * alone


@given(job=jobs(), in_flight=st.integers(1, 3), data=st.data())
def test_iterations_keep_needs_staleness_and_window(job, in_flight, data):
    """An iteration reads another one's results only once they are there, however they overlap."""
    successors, works = job
    n = len(works)
    nodes = st.integers(0, n - 1)
    carried = tuple(data.draw(st.lists(st.tuples(nodes, nodes, st.integers(1, 3)), max_size=3)))
    graph = _unrolled(successors, Rounds(5, in_flight, carried), 5)
    slices = list_schedule(graph, _repeated(works, 5), Ledger(BOX))
    at = lambda step, iteration: slices[iteration * (n + 1) + step]  # noqa: E731
    for i in range(5):
        for step, targets in enumerate(successors):
            assert all(at(target, i).start >= at(step, i).end for target in targets)
            assert i == 0 or at(step, i).start >= at(step, i - 1).end
        for source, target, lag in carried:
            assert i < lag or at(target, i).start >= at(source, i - lag).end
        if i >= in_flight:
            begins = min(at(step, i).start for step in range(n))
            assert begins >= max(at(step, i - in_flight).end for step in range(n))


def test_one_iteration_has_no_rhythm():
    successors, works = chain(1)
    assert overlap(successors, works, rounds=Rounds(1, 1, ()), inventory=machine([])) is None


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30))))
def test_covered_counts_each_instant_once(intervals):
    assert covered(intervals) == len({at for start, end in intervals for at in range(start, end)})
