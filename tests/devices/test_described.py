"""Described inventories, saved nvidia-smi output and built-in profiles."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dsec.cards import GIB, MIB
from dsec.core.placement import feasible
from dsec.devices import profiles
from dsec.devices.described import DRIVER_MIB, from_document
from dsec.errors import InventoryProblem
from dsec.inventory import AMPLE_CPU_M, Node
from dsec.plan import Demand
from dsec_cli.commands.inventory import read_inventory

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "inventories"

BOX: dict[str, Any] = {
    "name": "box",
    "cpu": 32,
    "memory": "256Gi",
    "disk": "1TB",
    "gpus": [{"type": "rtx-3090", "count": 4, "nvlink": "pairs", "numa": [0, 0, 1, 1]}, {"type": "mi300x"}],
}


def test_a_described_box() -> None:
    found = from_document(BOX, "box.yaml")
    assert found.origin == "described:box"
    assert found.cpu_m == 32000
    assert found.memory_bytes == 256 * GIB
    assert found.disk_bytes == 10**12
    assert found.numa_nodes == 2
    assert [device.uuid for device in found.devices] == [
        *(f"GPU-rtx-3090-{at}" for at in range(4)),
        "GPU-mi300x-0",
    ]
    first, last = found.devices[0], found.devices[-1]
    assert dict(first.links) == {"GPU-rtx-3090-1": "NV4", "GPU-rtx-3090-2": "SYS", "GPU-rtx-3090-3": "SYS"}
    assert first.memory_bytes == (24576 - DRIVER_MIB) * MIB
    assert first.free_bytes is None
    assert (last.index, last.numa, last.links) == (4, None, ())
    assert found == from_document(json.loads(json.dumps(BOX)), "box.yaml")


LAB: dict[str, Any] = {
    "name": "lab",
    "machines": [
        {
            "name": "left",
            "cpu": 64,
            "memory": "512Gi",
            "network": {"rate": "100Gbps", "rdma": True},
            "gpus": [{"type": "rtx-3090", "count": 2, "nvlink": "pairs", "numa": 0}],
        },
        {
            "name": "right",
            "cpu": 32,
            "memory": "256Gi",
            "gpus": [{"type": "rtx-3090", "numa": 0}, {"type": "t4"}],
        },
    ],
}


def test_several_machines_are_counted_together_and_joined_by_nothing() -> None:
    found = from_document(LAB, "lab.yaml")
    assert (found.cpu_m, found.memory_bytes, found.numa_nodes) == (96_000, 768 * GIB, 2)
    assert found.nodes == (Node("left", 100 * 10**9, True), Node("right", None, None))
    assert found.notes == (
        "cores and memory of the 2 machines are counted together: "
        "no single Step should take more than 64 cores or 512.0 GiB",
    )
    assert [(one.uuid, one.node) for one in found.devices] == [
        ("GPU-rtx-3090-0", "left"),
        ("GPU-rtx-3090-1", "left"),
        ("GPU-rtx-3090-2", "right"),
        ("GPU-t4-0", "right"),
    ]
    assert [one.links for one in found.devices] == [
        (("GPU-rtx-3090-1", "NV4"),),
        (("GPU-rtx-3090-0", "NV4"),),
        (),
        (),
    ]
    assert feasible(Demand(0, 0, 2, 0, ("rtx-3090",), 0, 0), found) is None
    refused = feasible(Demand(0, 0, 3, 0, ("rtx-3090",), 0, 0), found)
    assert refused is not None
    assert "at most 2 of them of one machine" in refused.text


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ({"machines": []}, "machines is [], not a list of machines"),
        ({"machines": 3}, "machines is 3, not a list of machines"),
        ({"machines": [{"gpus": []}]}, "machines[0].name is None, not a text"),
        ({"machines": [{"name": "a"}, {"name": "a"}]}, "two machines are called a"),
        ({"machines": [{"name": "a"}], "cpu": 3}, "cpu stands beside machines"),
        ({"machines": [{"name": "a", "cpu": -1}]}, "machines[0].cpu is -1"),
        ({"machines": [{"name": "a", "gpus": [{}]}]}, "machines[0].gpus[0].type is None"),
        ({"network": {"rdma": "yes"}}, "network.rdma is 'yes', not true or false"),
        ({"network": {"rate": "100"}}, "network.rate: "),
        ({"network": {"speed": 1}}, "network has the unknown key 'speed'"),
    ],
)
def test_a_wrong_machine_is_named(document: dict[str, Any], words: str) -> None:
    with pytest.raises(InventoryProblem) as caught:
        from_document(document, "lab.yaml")
    assert words in str(caught.value)


def test_one_machine_may_state_its_network() -> None:
    found = from_document({"network": {"rdma": False}, "gpus": [{"type": "t4"}]}, "box.yaml")
    assert found.nodes == (Node("this machine", None, False),)
    assert found.devices[0].node is None


def test_cards_of_several_entries_are_joined_as_their_nodes_are() -> None:
    entries = [
        {"type": "t4", "count": 2, "numa": [0, 1], "pcie": "PHB"},
        {"type": "l4", "numa": 0, "pcie": "PIX"},
        {"type": "l40", "numa": 1, "pcie": "PHB"},
        {"type": "mig:1g.10gb", "memory": "9Gi", "numa": 0},
    ]
    found = from_document({"gpus": entries}, "box.yaml").devices
    assert dict(found[0].links) == {"GPU-t4-1": "SYS", "GPU-l4-0": "NODE", "GPU-l40-0": "SYS"}
    assert dict(found[1].links) == {"GPU-t4-0": "SYS", "GPU-l4-0": "SYS", "GPU-l40-0": "PHB"}
    assert found[-1].links == ()


def test_links_of_a_described_box() -> None:
    group = {"type": "l40s", "count": 4, "numa": [0, 0, 0, 1], "switch": 2, "pcie": "PHB"}
    found = from_document({"gpus": [group]}, "box.yaml").devices
    assert [link for _, link in found[0].links] == ["PIX", "PHB", "SYS"]
    mesh = from_document({"gpus": [{"type": "a100-sxm-40gb", "count": 2, "nvlinks": 4}]}, "box.yaml").devices
    assert mesh[0].links == (("GPU-a100-sxm-40gb-1", "NV4"),)
    for key, value in (("pcie", "SYS"), ("switch", 0), ("nvlinks", True), ("nvlinks", 65)):
        with pytest.raises(InventoryProblem, match=f"gpus.0..{key} is {value!r}"):
            from_document({"gpus": [{**group, key: value}]}, "box.yaml")


def test_what_is_not_stated_is_unknown_or_ample() -> None:
    found = from_document({}, "empty.yaml")
    assert found.memory_bytes is None
    assert found.disk_bytes is None
    assert found.devices == ()
    assert found.cpu_m == AMPLE_CPU_M
    assert found.notes == ("processors not stated: taken as ample",)


def test_sxm_boards_come_linked() -> None:
    found = from_document(
        {"gpus": [{"type": "h100-sxm-80gb", "count": 2}, {"type": "l40s", "count": 2}]}, "x"
    )
    assert [sorted({link for _, link in device.links}) for device in found.devices] == [
        ["NV18"],
        ["NV18"],
        [],
        [],
    ]


def test_a_type_outside_the_table_needs_its_memory() -> None:
    found = from_document({"gpus": [{"type": "H300-NVL", "memory": "300Gi"}]}, "x")
    assert found.devices[0].type == "h300-nvl"
    assert found.devices[0].memory_bytes == 300 * GIB
    assert "type h300-nvl is not in the card table" in found.notes
    mig = from_document({"gpus": [{"type": "mig:3g.40gb", "memory": "39Gi", "count": 2}]}, "x")
    assert [device.uuid for device in mig.devices] == ["MIG-3g.40gb-0", "MIG-3g.40gb-1"]


@pytest.mark.parametrize(
    ("document", "what", "hint"),
    [
        ([], "the inventory is []", ""),
        ("text", "not a mapping", ""),
        ({"gpus": [{"type": "l4", "count": 4096}] * 2}, "8192 GPUs are described, more than 4096", "pools"),
        ({"gpu": []}, "unknown key 'gpu'", "did you mean 'gpus'?"),
        ({"zzz": []}, "unknown key 'zzz'", "known keys"),
        ({"gpus": {}}, "gpus is {}", ""),
        ({"gpus": ["a100"]}, "gpus[0] is 'a100'", ""),
        ({"gpus": [{"typ": "a100"}]}, "gpus[0] has the unknown key 'typ'", "did you mean 'type'?"),
        ({"gpus": [{}]}, "gpus[0].type is None", "a100-sxm-80gb"),
        ({"gpus": [{"type": "a100"}]}, "gpus[0].type is 'a100', not one type", "a100-pcie-40gb"),
        ({"gpus": [{"type": ">=a100-sxm-80gb"}]}, "gpus[0].type", ""),
        (
            {"gpus": [{"type": "a100-sxn-80gb"}]},
            "not a type of the card table",
            "did you mean 'a100-sxm-80gb'?",
        ),
        ({"gpus": [{"type": "qqqqq"}]}, "not a type of the card table", "memory"),
        ({"gpus": [{"type": "mig:3g.40gb"}]}, "gpus[0] lacks memory", "state the memory"),
        ({"gpus": [{"type": "l4", "count": 0}]}, "gpus[0].count is 0", ""),
        ({"gpus": [{"type": "l4", "count": True}]}, "gpus[0].count is True", ""),
        ({"gpus": [{"type": "l4", "count": "2"}]}, "gpus[0].count is '2'", ""),
        ({"gpus": [{"type": "l4", "count": 10**9}]}, "gpus[0].count", ""),
        ({"gpus": [{"type": "l4", "memory": 24}]}, "gpus[0].memory: '24' has no unit", "24Gi"),
        ({"gpus": [{"type": "l4", "memory": "0Gi"}]}, "gpus[0].memory is '0Gi'", ""),
        ({"gpus": [{"type": "l4", "nvlink": "full"}]}, "l4 has no NVLink", "leave it out"),
        ({"gpus": [{"type": "rtx-3090", "nvlink": True}]}, "gpus[0].nvlink is True", ""),
        ({"gpus": [{"type": "l4", "numa": [0, 1]}]}, "gpus[0].numa is [0, 1]", ""),
        ({"gpus": [{"type": "l4", "numa": -1}]}, "gpus[0].numa is -1", ""),
        ({"gpus": [{"type": "l4", "numa": "0"}]}, "gpus[0].numa is '0'", ""),
        ({"cpu": "8"}, "cpu is '8'", ""),
        ({"cpu": 0}, "cpu is 0", ""),
        ({"cpu": True}, "cpu is True", ""),
        ({"memory": "64G"}, "memory: 'G' is not a unit", "64Gi"),
        ({"name": 3}, "name is 3", ""),
    ],
)
def test_what_is_wrong_is_named(document: object, what: str, hint: str) -> None:
    with pytest.raises(InventoryProblem) as caught:
        from_document(document, "box.yaml")
    assert caught.value.what.startswith("box.yaml: ")
    assert what in caught.value.what
    assert hint in caught.value.hint


_keys = st.sampled_from(["name", "cpu", "memory", "disk", "gpus", "type", "count", "nvlink", "numa", "x"])
_leaves = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 9),
    st.floats(),
    st.sampled_from(["a100-sxm-80gb", "l4", "24Gi", "full", "", "mig:1g.5gb"]),
)
_documents = st.recursive(
    _leaves, lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(_keys, inner, max_size=5))
)


@pytest.mark.battery
@settings(max_examples=150)
@given(_documents)
def test_any_document_is_an_inventory_or_a_problem(document: object) -> None:
    try:
        found = from_document(document, "x")
    except InventoryProblem:
        return
    assert len({device.uuid for device in found.devices}) == len(found.devices)


@pytest.mark.parametrize("name", profiles.names())
def test_every_profile_stands(name: str) -> None:
    found = read_inventory(f"builtin:{name}")
    assert found.devices
    assert found.origin == f"described:builtin:{name}"
    assert feasible(Demand(1000, 0, len(found.devices), 0, (found.devices[0].type,), 0, 0), found) is None


def test_the_page_lists_every_profile() -> None:
    page = (EXAMPLES.parents[1] / "docs" / "reference" / "inventory.md").read_text(encoding="utf-8")
    rows = [line.split("`")[1] for line in page.splitlines() if line[:3] in ("| `",) and "x" in line[:6]]
    assert [row for row in rows if row[0].isdigit()] == list(profiles.names())


def test_an_unknown_profile_names_the_others() -> None:
    with pytest.raises(InventoryProblem) as caught:
        read_inventory("builtin:9xz")
    assert "8xa100-sxm-80gb" in caught.value.hint


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("4xrtx4090", "4xrtx-4090?"),
        ("4x4090", "4xrtx-4090?"),
        ("8xA100", "8xa100-sxm-40gb or 8xa100-sxm-80gb?"),
        ("1xh100", "8xh100-sxm-80gb?"),
        ("l40s", "1xl40s or 4xl40s or 8xl40s?"),
        ("8xb20", "8xb200?"),
    ],
)
def test_a_near_miss_is_told_the_nearest_machine(name: str, meant: str) -> None:
    with pytest.raises(InventoryProblem) as caught:
        read_inventory(f"builtin:{name}")
    assert f"did you mean {meant}" in caught.value.hint


def test_examples_are_inventories() -> None:
    paths = sorted(EXAMPLES.glob("*.*"))
    assert len(paths) >= 4
    for path in paths:
        assert read_inventory(str(path)).origin.startswith("described:")
