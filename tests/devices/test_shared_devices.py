"""No device is shared while a free one fits: in grants, plans and simulations, on every built-in machine."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from machines import DEMANDS, TURNS, joined, machines
from scenes import scene, step

from dsec.cards import GIB
from dsec.core.cluster import Cluster
from dsec.core.colocation import movable
from dsec.core.contest import Contest
from dsec.core.grants import Grants
from dsec.core.leases import Ledger
from dsec.core.order import topological
from dsec.core.placement import feasible, shared, slots
from dsec.core.schedule import Work, slices_of
from dsec.core.search import Draw, best_order
from dsec.core.simulation import Simulation
from dsec.devices.profiles import names, profile
from dsec.inventory import Device, Inventory
from dsec.plan import Demand, Terms

BOXES = tuple(profile(f"builtin:{name}") for name in names())


def fewest(demand: Demand, ledger: Ledger, inventory: Inventory) -> int | None:
    """How many devices must be shared, by trying every set of them; None: none will do."""
    users: dict[str, int] = {}
    table = {slot.device.uuid: slot for slot in slots(inventory)}
    for lease in ledger.held:
        size = Demand(0, 0, len(lease.devices), lease.gpu_memory_bytes, (), 0, 0, lease.terms)
        for uuid in lease.devices:
            table[uuid].take(size)
            users[uuid] = users.get(uuid, 0) + 1
    free = [slot.device for slot in table.values() if slot.free_for(demand)]
    costs = [
        sum(one.uuid in users for one in some)
        for some in itertools.combinations(free, demand.gpu_count)
        if allowed(some, demand.terms or Terms())
    ]
    return min(costs, default=None)


def allowed(some: tuple[Device, ...], terms: Terms) -> bool:
    """Whether one Step may have these devices together."""
    if len({one.node for one in some}) > 1:
        return False
    if not (terms.strict and terms.within) or len(some) < 2:
        return True
    if terms.within == "switch":  # is so through others, too: the case without is enough here
        return False
    return all(joined(one, two, terms.within) for one, two in itertools.combinations(some, 2))


@settings(max_examples=60, deadline=None)
@given(
    machines(),
    st.lists(DEMANDS.filter(lambda one: not (one.terms and one.terms.within == "switch")), min_size=1),
    TURNS,
    st.booleans(),
    st.lists(st.integers(0, 7), max_size=4),
)
def test_a_grant_shares_no_more_devices_than_it_must(
    inventory: Inventory,
    demands: list[Demand],
    turns: list[tuple[bool, int]],
    quick: bool,
    wished: list[int],
) -> None:
    """Whatever devices the plan had in mind, and whether quick ones are asked for."""
    ledger = Ledger(inventory._replace(cpu_m=10**9, memory_bytes=None))
    preferred = tuple(inventory.devices[at % len(inventory.devices)].uuid for at in wished)
    for grant, number in turns:
        if not grant:
            if ledger.held:
                ledger.release(ledger.held[number % len(ledger.held)])
            continue
        demand = demands[number % len(demands)]
        least = fewest(demand, ledger, inventory)
        lease = ledger.grant(demand, preferred, quick=quick)
        if lease is not None:
            assert ledger.shared(lease) == least
    for lease in ledger.held:
        ledger.release(lease)


def drawn(seed: int, box: Inventory, steps: int) -> Contest:
    """A random graph whose Steps mostly ask for GPUs of a part of their memory."""
    draw, works = Draw([seed]), []
    successors = [
        sorted({at + 1 + draw.below(5) for _ in range(draw.below(3))} & set(range(steps)))
        for at in range(steps)
    ]
    most, size = len(box.devices), min(one.memory_bytes or 0 for one in box.devices)
    for _ in range(steps):
        demand = Demand(
            500 * draw.below(5),
            0,
            draw.below(most + 1),
            size * (draw.below(10) + 1) // 10 * (draw.below(6) > 0),
            (),
            0,
            0,
        )
        works.append(Work(demand, 1 + draw.below(40), 0))
    return Contest(successors, topological(successors), works, box)


def two_kinds(seed: int) -> Inventory:
    """A machine with slower devices beside quick ones."""
    draw = Draw([seed, 1])
    count = 2 + draw.below(7)
    devices = tuple(
        Device(f"GPU-{at}", at, "", kind, size * GIB, None, at % 2, None, (), speed, "ok")
        for at in range(count)
        for kind, speed, size in [[("fast", 1000, 80), ("slow", 600, 24)][draw.below(2)]]
    )
    return Inventory("described:two", 32000, None, None, None, devices, ())


def needless(contest: Contest, when: list[tuple[int, int, tuple[str, ...]]]) -> list[str]:
    """Steps that began on a device of others' while one that fits was idle."""
    found = []
    for at, (begin, _, mine) in enumerate(when):
        busy = {
            uuid for n, (b, e, theirs) in enumerate(when) if n != at and b <= begin < e for uuid in theirs
        }
        began = {
            uuid for n, (b, e, theirs) in enumerate(when) if n != at and b < begin < e for uuid in theirs
        }
        demand = contest.works[at].demand
        free = [
            slot.device.uuid
            for slot in slots(contest.inventory)
            if slot.free_for(demand) and slot.device.uuid not in busy
        ]
        if began & set(mine) and set(free) - set(mine):
            found.append(f"S{at} on {mine}, though {free} are free")
    return found


def promises(contest: Contest) -> None:
    """Plan and simulation share nothing needlessly; the plan is no longer than first come, first served."""
    best = best_order(contest).best
    planned = [(one.start, one.end, one.devices) for one in slices_of(best.run)]
    assert needless(contest, planned) == []
    assert best.run.makespan <= first_come(contest)
    steps = [
        step(f"S{at}", work.demand, work.duration, [f"S{n}" for n in before(contest, at)], rank=rank)
        for at, (work, rank) in enumerate(zip(contest.works, contest.ranks, strict=True))
    ]
    history = Simulation(scene(steps, contest.inventory)).play()
    pieces = sorted(history.pieces, key=lambda one: one.at)
    assert needless(contest, [(one.from_ms, one.to_ms, one.devices) for one in pieces]) == []


def before(contest: Contest, at: int) -> list[int]:
    return [one for one, targets in enumerate(contest._successors) if at in targets]


def first_come(contest: Contest) -> int:
    """How long a plain queue takes: whatever fits starts, the first that became ready first."""
    ledger = Ledger(contest.inventory)
    waits = [len(before(contest, at)) for at in range(len(contest.works))]
    queue, running, now = [at for at, left in enumerate(waits) if not left], [], 0
    speed = {one.uuid: one.speed for one in contest.inventory.devices}
    best = [Grants(contest.inventory, [one.demand]).best_speeds[0] for one in contest.works]
    while queue or running:
        for at in list(queue):
            work = contest.works[at]
            lease = ledger.grant(work.demand)
            if lease is not None:
                queue.remove(at)
                slowest = min((speed[uuid] for uuid in lease.devices), default=0)
                length = -(-work.duration * best[at] // slowest) if slowest else work.duration
                running.append((now + length, at, lease))
        running.sort(key=lambda one: one[:2])
        now = running[0][0]
        for _, at, lease in [one for one in running if one[0] == now]:
            ledger.release(lease)
            for target in contest._successors[at]:
                waits[target] -= 1
                if not waits[target]:
                    queue.append(target)
        running = [one for one in running if one[0] > now]
    return now


@pytest.mark.parametrize("box", BOXES, ids=names())
def test_plans_and_simulations_share_nothing_needlessly(box: Inventory) -> None:
    promises(drawn(7, box, 6))


@pytest.mark.parametrize("seed", range(3))
def test_nor_do_they_where_devices_differ(seed: int) -> None:
    promises(drawn(seed, two_kinds(seed), 8))


@pytest.mark.battery
@pytest.mark.parametrize("seed", range(200))
def test_200_random_graphs(seed: int) -> None:
    box = BOXES[seed // 2 % len(BOXES)] if seed % 2 else two_kinds(seed)
    promises(drawn(seed, box, 4 + seed % 20))


def test_who_may_have_any_device_leaves_the_large_ones_to_who_needs_them() -> None:
    """`prep` is quickest on a large card, and `train`, which fits no other, would have to share it."""
    cards = [("a100", 1000, 80), ("a100", 1000, 80), *[("4090", 520, 24)] * 4]
    devices = tuple(
        Device(f"GPU-{at}", at, "", kind, size * GIB, None, None, None, (), speed, "ok")
        for at, (kind, speed, size) in enumerate(cards)
    )
    box = Inventory("described:lab", 32000, None, None, None, devices, ())
    works = [
        Work(Demand(1, 0, 1, 10 * GIB, (), 0, 0), 40, 0),
        Work(Demand(1, 0, 1, 10 * GIB, (), 0, 0), 40, 0),
        Work(Demand(1, 0, 2, 60 * GIB, (), 0, 0), 60, 0),
    ]
    contest = Contest([[1], [], []], [0, 1, 2], works, box)
    best = best_order(contest).best
    planned = [(one.start, one.end, set(one.devices)) for one in slices_of(best.run)]
    for one, two in itertools.combinations(planned, 2):
        assert one[1] <= two[0] or two[1] <= one[0] or not one[2] & two[2]
    assert movable(contest, best) == []


@pytest.mark.parametrize(("speed", "moves"), [(520, True), (100, False)])
def test_nobody_is_moved_to_a_device_that_is_slower_than_sharing(speed: int, moves: bool) -> None:
    cards = [("h100", 1000, 80), ("l4", speed, 24)]
    devices = tuple(
        Device(f"GPU-{at}", at, "", kind, size * GIB, None, None, None, (), pace, "ok")
        for at, (kind, pace, size) in enumerate(cards)
    )
    box = Inventory("described:two", 32000, None, None, None, devices, ())
    works = [
        Work(Demand(1, 0, 1, 10 * GIB, (), 0, 0), 60, 0),
        Work(Demand(1, 0, 1, 60 * GIB, (), 0, 0), 50, 0),
    ]
    best = best_order(Contest([[], []], [0, 1], works, box)).best
    assert (slices_of(best.run)[0].devices == ("GPU-1",)) == moves


def test_a_device_that_a_desktop_uses_goes_before_a_shared_one() -> None:
    """One in heavy use by others does not, and two in such use are told apart by how much is free."""
    devices = [
        Device(f"GPU-{at}", at, "", "a", 80 * GIB, (80 - held) * GIB, None, None, (), 100, "ok")
        for at, held in enumerate([2, 0, 60])
    ]
    inventory = Inventory("described:desk", 8000, None, None, None, tuple(devices), ())
    ledger, demand = Ledger(inventory), Demand(0, 0, 1, 15 * GIB, (), 0, 0)
    grants = Grants(inventory, [demand])
    state, seen = grants.empty, []
    for _ in range(5):
        lease, answer = ledger.grant(demand), grants.grant(state, 0, quick=False)
        assert lease is not None
        assert answer is not None
        state = answer[0]
        assert answer[1].uuids == lease.devices
        seen += lease.devices
    assert seen == ["GPU-1", "GPU-0", "GPU-1", "GPU-1", "GPU-1"]
    assert shared(slots(inventory)) == 1
    assert feasible(demand, inventory) is None


def test_of_several_machines_the_one_that_shares_nothing_is_taken() -> None:
    small, large = profile("builtin:1xrtx-4090"), profile("builtin:4xa100-sxm-40gb")
    cluster, demand = Cluster([small, large]), Demand(0, 0, 1, 8 * GIB, (), 0, 0)
    leases = [cluster.grant(demand) for _ in range(6)]
    assert [lease and cluster.machine(lease) for lease in leases] == [0, 1, 1, 1, 1, 0]
    pair = demand._replace(gpu_count=2)
    assert cluster.grant(pair) is not None, "shared where it must be"
