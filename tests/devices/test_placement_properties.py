"""What placement promises, on drawn machines under any order of grants and returns.

Capacity is never exceeded, exclusive devices and MIG instances have one holder, strict topology is
kept, no Step spans machines, tokens are never overdrawn, and the same is granted each time. Planner
(`Grants`) and runtime (`Ledger`) grant alike.
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from machines import DEMANDS, TURNS, joined, machines

from dsec.cards import GIB
from dsec.core.grants import Grants, Group
from dsec.core.leases import Lease, Ledger
from dsec.core.placement import choose, feasible, slots
from dsec.core.schedule import Work, list_schedule
from dsec.inventory import Inventory
from dsec.plan import Demand, Terms


def check(inventory: Inventory, held: list[tuple[Lease, Demand]]) -> None:
    """What must be true at every moment."""
    by_uuid = {device.uuid: device for device in inventory.devices}
    users: dict[str, list[Demand]] = {}
    for lease, demand in held:
        assert len(set(lease.devices)) == len(lease.devices) == demand.gpu_count
        for uuid in lease.devices:
            users.setdefault(uuid, []).append(demand)
            assert by_uuid[uuid].health == "ok"
            assert not demand.gpu_types or by_uuid[uuid].type in demand.gpu_types
        devices = [by_uuid[uuid] for uuid in lease.devices]
        assert len({device.node for device in devices}) <= 1, "no Step spans machines"
        terms = demand.terms or Terms()
        if terms.share == "mig":
            assert all(uuid.startswith("MIG-") for uuid in lease.devices)
        assert terms.numa is None or all(device.numa == terms.numa for device in devices)
        if terms.strict and terms.within and len(devices) > 1:
            pairs = [(a, b) for a in devices for b in devices if a is not b]
            assert all(joined(a, b, terms.within) for a, b in pairs), "strict topology is kept"
    for uuid, demands in users.items():
        device = by_uuid[uuid]
        shared = len(demands) > 1
        assert not (shared and uuid.startswith("MIG-")), "MIG instances are never shared"
        assert not (shared and any((one.terms or Terms()).share == "exclusive" for one in demands))
        assert not (shared and any(one.gpu_memory_bytes == 0 for one in demands))
        assert not (shared and device.memory_bytes is None)
        if device.memory_bytes is not None:
            assert sum(one.gpu_memory_bytes for one in demands) <= device.memory_bytes
    seats = sum(amount for _, one in held if one.terms for _, amount in one.terms.tokens)
    assert seats <= 2
    assert sum(one.memory_bytes for _, one in held) <= 64 * GIB
    assert sum(lease.cpu_m for lease, _ in held) <= 8000


def played(inventory: Inventory, demands: list[Demand], turns: list[tuple[bool, int]]) -> list[object]:
    """Grant and take back as the turns say; what was granted."""
    ledger = Ledger(inventory)
    held: list[tuple[Lease, Demand]] = []
    told: list[object] = []
    for grant, number in turns:
        if grant:
            demand = demands[number % len(demands)]
            lease = ledger.grant(demand)
            told.append(None if lease is None else lease.devices)
            if lease is not None:
                held.append((lease, demand))
        elif held:
            ledger.release(held.pop(number % len(held))[0])
        check(inventory, held)
        copy = ledger.copy()
        assert copy.held == ledger.held
    for lease, _ in held:
        ledger.release(lease)
    assert ledger.held == ()
    return told


@pytest.mark.battery
@settings(max_examples=100, deadline=None)
@given(machines(), st.lists(DEMANDS, min_size=1, max_size=4), TURNS)
def test_promises_are_kept_at_every_moment(
    inventory: Inventory, demands: list[Demand], turns: list[tuple[bool, int]]
) -> None:
    assert played(inventory, demands, turns) == played(inventory, demands, turns)


@settings(max_examples=100, deadline=None)
@given(machines(), st.lists(DEMANDS, min_size=1, max_size=4), TURNS, st.booleans())
def test_planner_and_runtime_grant_alike(
    inventory: Inventory, demands: list[Demand], turns: list[tuple[bool, int]], quick: bool
) -> None:
    grants = Grants(inventory, demands)
    ledger = Ledger(inventory._replace(cpu_m=10**9, memory_bytes=None))
    state = grants.empty
    held: list[tuple[Lease, int, Group]] = []
    for grant, number in turns:
        if grant:
            at = number % len(demands)
            lease = ledger.grant(demands[at], quick=quick)
            if grants.kinds[at] < 0:
                assert lease is not None
                ledger.release(lease)
                continue
            answer = grants.grant(state, at, quick=quick)
            assert (lease is None) == (answer is None)
            if lease is not None and answer is not None:
                state = answer[0]
                assert answer[1].uuids == lease.devices
                held.append((lease, at, answer[1]))
        elif held:
            lease, at, group = held.pop(number % len(held))
            ledger.release(lease)
            state = grants.release(state, at, group)
    for lease, at, group in held:
        ledger.release(lease)
        state = grants.release(state, at, group)
    assert state == grants.empty


@pytest.mark.battery
@settings(max_examples=100, deadline=None)
@given(machines(), DEMANDS)
def test_what_is_called_feasible_is_granted_and_what_is_not_says_why(
    inventory: Inventory, demand: Demand
) -> None:
    refusal = feasible(demand, inventory)
    assert (refusal is None) == (Ledger(inventory).grant(demand) is not None)
    if refusal is not None:
        assert refusal.text


@pytest.mark.battery
@settings(max_examples=100, deadline=None)
@given(machines(), DEMANDS)
def test_what_is_preferred_is_had_where_there_is_enough(inventory: Inventory, demand: Demand) -> None:
    """A wish decides which devices, never whether."""
    terms = (demand.terms or Terms())._replace(strict=False)
    plain = demand._replace(terms=terms._replace(within=""))
    wished = demand._replace(terms=terms)
    assert (choose(plain, slots(inventory)) is None) == (choose(wished, slots(inventory)) is None)


@pytest.mark.battery
@settings(max_examples=100, deadline=None)
@given(machines(), DEMANDS, st.permutations(range(8)))
def test_the_order_of_the_devices_does_not_matter(
    inventory: Inventory, demand: Demand, order: list[int]
) -> None:
    mixed = [inventory.devices[at] for at in order if at < len(inventory.devices)]
    other = inventory._replace(devices=tuple(mixed))
    one, two = choose(demand, slots(inventory)), choose(demand, slots(other))
    assert (one and [slot.device.uuid for slot in one]) == (two and [slot.device.uuid for slot in two])


@pytest.mark.battery
@settings(max_examples=100, deadline=None)
@given(machines(), st.lists(st.tuples(DEMANDS, st.integers(1, 9)), min_size=1, max_size=12), st.booleans())
def test_a_schedule_keeps_the_promises_at_every_event(
    inventory: Inventory, drawn: list[tuple[Demand, int]], quick: bool
) -> None:
    works = [Work(demand, length, length) for demand, length in drawn if feasible(demand, inventory) is None]
    successors = [[at + 1] if at % 3 == 0 and at + 1 < len(works) else [] for at in range(len(works))]
    slices = list_schedule(successors, works, Ledger(inventory), quick=quick)
    assert slices == list_schedule(successors, works, Ledger(inventory), quick=quick)
    for moment in {part.start for part in slices}:
        held = [
            (Lease(at, part.devices, work.demand.gpu_memory_bytes, work.demand.cpu_m, GIB), work.demand)
            for at, (part, work) in enumerate(zip(slices, works, strict=True))
            if part.start <= moment < part.end
        ]
        check(inventory, held)
    for at, targets in enumerate(successors):
        assert all(slices[target].start >= slices[at].end for target in targets)
