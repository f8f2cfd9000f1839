"""Host limits and visibility: parsing tables, a made-up file system, and mask tables."""

from __future__ import annotations

import os
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dsec.cards import GIB
from dsec.devices import host, procfs
from dsec.devices.visible import allowed, environment, restrict
from dsec.inventory import Device, Inventory


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("0-3", (0, 1, 2, 3)),
        ("0-1,8\n", (0, 1, 8)),
        ("5", (5,)),
        ("", ()),
        ("N/A", ()),
        ("1-", ()),
        ("a-b", ()),
        (",".join(["0-99999"] * 100_000), ()),
    ],
)
def test_members(text: str, found: tuple[int, ...]) -> None:
    assert procfs.members(text) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("200000 100000", 2000),
        ("50000 100000", 500),
        ("max 100000", None),
        ("", None),
        ("1 0", None),
        ("x y", None),
    ],
)
def test_cpu_max(text: str, found: int | None) -> None:
    assert procfs.cpu_max(text) == found


def test_cgroup_v1_quota() -> None:
    assert procfs.cfs_quota("-1\n", "100000\n") is None
    assert procfs.cfs_quota("150000\n", "100000\n") == 1500
    assert procfs.cfs_quota("", "") is None


@pytest.mark.parametrize(
    ("text", "found"), [("max\n", None), ("1073741824\n", GIB), ("9223372036854771712", None), ("", None)]
)
def test_memory_max(text: str, found: int | None) -> None:
    assert procfs.memory_max(text) == found


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=60))
def test_any_text_is_read(text: str) -> None:
    procfs.members(text[:4])
    procfs.mem_total(text)
    procfs.cgroup_paths(text)
    procfs.cpu_max(text)
    procfs.memory_max(text)
    procfs.numa_node(text)
    assert procfs.ancestors(text)[-1] == "/"


def write(root: Any, path: str, text: str) -> None:
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def test_cgroup_v2_limits_hold_from_every_level(tmp_path: Any) -> None:
    write(tmp_path, "proc/meminfo", "MemTotal:       65536000 kB\nMemFree: 1 kB\n")
    write(tmp_path, "proc/self/cgroup", "0::/job/step\n")
    write(tmp_path, "sys/fs/cgroup/job/cpu.max", "50000 100000\n")
    write(tmp_path, "sys/fs/cgroup/job/step/cpu.max", "max 100000\n")
    write(tmp_path, "sys/fs/cgroup/job/step/memory.max", "max\n")
    write(tmp_path, "sys/fs/cgroup/job/memory.max", f"{4 * GIB}\n")
    write(tmp_path, "sys/devices/system/node/online", "0-1\n")
    found = host.read(str(tmp_path))
    assert found.cpu_m == 500
    assert found.memory_bytes == 4 * GIB
    assert found.numa_nodes == 2
    assert any("cgroup allows 0.5" in note for note in found.notes)
    assert "a cgroup limits memory" in found.notes


def test_cgroup_v1_limits(tmp_path: Any) -> None:
    write(tmp_path, "proc/meminfo", "MemTotal: 65536000 kB\n")
    write(tmp_path, "proc/self/cgroup", "4:memory:/a\n2:cpu,cpuacct:/a\n")
    write(tmp_path, "sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "25000\n")
    write(tmp_path, "sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "100000\n")
    write(tmp_path, "sys/fs/cgroup/memory/a/memory.limit_in_bytes", f"{2 * GIB}\n")
    found = host.read(str(tmp_path))
    assert found.cpu_m == 250
    assert found.memory_bytes == 2 * GIB


def test_nothing_to_read_is_unknown(tmp_path: Any) -> None:
    found = host.read(str(tmp_path))
    assert found.memory_bytes is None
    assert found.numa_nodes is None
    assert found.cpu_m == 1000 * len(os.sched_getaffinity(0))
    assert any("memory unknown" in note for note in found.notes)


def test_numa_of_a_device(tmp_path: Any) -> None:
    write(tmp_path, "sys/bus/pci/devices/0000:c1:00.0/numa_node", "3\n")
    write(tmp_path, "sys/bus/pci/devices/0000:c2:00.0/numa_node", "-1\n")
    assert host.numa_of("00000000:C1:00.0", str(tmp_path)) == 3
    assert host.numa_of("00000000:C2:00.0", str(tmp_path)) is None
    assert host.numa_of("00000000:C3:00.0", str(tmp_path)) is None


def test_the_node_that_has_all_processors(tmp_path: Any) -> None:
    write(tmp_path, "sys/devices/system/node/online", "0-1\n")
    write(tmp_path, "sys/devices/system/node/node0/cpulist", "0-3,8-11\n")
    write(tmp_path, "sys/devices/system/node/node1/cpulist", "4-7\n")
    assert host.node_of(frozenset({1, 8}), str(tmp_path)) == 0
    assert host.node_of(frozenset({4}), str(tmp_path)) == 1
    assert host.node_of(frozenset({3, 4}), str(tmp_path)) is None
    assert host.node_of(frozenset(), str(tmp_path)) is None


def test_wsl_is_recognised(tmp_path: Any) -> None:
    assert not host.under_wsl(str(tmp_path))
    write(tmp_path, "proc/sys/kernel/osrelease", "5.15.153.1-microsoft-standard-WSL2\n")
    assert host.under_wsl(str(tmp_path))


def gpu(at: int, uuid: str, model: str = "NVIDIA L40S") -> Device:
    return Device(uuid, at, model, "l40s", 46 * GIB, None, None, None, (), 161, "ok")


BOX = (gpu(0, "GPU-aa01"), gpu(1, "GPU-ab02"), gpu(2, "GPU-cc03"), gpu(3, "MIG-dd04"))


@pytest.mark.parametrize(
    ("mask", "shown"),
    [
        (None, ("GPU-aa01", "GPU-ab02", "GPU-cc03", "MIG-dd04")),
        ("", ()),
        ("-1", ()),
        ("NoDevFiles", ()),
        ("2", ("GPU-cc03",)),
        ("2,0", ("GPU-cc03", "GPU-aa01")),
        (" 1 , 2 ", ("GPU-ab02", "GPU-cc03")),
        ("0,9,1", ("GPU-aa01",)),
        ("0,-1,1", ("GPU-aa01",)),
        ("0,0", ()),
        ("GPU-ab02", ("GPU-ab02",)),
        ("GPU-c", ("GPU-cc03",)),
        ("GPU-a", ()),
        ("GPU-zz", ()),
        ("MIG-dd04", ("MIG-dd04",)),
        ("GPU-cc03,1", ("GPU-cc03", "GPU-ab02")),
        ("0,", ("GPU-aa01",)),
    ],
)
def test_masks_are_read_as_cuda_reads_them(mask: str | None, shown: tuple[str, ...]) -> None:
    assert allowed(mask, BOX) == shown


def test_an_exact_uuid_wins_over_a_longer_one() -> None:
    assert allowed("GPU-1", (gpu(0, "GPU-12"), gpu(1, "GPU-1"))) == ("GPU-1",)


@pytest.mark.parametrize(
    ("granted", "mask", "value"),
    [
        (("GPU-aa01", "GPU-cc03"), None, "GPU-aa01,GPU-cc03"),
        (("GPU-aa01", "GPU-cc03"), "2", "GPU-cc03"),
        (("GPU-aa01",), "", ""),
        ((), None, ""),
    ],
)
def test_a_child_sees_what_it_was_granted_and_may_see(
    granted: tuple[str, ...], mask: str | None, value: str
) -> None:
    told = environment(granted, mask, BOX)
    indices = {device.uuid: device.index for device in BOX}
    grant = ",".join(f"{uuid}={indices[uuid]}" for uuid in value.split(",") if uuid)
    assert told.pop("DSEC_DEVICES", "") == grant
    assert told == {"CUDA_VISIBLE_DEVICES": value, "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}


def test_a_child_is_told_the_numa_node_that_all_its_devices_are_on() -> None:
    box = tuple(device._replace(numa=at // 2) for at, device in enumerate(BOX))
    told = [
        environment(granted, None, box).get("DSEC_NUMA") for granted in (("GPU-aa01",), (), ("GPU-cc03",))
    ]
    assert told == ["0", None, "1"]
    assert "DSEC_NUMA" not in environment(("GPU-aa01", "GPU-cc03"), None, box)


def test_the_inventory_is_cut_to_the_mask() -> None:
    whole = Inventory("nvml", 8000, None, None, None, BOX, ())
    assert restrict(whole, {}) is whole
    cut = restrict(whole, {"CUDA_VISIBLE_DEVICES": "2,1"})
    assert [device.index for device in cut.devices] == [1, 2]
    assert cut.notes == ("CUDA_VISIBLE_DEVICES=2,1 shows 2 of 4 GPUs",)
    mixed = Inventory("nvml", 8000, None, None, None, (*BOX, gpu(4, "GPU-ee05", "NVIDIA L4")), ())
    assert len(restrict(mixed, {"CUDA_VISIBLE_DEVICES": "0"}).notes) == 2
    ordered = {"CUDA_VISIBLE_DEVICES": "0", "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}
    assert len(restrict(mixed, ordered).notes) == 1


def test_this_machine_is_read() -> None:
    found = host.read()
    assert found.origin == "os"
    assert found.cpu_m >= 1
    assert found.devices == ()
