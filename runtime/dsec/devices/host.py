"""This machine's processors, memory, disk and NUMA nodes, less what its cgroups forbid."""

from __future__ import annotations

import os

from dsec.devices import procfs
from dsec.inventory import Inventory

SIMULATED = "SIM_GPU_HOST"
"""`192000,2199023255552`: thousandths of processors and bytes of memory of a simulated box, where stated."""


def read(root: str = "/") -> Inventory:
    """The host without its GPUs; `root` is the file system that /proc and /sys are read from.

    On a simulated box (`dsec sim-gpu`) it has the box's processors and memory, as far as these are stated.
    """
    found = _read(root)
    return _as_simulated(found, os.environ.get(SIMULATED, ""))


def _as_simulated(real: Inventory, stated: str) -> Inventory:
    cpu, _, size = stated.partition(",")
    cpu_m = int(cpu) if cpu.isdecimal() and len(cpu) < 13 else None
    memory_bytes = int(size) if size.isdecimal() and len(size) < 19 else None
    if not cpu_m and not memory_bytes:
        return real
    had = f"{real.cpu_m / 1000:g} cores"
    if real.memory_bytes is not None:
        had += f" and {real.memory_bytes / 2**30:.1f} GiB"
    return real._replace(
        cpu_m=cpu_m or real.cpu_m,
        memory_bytes=memory_bytes or real.memory_bytes,
        notes=(*real.notes, f"processors and memory are those of the simulated box; this machine has {had}"),
    )


def _read(root: str) -> Inventory:
    paths = procfs.cgroup_paths(_text(root, "proc/self/cgroup"))
    processors = _processors()
    quota_m = _cpu_quota(root, paths)
    memory = procfs.mem_total(_text(root, "proc/meminfo"))
    limit = _memory_limit(root, paths)
    notes = []
    if quota_m is not None and quota_m < processors * 1000:
        notes.append(f"a cgroup allows {quota_m / 1000:g} of {processors} processors")
    if limit is not None and (memory is None or limit < memory):
        notes.append("a cgroup limits memory")
    if memory is None and limit is None:
        notes.append("host memory unknown: /proc/meminfo could not be read")
    return Inventory(
        origin="os",
        cpu_m=procfs.smallest(processors * 1000, quota_m) or 1000,
        memory_bytes=procfs.smallest(memory, limit),
        disk_bytes=_disk_free(),
        numa_nodes=len(procfs.members(_text(root, "sys/devices/system/node/online"))) or None,
        devices=(),
        notes=tuple(notes),
    )


def memory(root: str = "/") -> tuple[int, int] | None:
    """(total, available) bytes of the whole machine; None where /proc does not say."""
    text = _text(root, "proc/meminfo")
    total, available = procfs.mem_total(text), procfs.mem_available(text)
    return None if total is None or available is None else (total, available)


def numa_of(pci: str, root: str = "/") -> int | None:
    """NUMA node of a PCI device, by sysfs: works where the driver's topology query does not."""
    return procfs.numa_node(_text(root, f"sys/bus/pci/devices/{procfs.bus_address(pci)}/numa_node"))


def node_of(cpus: frozenset[int], root: str = "/") -> int | None:
    """The NUMA node that has all these processors; None where no node does."""
    for node in procfs.members(_text(root, "sys/devices/system/node/online")):
        there = procfs.members(_text(root, f"sys/devices/system/node/node{node}/cpulist"))
        if cpus and cpus.issubset(there):
            return node
    return None


def node_processors(root: str = "/") -> dict[int, frozenset[int]]:
    """Processors of each NUMA node, by sysfs; empty where that does not say."""
    folder = "sys/devices/system/node"
    return {
        node: frozenset(procfs.members(_text(root, f"{folder}/node{node}/cpulist")))
        for node in procfs.members(_text(root, f"{folder}/online"))
    }


def most_processors() -> int:
    """Processors that this machine may have: affinity masks are that wide."""
    return os.cpu_count() or 1


def under_wsl(root: str = "/") -> bool:
    """Whether this is Linux on Windows, where the NVML library has crashed its callers."""
    return "microsoft" in _text(root, "proc/sys/kernel/osrelease").lower()


def _processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _disk_free() -> int | None:
    try:
        stat = os.statvfs(".")
    except OSError:
        return None
    return stat.f_bavail * stat.f_frsize


def _text(root: str, path: str) -> str:
    """A small file's text; "" when it is not there or not ours to read."""
    try:
        with open(os.path.join(root, path.lstrip("/")), encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def _cpu_quota(root: str, paths: dict[str, str]) -> int | None:
    limits = [
        procfs.cpu_max(_text(root, f"sys/fs/cgroup{path}/cpu.max"))
        for path in procfs.ancestors(paths.get("", "/"))
    ]
    for path in procfs.ancestors(paths.get("cpu", "/")):
        folder = f"sys/fs/cgroup/cpu{path}"
        quota, period = _text(root, f"{folder}/cpu.cfs_quota_us"), _text(root, f"{folder}/cpu.cfs_period_us")
        limits.append(procfs.cfs_quota(quota, period))
    return procfs.smallest(*limits)


def _memory_limit(root: str, paths: dict[str, str]) -> int | None:
    limits = [
        procfs.memory_max(_text(root, f"sys/fs/cgroup{path}/memory.max"))
        for path in procfs.ancestors(paths.get("", "/"))
    ]
    limits += [
        procfs.memory_max(_text(root, f"sys/fs/cgroup/memory{path}/memory.limit_in_bytes"))
        for path in procfs.ancestors(paths.get("memory", "/"))
    ]
    return procfs.smallest(*limits)
