"""The operating system: release, selected kernel parameters, limits of the process and of its cgroup."""

from __future__ import annotations

import os
import resource

from dsec.devices.procfs import ancestors, cgroup_paths
from dsec_cli.snapshot.manifest import ABSENT
from dsec_cli.snapshot.section import Captured, Difference, Part, judged

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.snapshot.manifest import Plain
    from dsec_cli.snapshot.section import Pair, Scene

_SYSCTLS = (
    *("vm/overcommit_memory", "vm/overcommit_ratio", "vm/swappiness", "vm/max_map_count", "vm/nr_hugepages"),
    *("vm/zone_reclaim_mode", "vm/dirty_ratio", "vm/dirty_background_ratio", "vm/vfs_cache_pressure"),
    *("kernel/numa_balancing", "kernel/shmmax", "kernel/shmall", "kernel/shmmni", "kernel/sem"),
    *("kernel/pid_max", "kernel/threads-max", "kernel/randomize_va_space", "kernel/yama/ptrace_scope"),
    *("kernel/perf_event_paranoid", "kernel/unprivileged_userns_clone", "kernel/sched_autogroup_enabled"),
    *("kernel/unprivileged_bpf_disabled", "kernel/core_pattern", "kernel/sched_rt_runtime_us"),
    *("fs/file-max", "fs/nr_open", "fs/inotify/max_user_watches", "fs/aio-max-nr", "fs/pipe-max-size"),
    *("net/core/rmem_max", "net/core/wmem_max", "net/core/somaxconn", "net/core/netdev_max_backlog"),
    *(
        "net/ipv4/tcp_rmem",
        "net/ipv4/tcp_wmem",
        "net/ipv4/tcp_congestion_control",
        "net/ipv4/ip_local_port_range",
    ),
    *("user/max_user_namespaces", "net/ipv4/tcp_mtu_probing"),
)
_SYSFS = {
    "transparent_hugepage": "/sys/kernel/mm/transparent_hugepage/enabled",
    "clocksource": "/sys/devices/system/clocksource/clocksource0/current_clocksource",
    "cpu_governor": "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
    "smt": "/sys/devices/system/cpu/smt/active",
}
_LIMITS = {
    "as": resource.RLIMIT_AS, "core": resource.RLIMIT_CORE, "data": resource.RLIMIT_DATA,
    "fsize": resource.RLIMIT_FSIZE, "memlock": resource.RLIMIT_MEMLOCK, "nofile": resource.RLIMIT_NOFILE,
    "nproc": resource.RLIMIT_NPROC, "stack": resource.RLIMIT_STACK,
}  # fmt: skip
_CGROUP = (
    "cpu.max",
    "memory.max",
    "memory.high",
    "memory.swap.max",
    "pids.max",
    "cpuset.cpus",
    "cpuset.mems",
)
_CAUSES = {
    "kernel/numa_balancing": (20, "pages move between memories while the run goes on"),
    "transparent_hugepage": (18, "memory may be cut into other pages: speed, not results"),
    "cpu_governor": (15, "the clock of the processors: speed, not results"),
    "memory.max": (25, "less memory may end what fitted before"),
    "nofile": (20, "loaders and workers may run out of open files"),
}


def capture(scene: Scene) -> Captured:
    """Read what the kernel tells; what it has not is left out."""
    system = os.uname()
    sysctls = {name.replace("/", "."): text for name in _SYSCTLS if (text := _read(f"/proc/sys/{name}"))}
    limits = {}
    for name, number in _LIMITS.items():
        limits[name] = [None if one == resource.RLIM_INFINITY else one for one in resource.getrlimit(number)]
    data: Plain = {
        "release": system.release,
        "machine": system.machine,
        "distribution": _distribution(),
        "sysctls": sysctls,
        "system": {name: _chosen(text) for name, path in _SYSFS.items() if (text := _read(path))},
        "limits": limits,
        "cgroup": _cgroup(),
    }
    for name, text in list(sysctls.items()):
        clean, found = scene.redactor.text(text)
        sysctls[name] = clean
        scene.redactions.extend((f"kernel parameter {name}", one) for one in found)
    return judged([] if sysctls else ["/proc/sys could not be read"], data)


def _read(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return " ".join(file.read(4096).decode("utf-8", "replace").split())
    except OSError:
        return ""


def _chosen(text: str) -> str:
    """The word in brackets, where the file marks one of several."""
    return text[text.find("[") + 1 : text.find("]")] if "[" in text and "]" in text else text


def _distribution() -> str:
    for line in _lines("/etc/os-release") or _lines("/usr/lib/os-release"):
        if line.startswith("PRETTY_NAME="):
            return line.partition("=")[2].strip().strip('"')
    return ""


def _lines(path: str) -> list[str]:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(65536).splitlines()
    except OSError:
        return []


def _cgroup() -> dict[str, str]:
    """The tightest limit of each kind from our cgroup upwards; unlimited ones are left out."""
    path = cgroup_paths("\n".join(_lines("/proc/self/cgroup"))).get("", "")
    found: dict[str, str] = {}
    for above in ancestors(path) if path else ():
        for name in _CGROUP:
            text = _read(f"/sys/fs/cgroup{above}/{name}")
            if text and text.split()[0] != "max":
                found.setdefault(name, text)
    return found


def compare(pair: Pair) -> Iterator[Difference]:
    """Parameter by parameter."""
    if ABSENT in (pair.before.status, pair.after.status):
        return
    one, two = pair.before.data, pair.after.data
    for name, weight in (("release", 30), ("machine", 90), ("distribution", 25)):
        if one[name] != two[name]:
            yield Difference("kernel", "changed", name, one[name], two[name], weight)
    for group in ("sysctls", "system", "limits", "cgroup"):
        for name in sorted({*one[group], *two[group]}):
            before, after = _text(one[group].get(name)), _text(two[group].get(name))
            if before != after:
                weight, cause = _CAUSES.get(name, (8, ""))
                subject = f"limit {name}" if group == "limits" else name
                yield Difference("kernel", "changed", subject, before, after, weight, cause)


def _text(value: Plain) -> str:
    if isinstance(value, list):
        return "/".join("unlimited" if one is None else str(one) for one in value)
    return "not set" if value is None else str(value)


PART = Part("kernel", "kernel and limits", 60, capture, compare)
