"""Leases and placement: capacity under any order, determinism, and the choice of groups."""

from __future__ import annotations

import itertools
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dsec.cards import GIB
from dsec.core.leases import Lease, Ledger
from dsec.core.placement import Refusal, feasible, place
from dsec.inventory import Device, Inventory
from dsec.plan import Demand, Placement


def gpu(
    at: int,
    *,
    kind: str = "a100-sxm-80gb",
    gib: int | None = 80,
    free: int | None = None,
    numa: int | None = 0,
    links: tuple[tuple[str, str], ...] = (),
    health: str = "ok",
    mig: bool = False,
) -> Device:
    memory = None if gib is None else gib * GIB
    return Device(
        uuid=f"{'MIG' if mig else 'GPU'}-{at}",
        index=at,
        model=kind,
        type=kind,
        memory_bytes=memory,
        free_bytes=None if free is None else free * GIB,
        numa=numa,
        pci=None,
        links=links,
        speed=100,
        health=health,
    )


def inventory(*devices: Device, cpu_m: int = 8000, memory: int | None = 64 * GIB) -> Inventory:
    return Inventory("described:test", cpu_m, memory, None, None, devices, ())


def need(
    count: int = 1, gib: int = 0, kinds: tuple[str, ...] = (), *, cpu_m: int = 0, memory: int = 0
) -> Demand:
    return Demand(cpu_m, memory, count, gib * GIB, kinds, 0, 0)


def linked(pairs: list[tuple[int, int, str]], count: int, **numa: int) -> tuple[Device, ...]:
    links: dict[int, list[tuple[str, str]]] = {at: [] for at in range(count)}
    for one, two, link in pairs:
        links[one].append((f"GPU-{two}", link))
        links[two].append((f"GPU-{one}", link))
    return tuple(gpu(at, links=tuple(links[at]), numa=numa.get(f"n{at}")) for at in range(count))


def test_small_steps_take_idle_devices_first_then_share_until_full() -> None:
    ledger = Ledger(inventory(gpu(0), gpu(1)))
    leases = [ledger.grant(need(1, 30)) for _ in range(4)]
    assert [lease.devices for lease in leases if lease] == [("GPU-0",), ("GPU-1",), ("GPU-0",), ("GPU-1",)]
    assert ledger.grant(need(1, 30)) is None
    assert ledger.grant(need(1, 20)) is not None


def test_a_whole_device_is_not_shared() -> None:
    ledger = Ledger(inventory(gpu(0)))
    lease = ledger.grant(need(1))
    assert lease is not None
    assert ledger.grant(need(1, 1)) is None
    ledger.release(lease)
    shared = ledger.grant(need(1, 1))
    assert shared is not None
    assert ledger.grant(need(1)) is None


def test_a_device_of_unknown_memory_has_one_holder() -> None:
    ledger = Ledger(inventory(gpu(0, gib=None)))
    assert ledger.grant(need(1, 4)) is not None
    assert ledger.grant(need(1, 4)) is None


def test_cpu_beyond_the_machine_runs_alone() -> None:
    ledger = Ledger(inventory(cpu_m=2000))
    big = ledger.grant(need(0, cpu_m=64000))
    assert big is not None
    assert big.cpu_m == 2000
    assert ledger.grant(need(0, cpu_m=1)) is None
    ledger.release(big)
    assert ledger.grant(need(0, cpu_m=2000)) is not None


def test_a_lease_is_given_back_once() -> None:
    ledger = Ledger(inventory(gpu(0)))
    lease = ledger.grant(need(1))
    assert lease is not None
    ledger.release(lease)
    with pytest.raises(AssertionError, match="is not held"):
        ledger.release(lease)


def test_a_lost_device_is_never_chosen() -> None:
    assert isinstance(feasible(need(1), inventory(gpu(0, health="lost"))), Refusal)
    ledger = Ledger(inventory(gpu(0, health="lost"), gpu(1)))
    first = ledger.grant(need(1))
    assert first is not None
    assert first.devices == ("GPU-1",)
    ledger.lose("GPU-1")
    ledger.release(first)
    assert ledger.grant(need(1)) is None


def test_preferred_devices_are_taken_when_free() -> None:
    ledger = Ledger(inventory(*(gpu(at) for at in range(4))))
    lease = ledger.grant(need(2), ("GPU-3", "GPU-1"))
    assert lease is not None
    assert lease.devices == ("GPU-1", "GPU-3")
    other = ledger.grant(need(2), ("GPU-3", "GPU-2"))
    assert other is not None
    assert other.devices == ("GPU-0", "GPU-2")


@pytest.mark.parametrize("preferred", [("GPU-0", "GPU-0"), ("GPU-9", "GPU-0"), ("GPU-0",)])
def test_preferred_devices_that_do_not_fit_are_ignored(preferred: tuple[str, ...]) -> None:
    ledger = Ledger(inventory(gpu(0), gpu(1)))
    lease = ledger.grant(need(2), preferred)
    assert lease is not None
    assert lease.devices == ("GPU-0", "GPU-1")


def test_types_match_hard() -> None:
    boxes = inventory(gpu(0, kind="v100-sxm-32gb", gib=32), gpu(1))
    placed = place(need(1, 0, ("a100-sxm-80gb",)), boxes, ())
    assert isinstance(placed, Placement)
    assert placed.devices == ("GPU-1",)
    refused = feasible(need(2, 0, ("a100-sxm-80gb",)), boxes)
    assert refused is not None
    assert "v100-sxm-32gb is another type" in refused.text


def test_a_group_never_mixes_types_while_one_type_has_enough() -> None:
    boxes = inventory(gpu(0, kind="h100-sxm-80gb"), gpu(1), gpu(2, kind="h100-sxm-80gb"))
    placed = place(need(2), boxes, ())
    assert isinstance(placed, Placement)
    assert placed.devices == ("GPU-0", "GPU-2")


def test_groups_are_linked_pairs_first() -> None:
    pairs = linked([(0, 1, "SYS"), (0, 2, "NV4"), (1, 3, "NV4"), (2, 3, "SYS")], 4)
    placed = place(need(2), inventory(*pairs), ())
    assert isinstance(placed, Placement)
    assert placed.devices == ("GPU-0", "GPU-2")
    assert placed.reason == "a100-sxm-80gb 0,2: NV4"


def test_groups_without_nvlink_share_a_switch_then_a_node() -> None:
    boxes = linked([(0, 1, "SYS"), (1, 2, "PIX"), (0, 3, "NODE")], 4, n0=0, n1=1, n2=1, n3=0)
    switch = place(need(2), inventory(*boxes), ())
    assert isinstance(switch, Placement)
    assert switch.devices == ("GPU-1", "GPU-2")
    node = place(need(2), inventory(*boxes), [("GPU-2", 0)])
    assert isinstance(node, Placement)
    assert node.devices == ("GPU-0", "GPU-3")


def test_a_group_inside_a_switched_box_stays_on_one_node() -> None:
    mesh = [(one, two, "NV12") for one, two in itertools.combinations(range(8), 2)]
    boxes = linked(mesh, 8, **{f"n{at}": at // 4 for at in range(8)})
    placed = place(need(4), inventory(*boxes), [("GPU-1", 0)])
    assert isinstance(placed, Placement)
    assert placed.devices == ("GPU-4", "GPU-5", "GPU-6", "GPU-7")


def test_one_device_does_not_break_a_whole_pair() -> None:
    boxes = linked([(0, 1, "NV4"), (2, 3, "NV4")], 4)
    placed = place(need(1), inventory(*boxes), [("GPU-2", 0)])
    assert isinstance(placed, Placement)
    assert placed.devices == ("GPU-3",)


def test_devices_that_others_use_come_last_and_count_less() -> None:
    boxes = inventory(gpu(0, free=20), gpu(1, free=80))
    placed = place(need(1, 10), boxes, ())
    assert isinstance(placed, Placement)
    assert placed.devices == ("GPU-1",)
    refused = feasible(need(2, 40), boxes)
    assert refused is not None
    assert "60 GiB of it held by other processes" in refused.text


def test_instances_of_one_gpu_are_told_apart() -> None:
    two = inventory(gpu(0, mig=True, gib=10), gpu(1, mig=True, gib=10)._replace(index=0))
    places = [place(need(gib=5), two, taken) for taken in ([], [("MIG-0", 5 * GIB)])]
    assert [one.reason for one in places if isinstance(one, Placement)] == [
        f"a100-sxm-80gb 0: NUMA 0, MIG instance MIG-{at}, never shared" for at in range(2)
    ]


def test_a_process_sees_one_mig_instance() -> None:
    boxes = inventory(gpu(0, mig=True, gib=10), gpu(1, mig=True, gib=10))
    assert feasible(need(1, 10), boxes) is None
    refused = feasible(need(2), boxes)
    assert refused is not None
    assert "MIG instance" in refused.text


def test_a_refusal_says_the_arithmetic() -> None:
    h100 = gpu(0, kind="h100-sxm-80gb", gib=79)
    refused = feasible(need(1, 80, ("h100-sxm-80gb",)), inventory(h100))
    assert refused is not None
    assert refused.text == (
        "needs 1 GPU (h100-sxm-80gb) with 80.00 GiB (81,920 MiB) each; 0 of 1 fit: "
        "1 x h100-sxm-80gb has 79.00 GiB (80,896 MiB) usable"
    )
    none = feasible(need(1), inventory())
    assert none is not None
    assert none.text.endswith("the inventory has no GPU")
    big = feasible(need(0, memory=65 * GIB), inventory())
    assert big is not None
    assert "65.00 GiB" in big.text
    assert "64.00 GiB" in big.text
    busy = place(need(1), inventory(gpu(0)), [("GPU-0", 0)])
    assert isinstance(busy, Refusal)
    assert "0 of 1 devices free" in busy.text


KINDS = ("a100-sxm-80gb", "h100-sxm-80gb")


@st.composite
def inventories(draw: st.DrawFn) -> Inventory:
    count = draw(st.integers(0, 5))
    devices = []
    for at in range(count):
        links = tuple(
            (f"GPU-{other}", draw(st.sampled_from(["NV4", "PIX", "NODE", "SYS"]))) for other in range(at)
        )
        devices.append(
            gpu(
                at,
                kind=draw(st.sampled_from(KINDS)),
                gib=draw(st.sampled_from([None, 8, 16, 24])),
                numa=draw(st.sampled_from([None, 0, 1])),
                links=links,
                health=draw(st.sampled_from(["ok", "ok", "ok", "lost"])),
            )
        )
    return inventory(
        *devices, cpu_m=draw(st.integers(1, 4)) * 1000, memory=draw(st.sampled_from([None, 8 * GIB]))
    )


demands = st.builds(
    lambda count, gib, kinds, cpu, memory: need(count, gib, kinds, cpu_m=cpu * 500, memory=memory * GIB),
    st.integers(0, 4),
    st.sampled_from([0, 0, 4, 8, 12, 24, 25]),
    st.sampled_from([(), (KINDS[0],), (KINDS[1],), KINDS]),
    st.integers(0, 10),
    st.integers(0, 9),
)


def within(boxes: Inventory, held: tuple[Lease, ...]) -> None:
    assert sum(lease.cpu_m for lease in held) <= boxes.cpu_m
    if boxes.memory_bytes is not None:
        assert sum(lease.memory_bytes for lease in held) <= boxes.memory_bytes
    for device in boxes.devices:
        on = [lease for lease in held if device.uuid in lease.devices]
        if device.memory_bytes is None or any(lease.gpu_memory_bytes == 0 for lease in on):
            assert len(on) <= 1
        else:
            assert sum(lease.gpu_memory_bytes for lease in on) <= device.memory_bytes
        assert not on or device.health == "ok"


@settings(max_examples=150, deadline=None)
@given(inventories(), st.lists(st.tuples(demands, st.integers(0, 7), st.booleans()), max_size=25))
def test_nothing_is_leased_beyond_capacity(boxes: Inventory, steps: list[tuple[Demand, int, bool]]) -> None:
    ledger = Ledger(boxes)
    mirror: dict[int, Lease] = {}
    for demand, pick, wish in steps:
        if pick < len(mirror):
            ledger.release(mirror.pop(sorted(mirror)[pick]))
        preferred = (
            tuple(device.uuid for device in reversed(boxes.devices))[: demand.gpu_count] if wish else ()
        )
        lease = ledger.grant(demand, preferred)
        if lease is not None:
            mirror[lease.serial] = lease
            assert len(set(lease.devices)) == demand.gpu_count
            types = {device.uuid: device.type for device in boxes.devices}
            assert all(not demand.gpu_types or types[uuid] in demand.gpu_types for uuid in lease.devices)
        assert ledger.held == tuple(mirror.values())
        within(boxes, ledger.held)
    for lease in list(ledger.held):
        ledger.release(lease)
    fresh = Ledger(boxes)
    for demand, _, _ in steps:
        again, first = ledger.grant(demand), fresh.grant(demand)
        assert (again is None) == (first is None)
        assert again is None or first is None or again.devices == first.devices


def brute(demand: Demand, boxes: Inventory) -> bool:
    """Some set of devices serves the demand (independent of `choose`)."""
    if boxes.memory_bytes is not None and demand.memory_bytes > boxes.memory_bytes:
        return False
    return any(
        all(
            device.health == "ok"
            and (not demand.gpu_types or device.type in demand.gpu_types)
            and (device.memory_bytes is None or demand.gpu_memory_bytes <= device.memory_bytes)
            for device in group
        )
        for group in itertools.combinations(boxes.devices, demand.gpu_count)
    )


@pytest.mark.battery
@settings(max_examples=300, deadline=None)
@given(inventories(), demands)
def test_feasible_exactly_when_some_devices_would_do(boxes: Inventory, demand: Demand) -> None:
    possible = brute(demand, boxes)
    assert (feasible(demand, boxes) is None) == possible
    assert isinstance(place(demand, boxes, ()), Placement) == possible
    assert (Ledger(boxes).grant(demand) is not None) == possible


@pytest.mark.battery
@settings(max_examples=100, deadline=None)
@given(inventories(), demands, st.randoms(use_true_random=False))
def test_the_order_of_the_list_does_not_matter(boxes: Inventory, demand: Demand, random: object) -> None:
    devices = list(boxes.devices)
    random.shuffle(devices)  # type: ignore[attr-defined]
    shuffled = inventory(*devices, cpu_m=boxes.cpu_m, memory=boxes.memory_bytes)
    assert place(demand, boxes, ()) == place(demand, boxes, ()) == place(demand, shuffled, ())


def test_a_grant_without_gpus_looks_at_no_device() -> None:
    """Counted, not timed: as many calls with 64 devices as with none, and few of them."""
    demand = need(0, cpu_m=1000)

    def calls(ledger: Ledger) -> int:
        seen = 0

        def count(frame: object, event: str, arg: object) -> None:
            nonlocal seen
            seen += event in ("call", "c_call")

        sys.setprofile(count)
        try:
            lease = ledger.grant(demand)
            assert lease is not None
            ledger.release(lease)
        finally:
            sys.setprofile(None)
        return seen

    bare, full = Ledger(inventory()), Ledger(inventory(*(gpu(at) for at in range(64))))
    assert calls(bare) == calls(full) < 16


def test_planned_devices_give_way_to_quicker_ones_where_these_were_chosen_for_a_step() -> None:
    """Quick ones were held when it was planned; in a later iteration they may be free."""
    slow, quick = gpu(0), gpu(1)._replace(speed=300)
    free = Ledger(inventory(slow, quick))
    lease = free.grant(need(), ("GPU-0",), quick=True)
    assert lease is not None
    assert lease.devices == ("GPU-1",)
    lease = free.grant(need(), ("GPU-0",), quick=True)
    assert lease is not None
    assert lease.devices == ("GPU-0",), "nothing quicker is left"
    lease = Ledger(inventory(slow, quick)).grant(need(), ("GPU-1",))
    assert lease is not None
    assert lease.devices == ("GPU-1",), "as planned, although the slow one fits as well"
    lease = Ledger(inventory(gpu(0), gpu(1))).grant(need(), ("GPU-1",), quick=True)
    assert lease is not None
    assert lease.devices == ("GPU-1",), "as planned: the other one is no quicker"
