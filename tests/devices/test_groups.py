"""Groups of devices: buddies stay whole, strict demands wait, incomplete NVLink groups are seen through."""

from __future__ import annotations

import importlib.util
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dsec.cards import GIB
from dsec.core.groups import _mesh, _Sharing, islands_of, link_groups
from dsec.core.leases import Ledger
from dsec.core.placement import Slot, feasible, place
from dsec.devices.described import from_document
from dsec.inventory import Device, Inventory
from dsec.plan import Demand, Placement, Terms

CUBE = {
    0: {1: 1, 2: 1, 3: 2, 4: 2},
    1: {0: 1, 2: 2, 3: 1, 5: 2},
    2: {0: 1, 1: 2, 3: 2, 6: 1},
    3: {0: 2, 1: 1, 2: 2, 7: 1},
    4: {0: 2, 5: 1, 6: 1, 7: 2},
    5: {1: 2, 4: 1, 6: 2, 7: 1},
    6: {2: 1, 4: 1, 5: 2, 7: 2},
    7: {3: 1, 4: 2, 5: 1, 6: 2},
}
"""A hybrid cube mesh: eight devices of which each has NVLinks to four others only."""


def box(**group: object) -> Inventory:
    return from_document({"cpu": 64, "gpus": [{"type": "a100-pcie-80gb", **group}]}, "box")


def cube() -> Inventory:
    devices = tuple(
        Device(
            f"GPU-{at}",
            at,
            "V100",
            "v100-sxm-32gb",
            32 * GIB,
            None,
            at // 4,
            None,
            tuple((f"GPU-{other}", f"NV{count}") for other, count in links.items()),
            56,
            "ok",
        )
        for at, links in CUBE.items()
    )
    return Inventory("described:cube", 8000, None, None, 2, devices, ())


def need(count: int, terms: Terms | None = None, gib: int = 0) -> Demand:
    return Demand(0, 0, count, gib * GIB, (), 0, 0, terms)


def granted(ledger: Ledger, demand: Demand) -> str:
    lease = ledger.grant(demand)
    return "" if lease is None else ",".join(uuid.rpartition("-")[2] for uuid in lease.devices)


STRICT = Terms(within="nvlink", strict=True)


def test_single_devices_are_taken_from_what_is_broken_already() -> None:
    ledger = Ledger(box(count=4, nvlink="pairs", numa=[0, 0, 1, 1]))
    assert granted(ledger, need(1)) == "0"
    assert granted(ledger, need(2)) == "2,3", "the whole pair, not the rest of the broken one"
    assert granted(ledger, need(1)) == "1"


def test_numa_nodes_stay_whole_where_nvlink_joins_all() -> None:
    ledger = Ledger(box(count=8, nvlink="full", numa=[0, 0, 0, 0, 1, 1, 1, 1]))
    one = ledger.grant(need(3))
    assert one is not None
    assert granted(ledger, need(1)) == "3", "the fourth of the broken node"
    assert granted(ledger, need(4)) == "4,5,6,7"
    ledger.release(one)
    assert granted(ledger, need(2)) == "0,1"


def test_a_strict_demand_waits_where_a_preferring_one_takes_others() -> None:
    ledger = Ledger(box(count=4, nvlink="pairs", numa=0))
    first, second = ledger.grant(need(1)), ledger.grant(need(1, gib=70))
    assert first is not None
    assert second is not None
    ledger.release(first)
    pair = ledger.grant(need(2))
    assert pair is not None
    assert granted(ledger, need(2)) == ""
    ledger = Ledger(box(count=4, nvlink="pairs", numa=0))
    leases = [ledger.grant(need(1)) for _ in range(4)]
    for at in (0, 2):
        lease = leases[at]
        assert lease is not None
        ledger.release(lease)
    assert granted(ledger, need(2, STRICT)) == ""
    assert granted(ledger, need(2)) == "0,2"


def test_planned_devices_that_are_not_joined_here_are_not_taken() -> None:
    ledger = Ledger(box(count=4, nvlink="pairs", numa=0))
    planned = ("GPU-a100-pcie-80gb-1", "GPU-a100-pcie-80gb-2")
    lease = ledger.grant(need(2, STRICT), planned)
    assert lease is not None
    assert lease.devices == ("GPU-a100-pcie-80gb-0", "GPU-a100-pcie-80gb-1")


def test_of_an_incomplete_group_only_devices_that_are_all_linked_are_taken() -> None:
    for count, want in ((2, "0,1"), (4, "0,1,2,3")):
        assert granted(Ledger(cube()), need(count, STRICT)) == want
    ledger = Ledger(cube())
    for _ in range(3):
        assert ledger.grant(need(1)) is not None
    assert granted(ledger, need(2, STRICT)) == "4,5", "3 and 4 are free and have no link"
    refused = feasible(need(5, STRICT), cube())
    assert refused is not None
    assert "no 5 of them all joined by NVLink to each other" in refused.text
    assert feasible(need(5), cube()) is None


@pytest.mark.parametrize(
    ("terms", "words"),
    [
        (STRICT, "at most 2 of them joined by NVLink (links: NV12, SYS)"),
        (Terms(within="switch", strict=True), "at most 1 of them behind one PCIe switch"),
        (Terms(within="numa", strict=True), "at most 2 of them of one NUMA node"),
        (Terms(share="mig"), "4 x a100-pcie-80gb is no MIG instance"),
        (Terms(group=2), "2 x a100-pcie-80gb is in link-group-0, not link-group-1"),
        (Terms(group=9), "not link-group-8"),
        (Terms(tokens=(("seat", 1),)), "takes 1 of seat, of which there are 0"),
    ],
)
def test_a_refusal_says_what_is_not_joined(terms: Terms, words: str) -> None:
    refused = feasible(need(3, terms), box(count=4, nvlink="pairs", numa=[0, 0, 1, 1]))
    assert refused is not None
    assert words in refused.text


def test_nothing_is_known_of_links_and_that_is_said() -> None:
    refused = feasible(need(2, STRICT), box(count=2))
    assert refused is not None
    assert "at most 1 of them joined by NVLink (no link is known)" in refused.text


def test_an_exclusive_device_has_its_memory_and_no_neighbour() -> None:
    exclusive = need(1, Terms(share="exclusive"), gib=70)
    assert feasible(need(1, Terms(share="exclusive"), gib=81), box(count=1)) is not None
    ledger = Ledger(box(count=1))
    lease = ledger.grant(exclusive)
    assert lease is not None
    assert granted(ledger, need(1, gib=1)) == ""
    other = ledger.copy()
    other.release(lease)
    assert other.hold(lease)
    assert granted(other, need(1, gib=1)) == ""
    ledger.release(lease)
    assert granted(ledger, need(1, gib=1)) == "0"
    assert ledger.grant(exclusive) is None


def test_a_mig_instance_has_one_holder_whatever_is_asked() -> None:
    inventory = from_document({"gpus": [{"type": "mig:3g.40gb", "memory": "39Gi", "count": 2}]}, "mig")
    ledger = Ledger(inventory)
    assert granted(ledger, need(1, gib=1)) == "0"
    assert granted(ledger, need(1, gib=1)) == "1"
    assert granted(ledger, need(1, gib=1)) == ""


def test_link_groups_are_counted_in_order_of_the_devices() -> None:
    devices = box(count=5, nvlink="pairs", numa=0).devices
    assert link_groups(islands_of(devices)) == [1, 1, 2, 2, 0]


def test_the_reason_says_what_was_stated() -> None:
    terms = Terms(share="exclusive", within="nvlink", strict=True, group=2)
    placed = place(need(2, terms), box(count=4, nvlink="pairs", numa=[0, 0, 1, 1]), ())
    assert isinstance(placed, Placement)
    assert placed.reason == (
        "a100-pcie-80gb 2,3: NV12, NUMA 1, strictly joined by NVLink, link-group-1, exclusive"
    )


def test_groups_break_fewer_nodes_than_the_first_devices_that_are_free() -> None:
    path = Path(__file__).resolve().parents[2] / "benchmarks" / "placement.py"
    spec = importlib.util.spec_from_file_location("placement_benchmark", path)
    assert spec is not None
    assert spec.loader is not None
    bench = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(bench)
    bench.EVENTS = 2_000
    for machine in bench.MACHINES:
        (several, first), (same, grouped) = bench.played(machine, "first"), bench.played(machine, "groups")
        assert several == same > 300
        assert grouped * 3 < first * 2


def linked(pairs: set[tuple[int, int]], many: int) -> list[Slot]:
    """Slots of devices, so many, of which these pairs have NVLinks; all are of one group."""
    peers = {
        at: {two for one, two in pairs if one == at} | {one for one, two in pairs if two == at}
        for at in range(many)
    }
    found = []
    for at in range(many):
        device = Device(f"GPU-{at}", at, "", "a100", 40 * GIB, None, None, None, (), 500, "ok")
        joined = frozenset(f"GPU-{other}" for other in peers[at])
        found.append(Slot(device, islands=(0, 0, 0, at, at), group=1, peers=joined))
    return found


@settings(max_examples=200)
@given(
    st.integers(2, 8), st.integers(0, 2**28 - 1), st.integers(1, 6), st.integers(0, 255), st.integers(0, 3)
)
def test_a_mesh_is_the_first_of_all_sets_that_are_joined(many, links, count, used, whole):
    pairs = {pair for bit, pair in enumerate(combinations(range(many), 2)) if links >> bit & 1}
    group = linked(pairs, many)
    taken = frozenset(slot for at, slot in enumerate(group) if used >> at & 1)
    whole = min(whole, count)
    right = (
        list(some)
        for some in combinations(group, count)
        if {(one.device.index, two.device.index) for one, two in combinations(some, 2)} <= pairs
        and sum(one not in taken for one in some) >= whole
    )
    assert _mesh(group, count, _Sharing(whole, taken)) == next(right, [])


def test_links_drawn_to_take_forever_are_given_up():
    """Thirty threes without links within: any mesh has one of each, and 3^30 sets are all but one."""
    pairs = {(one, two) for one, two in combinations(range(90), 2) if one // 3 != two // 3}
    group = linked(pairs, 90)
    assert len(_mesh(group, 30, _Sharing(0, frozenset()))) == 30
    assert _mesh(group, 31, _Sharing(0, frozenset())) == []
    assert _mesh(linked(set(), 90), 2, _Sharing(0, frozenset())) == []
