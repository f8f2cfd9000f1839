"""Every recorded output of nvidia-smi beside this checkout: what is read of it, or why it is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from dsec.cards import MIB
from dsec.errors import InventoryProblem
from dsec.inventory import Inventory
from dsec_cli.commands.inventory import read_inventory

CAPTURES = Path(__file__).resolve().parents[3] / "shared" / "captures"
FILES = sorted(path.name for path in CAPTURES.glob("*") if path.name != "README.txt")
pytestmark = pytest.mark.skipif(not FILES, reason="the recorded outputs are not beside this checkout")

H100, H200, SUPER = "h100-sxm-80gb", "h200-sxm-141gb", "rtx-2080s"
TYPES = {
    "_h100-590": [H100],
    "_h200-590": [H200],
    "_h100mig-590": ["mig:3g.40gb", "mig:2g.20gb", "mig:1g.10gb", "mig:1g.10gb"],
    "_h200mig-590": ["mig:1c.3g.71gb", "mig:2c.3g.71gb", "mig:2g.35gb", "mig:1g.18gb", "mig:1g.18gb"],
    "_l40s-595": ["l40s"],
    "_rtx2080s-595": [SUPER],
    "_rtx4080s-595": ["rtx-4080s"],
    "_win-rtx2080s-610": [SUPER],
    "_laptop_rtx3070ti": ["rtx-3070ti-laptop"],
    "_a100-sxm4-v12": ["mig:1g.20gb"] * 4,
    "_gtx-1660-ti": [""],  # a driver that printed "Graphics Device"
    "_quadro-p2000-v12": ["p2000"],
    "_rtx-3090-v12": ["rtx-3090"],
    "_rtx-4000-sff-ada-v13": ["rtx-4000-sff-ada"],
}
REFUSED = {
    "compute-apps": "a table of nvidia-smi --query-compute-apps",
    "pmon": "a table of nvidia-smi pmon or dmon",
    "smi-errors": "the failure of an nvidia-smi",
}
LINKS = {
    "topo-m_2x3090_NVLink.txt": ["NV4"],
    "topo-m_2x3090_SYS_blanknuma.txt": ["SYS"],
    "topo-m_4xA100-PCIe_nvlinkpairs.txt": ["NV12", "SYS", "SYS"],
    "topo-m_4xA100-SXM_NV4_npsnuma.txt": ["NV4"] * 3,
    "topo-m_4x_mixed_3sxm1pcie.txt": ["NV12", "SYS", "SYS"],
    "topo-m_8xA100-SXM_p4d.txt": ["NV12"] * 7,
    "topo-m_8xH100_nonic.txt": ["NV18"] * 7,
    "topo-m_8xL4_PHB.txt": ["PHB"] * 3 + ["SYS"] * 4,
    "topo-m_8xPCIe_dualnuma_PIX_NODE.txt": ["NODE"] * 2 + ["PIX"] + ["SYS"] * 4,
}
NUMA = {
    "topo-m_2x3090_SYS_blanknuma.txt": [None, 1],
    "topo-m_4xA100-PCIe_nvlinkpairs.txt": [0, 1, 2, 3],
    "topo-m_4xA100-SXM_NV4_npsnuma.txt": [2, 2, 6, 6],
    "topo-m_4x_mixed_3sxm1pcie.txt": [None] * 4,
    "topo-m_8xL4_PHB.txt": [0] * 4 + [1] * 4,
}


def read(name: str) -> Inventory:
    return read_inventory(str(CAPTURES / name))


@pytest.mark.parametrize("name", [name for name in FILES if name.startswith(tuple(REFUSED))])
def test_what_is_no_inventory_is_called_by_its_name(name: str) -> None:
    with pytest.raises(InventoryProblem) as caught:
        read(name)
    assert REFUSED[next(head for head in REFUSED if name.startswith(head))] in caught.value.what
    assert "nvidia-smi -L" in caught.value.hint


@pytest.mark.parametrize("name", [name for name in FILES if name.startswith(("smi-L", "smi-q", "smi-table"))])
def test_types_are_those_of_the_machine(name: str) -> None:
    found = read(name)
    want = next(types for mark, types in TYPES.items() if mark in name)
    cut = [device.model.endswith("...") for device in found.devices]
    assert [device.type for device in found.devices] == (want if not any(cut) else [""])
    assert len({device.uuid for device in found.devices}) == len(want)
    assert all(device.memory_bytes for device in found.devices)
    assert any(cut) == any("cut short" in note for note in found.notes)


@pytest.mark.parametrize("box", ["h100-590", "h100mig-590", "h200-590", "h200mig-590", "l40s-595"])
def test_all_outputs_of_a_machine_agree(box: str) -> None:
    listing, query = read(f"smi-L_{box}.txt"), read(f"smi-q_{box}_load.txt")
    table = read(f"smi-table_{box}_load.txt")
    for other in (query, table):
        assert [device.type for device in other.devices] == [device.type for device in listing.devices]
        for one, two in zip(listing.devices, other.devices, strict=True):
            assert abs((one.memory_bytes or 0) - (two.memory_bytes or 0)) < 250 * MIB


def test_compute_instances_of_one_gpu_instance_share_its_memory() -> None:
    found = read("smi-q_h200mig-590_load.txt")
    assert sum(device.memory_bytes or 0 for device in found.devices[:2]) == 71424 * MIB
    assert any("share the memory" in note for note in found.notes)


@pytest.mark.parametrize("name", [name for name in FILES if name.startswith("query-gpu")])
def test_a_query_is_read_by_its_header(name: str) -> None:
    found = read(name)
    if "mig" in name:
        assert found.devices == ()
        assert any("no instance is listed" in note for note in found.notes)
    else:
        assert [device.type for device in found.devices] == next(
            t for mark, t in TYPES.items() if mark in name
        )


@pytest.mark.parametrize("name", [name for name in FILES if name.startswith("topo-m")])
def test_a_matrix_alone_has_links_and_no_types(name: str) -> None:
    found = read(name)
    assert {device.type for device in found.devices} == {""}
    assert any("topo -m does not print them" in note for note in found.notes)
    assert sorted(link for _, link in found.devices[0].links) == LINKS.get(name, [])
    for device in found.devices:
        for other, link in device.links:
            assert (device.uuid, link) in next(one for one in found.devices if one.uuid == other).links
    if name in NUMA:
        assert [device.numa for device in found.devices] == NUMA[name]


@pytest.mark.parametrize("box", ["h100-590", "l40s-595", "rtx4080s-595", "win-rtx2080s-610"])
def test_outputs_pasted_into_one_file(box: str, tmp_path: Path) -> None:
    parts = [f"smi-table_{box}_load.txt", f"smi-L_{box}.txt", f"topo-m_1x_{box}.txt"]
    for order in (parts, parts[::-1]):
        path = tmp_path / "paste.txt"
        path.write_text("\n".join((CAPTURES / name).read_text(encoding="utf-8") for name in order))
        found = read_inventory(str(path))
        assert [device.type for device in found.devices] == next(
            t for mark, t in TYPES.items() if box in mark
        )
        assert found.devices[0].numa == (None if "win" in box else 0)
        assert not any("type not known" in note for note in found.notes)


@pytest.mark.parametrize(
    ("name", "profile"),
    [
        ("topo-m_2x3090_NVLink.txt", "2xrtx-3090"),
        ("topo-m_4xA100-PCIe_nvlinkpairs.txt", "4xa100-pcie-80gb"),
        ("topo-m_4xA100-SXM_NV4_npsnuma.txt", "4xa100-sxm-40gb"),
        ("topo-m_8xA100-SXM_p4d.txt", "8xa100-sxm-40gb"),
        ("topo-m_8xA100-SXM_p4d.txt", "8xa100-sxm-80gb"),
        ("topo-m_8xH100_nonic.txt", "8xh100-sxm-80gb"),
        ("topo-m_8xL4_PHB.txt", "8xl4"),
        ("topo-m_8xPCIe_dualnuma_PIX_NODE.txt", "8xl40s"),
    ],
)
def test_built_in_machines_are_linked_as_recorded_ones(name: str, profile: str) -> None:
    recorded, built_in = read(name), read_inventory(f"builtin:{profile}")
    places = [{device.uuid: at for at, device in enumerate(box.devices)} for box in (recorded, built_in)]
    links = [
        [sorted((place[other], link) for other, link in device.links) for device in box.devices]
        for box, place in zip((recorded, built_in), places, strict=True)
    ]
    assert links[0] == links[1]
    assert [device.numa for device in recorded.devices] == [device.numa for device in built_in.devices]


def test_nothing_is_left_untested() -> None:
    known = ("smi-L", "smi-q", "smi-table", "query-gpu", "topo-m", "nvlink-s", *REFUSED)
    assert [name for name in FILES if not name.startswith(known)] == []
    assert all(read(name).devices for name in FILES if name.startswith("nvlink-s"))
