"""Orders and the search: what they lead to can be run, is never worse than a queue, and keeps its bounds."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dsec.core.bounds import Ends, lower_bounds
from dsec.core.contest import Contest
from dsec.core.grants import Grants
from dsec.core.leases import Ledger
from dsec.core.order import topological, upward_ranks
from dsec.core.orders import candidates
from dsec.core.rounds import counting_bounds
from dsec.core.schedule import Work, list_schedule, makespan
from dsec.core.search import Draw, best_order, trials_for
from dsec.core.trial import Manner
from dsec.inventory import Device, Inventory
from dsec.plan import Demand, Terms

GIB = 2**30


def machine(cards, *, cores=8, memory=64 * GIB):
    devices = tuple(
        Device(f"GPU-{at}", at, "", kind, size * GIB, None, None, None, (), speed, "ok")
        for at, (kind, speed, size) in enumerate(cards)
    )
    return Inventory("described:test", cores * 1000, memory, None, None, devices, ())


MIXED = machine([("fast", 1000, 80), ("fast", 1000, 80), ("slow", 600, 24), ("slow", 600, 24)])
CORES = machine([], cores=3)
DEMANDS = st.one_of(
    st.builds(lambda cpu: Demand(cpu, 0, 0, 0, (), 0, 0), st.sampled_from([0, 1000, 3000, 8000])),
    st.builds(
        lambda cpu, memory, count, size: Demand(cpu, memory * GIB, count, size * GIB, (), 0, 0),
        st.sampled_from([0, 1000, 3000]),
        st.sampled_from([0, 20, 40]),
        st.integers(1, 2),
        st.sampled_from([0, 10, 20, 40]),
    ),
    st.just(Demand(1000, 0, 1, 0, ("slow",), 0, 0)),
)


@st.composite
def contests(draw, most=10, demands=DEMANDS, inventory=MIXED):
    n = draw(st.integers(1, most))
    successors = [
        sorted(draw(st.sets(st.integers(u + 1, n - 1), max_size=3))) if u + 1 < n else [] for u in range(n)
    ]
    workers = st.sampled_from(["", "", "w"])
    works = [Work(draw(demands), draw(st.integers(0, 9)), 0, draw(workers)) for _ in range(n)]
    return Contest(successors, topological(successors), works, inventory), successors


ALIKE = st.just(Demand(1000, 0, 0, 0, (), 0, 0))
ANY = contests() | contests(demands=ALIKE, inventory=CORES) | contests(demands=ALIKE)


def every_candidate(contest):
    return [one for quick in (False, True) for one in candidates(contest, 0, quick=quick)]


def length_on(contest, step, group):
    """How long a Step takes where it was placed, from the devices' speeds alone."""
    work = contest.works[step]
    if group is None:
        return work.duration
    able = [d for d in MIXED.devices if not work.demand.gpu_types or d.type in work.demand.gpu_types]
    able = [d.speed for d in able if work.demand.gpu_memory_bytes <= d.memory_bytes]
    best = sorted(able, reverse=True)[work.demand.gpu_count - 1]
    slowest = min(MIXED.devices[at].speed for at in group.at)
    return -(-work.duration * max(best, slowest) // slowest)


@pytest.mark.battery
@given(case=ANY)
def test_every_order_leads_to_a_schedule_that_can_be_run(case):
    contest, successors = case
    for one in [*every_candidate(contest), best_order(contest).best]:
        run = one.run
        for step, targets in enumerate(successors):
            assert run.ends[step] == run.starts[step] + length_on(contest, step, run.groups[step])
            assert all(run.starts[target] >= run.ends[step] for target in targets)
        for instant in set(run.starts):
            check_instant(instant, contest, run)


def check_instant(instant, contest, run):
    """Nothing is given twice: processors, memory, device memory, workers."""
    inventory = contest.inventory
    now = [at for at in range(len(contest.works)) if run.starts[at] <= instant < run.ends[at]]
    works = [contest.works[at] for at in now]
    assert sum(min(work.demand.cpu_m, inventory.cpu_m) for work in works) <= inventory.cpu_m
    assert sum(work.demand.memory_bytes for work in works) <= inventory.memory_bytes
    workers = [work.worker for work in works if work.worker]
    assert len(workers) == len(set(workers))
    for at, device in enumerate(inventory.devices):
        here = [contest.works[s].demand for s in now if run.groups[s] is not None and at in run.groups[s].at]
        assert sum(demand.gpu_memory_bytes for demand in here) <= device.memory_bytes
        assert len(here) < 2 or all(demand.gpu_memory_bytes for demand in here)
        assert all(not demand.gpu_types or device.type in demand.gpu_types for demand in here)


@pytest.mark.battery
@given(case=ANY)
def test_an_order_is_in_its_priorities(case):
    """The runtime gets priorities and how devices are chosen: they must lead to the schedule of the plan."""
    contest, _ = case
    found = best_order(contest)
    for one in [*every_candidate(contest), found.best]:
        again = contest.forward(one.priorities, Manner(quick=one.quick, choices=one.choices))
        assert again is not None
        assert (again.starts, again.groups) == (one.run.starts, one.run.groups), one.order
    assert min(found.best.priorities) >= 0


def test_what_can_wait_leaves_the_quick_ones_of_like_size_to_who_needs_them():
    """A Step that nobody waits for is on a slow device: two quick ones are left for the long path."""
    cards = [("quick", 1000, 79), ("quick", 1000, 79), ("slow", 500, 80), ("slow", 500, 80)]
    alone, first, pair = (
        Demand(0, 0, 1, 0, (), 0, 0),
        Demand(0, 0, 0, 0, (), 0, 0),
        Demand(0, 0, 2, 0, (), 0, 0),
    )
    works = [Work(alone, 6, 0), Work(first, 1, 0), Work(pair, 12, 0)]
    found = best_order(Contest([[], [2], []], [0, 1, 2], works, machine(cards)))
    assert (found.best.run.ends, found.best.run.makespan) == ([12, 1, 13], 13)


@pytest.mark.battery
@given(case=ANY)
def test_the_best_is_no_longer_than_a_queue_nor_shorter_than_a_bound(case):
    contest, successors = case
    found = best_order(contest)
    spans = dict(found.makespans)
    assert found.best.run.makespan == min(spans.values())
    tails = [rank - own for rank, own in zip(contest.ranks, contest.durations, strict=True)]
    ends = Ends(contest.heads, tails)
    works, inventory = contest.works, contest.inventory
    bounds = lower_bounds(works, max(contest.ranks), inventory, ends)
    bounds |= counting_bounds(works, ends, inventory)
    for name, bound in bounds.items():
        assert bound <= found.best.run.makespan, name
    alone = list_schedule(successors, works, Ledger(inventory))
    assert makespan(alone) >= max(bounds.values())


def test_demands_with_and_without_terms_are_counted_together():
    plain = Demand(3000, 0, 1, 20 * GIB, (), 0, 0)
    terms = (None, Terms(share="exclusive"), Terms(numa=1), Terms(), Terms(tokens=(("seat", 1),), numa=0))
    works = [Work(plain._replace(terms=one), 100, 100) for one in terms]
    bounds = counting_bounds(works, Ends([0] * 5, [0] * 5), machine([("fast", 1000, 80)] * 4, cores=6))
    assert bounds["cpu in turns"] == 300


@given(case=contests(most=8, demands=DEMANDS), data=st.data())
def test_the_first_step_that_must_wait_is_held_up_by_none_behind_it(case, data):
    """No starvation: what comes later in the order fills gaps and delays nothing."""
    contest, _ = case
    # Of two that wait at one time only the first is reserved for, and a Step without length lets both wait.
    works = [work._replace(worker="", duration=max(1, work.duration)) for work in contest.works]
    n = len(works)
    free = [[] for _ in works]
    contest = Contest(free, range(n), works, MIXED)
    order = data.draw(st.permutations(range(n)))
    priorities = [n - order.index(at) for at in range(n)]
    whole = contest.forward(priorities, Manner())
    waiting = next((at for at in order if whole.starts[at]), None)
    if waiting is None:
        return
    before = order[: order.index(waiting) + 1]
    alone = Contest([[] for _ in before], range(len(before)), [works[at] for at in before], MIXED)
    run = alone.forward([len(before) - at for at in range(len(before))], Manner())
    assert whole.starts[waiting] <= run.starts[-1]


def test_small_steps_do_not_starve_a_large_one():
    """Two cores, a Step of both, and a stream of small ones: without its reservation it would go last."""
    small = [Work(Demand(1000, 0, 0, 0, (), 0, 0), length, 0) for length in (3, 2, *[3] * 10)]
    large = Work(Demand(2000, 0, 0, 0, (), 0, 0), 1, 0)
    works = [*small[:2], large, *small[2:]]
    contest = Contest([[] for _ in works], range(len(works)), works, machine([], cores=2))
    run = contest.forward([len(works) - at for at in range(len(works))], Manner())
    assert run.starts[:4] == [0, 0, 3, 4]


def test_a_gap_before_a_reservation_is_filled():
    lengths = {"long": (1000, 5), "large": (2000, 1), "fits": (999, 5), "too long": (1000, 6)}
    works = [Work(Demand(cpu, 0, 0, 0, (), 0, 0), length, 0) for cpu, length in lengths.values()]
    contest = Contest([[] for _ in works], range(4), works, machine([], cores=2))
    run = contest.forward([4, 3, 1, 2], Manner())
    assert dict(zip(lengths, run.starts, strict=True)) == {"long": 0, "large": 5, "fits": 0, "too long": 6}


@given(data=st.data())
def test_grants_are_those_of_the_ledger(data):
    demands = data.draw(st.lists(DEMANDS.filter(lambda one: one.gpu_count), min_size=1, max_size=4))
    demands = [demand._replace(cpu_m=0, memory_bytes=0) for demand in demands]
    grants, ledger = Grants(MIXED, demands), Ledger(MIXED)
    state, held = grants.empty, []
    for number in data.draw(st.lists(st.integers(-3, len(demands) - 1), max_size=20)):
        if number < 0 and not held:
            continue
        if number < 0:
            lease, of, group = held.pop(number % len(held))
            ledger.release(lease)
            state = grants.release(state, of, group)
            continue
        lease, answer = ledger.grant(demands[number]), grants.grant(state, number, quick=False)
        assert (lease is None) == (answer is None)
        if lease is not None:
            state, group = answer
            assert group.uuids == lease.devices
            assert grants.take(state, number, group) is None or demands[number].gpu_memory_bytes
            held.append((lease, number, group))


def test_equal_slots_need_no_ledger_and_lead_to_the_same_schedule():
    draw = Draw([7])
    n = 60
    successors = [sorted({u + 1 + draw.below(9) for _ in range(2)} & set(range(n))) for u in range(n)]
    lengths = [draw.below(50) for _ in range(n)]
    ranks = upward_ranks(topological(successors), successors, lengths)
    alike = Demand(1000, 0, 0, 0, (), 0, 0)
    works = [Work(alike, length, rank) for length, rank in zip(lengths, ranks, strict=True)]
    odd = [*works, Work(Demand(999, 0, 0, 0, (), 0, 0), 0, -1)]
    box = machine([], cores=4)
    counted, granted = (
        list_schedule([*successors, []], some, Ledger(box))
        for some in ([*works, works[0]._replace(rank=-1, duration=0)], odd)
    )
    assert [part.start for part in counted[:n]] == [part.start for part in granted[:n]]


@pytest.mark.parametrize(
    ("steps", "most"), [(1, 486), (20, 600), (100, 960), (1_000, 14), (10_000, 0), (100_000, 0)]
)
def test_what_a_search_may_cost_is_counted_in_steps(steps, most):
    assert trials_for(steps) == most


def test_large_graphs_are_tried_in_few_ways_and_not_searched(monkeypatch):
    works = [Work(Demand(1000, 0, at % 2, 10 * GIB, (), 0, 0), 1 + at * 7 % 9, 0) for at in range(60)]
    monkeypatch.setattr("dsec.core.orders.MANY", 50)
    monkeypatch.setattr("dsec.core.search.MANY", 50)
    found = best_order(Contest([[]] * 60, range(60), works, MIXED))
    assert [order for order, _ in found.makespans] == ["fifo", "rank"]
    assert found.trials == 0
    alike = [work._replace(demand=Demand(1000, 0, 0, 0, (), 0, 0)) for work in works]
    assert [order for order, _ in best_order(Contest([[]] * 60, range(60), alike, MIXED)).makespans] == [
        "fifo",
        "rank",
    ]


def test_a_queue_that_is_near_the_bounds_is_enough_for_a_large_graph(monkeypatch):
    works = [Work(Demand(1000, 0, 0, 0, (), 0, 0), 50 - (at == 3), 0) for at in range(60)]
    monkeypatch.setattr("dsec.core.orders.MANY", 50)
    monkeypatch.setattr("dsec.core.search.MANY", 50)
    found = best_order(Contest([[]] * 60, range(60), works, CORES))
    assert found.makespans == (("fifo", 1000),)
    assert max(bound for _, bound in found.bounds) == 1000
    works[59] = works[59]._replace(duration=300)
    found = best_order(Contest([[]] * 60, range(60), works, CORES))
    assert [order for order, _ in found.makespans] == ["fifo", "rank"], "it is not near"


def test_ranks_and_starts_that_are_known_are_not_found_again():
    works = [Work(Demand(1000, 0, 0, 0, (), 0, 0), length, 0) for length in (3, 2, 5)]
    successors = [[1, 2], [], []]
    new = Contest(successors, range(3), works, CORES)
    ranked = [work._replace(rank=rank) for work, rank in zip(works, new.ranks, strict=True)]
    old = Contest(successors, range(3), ranked, CORES, starts=new.heads)
    assert (old.ranks, old.heads) == (new.ranks, new.heads)
    assert best_order(old).makespans == best_order(new).makespans


def test_numbers_are_drawn_from_the_content_alone():
    assert [Draw([1, 2]).below(1000) for _ in range(2)] == [Draw([1, 2]).below(1000)] * 2
    assert [Draw([1, 2, 3]).below(10**9)] != [Draw([3, 2, 1]).below(10**9)]
    drawn = Draw([5])
    assert {drawn.below(3) for _ in range(50)} == {0, 1, 2}


@pytest.mark.battery
@settings(max_examples=20)
@given(case=contests(most=10, inventory=machine([("slow", 1000, 40)] * 3)))
def test_devices_of_one_speed_are_tried_in_one_way(case):
    contest, _ = case
    assert not contest.bench.mixed
    assert not best_order(contest).best.quick
