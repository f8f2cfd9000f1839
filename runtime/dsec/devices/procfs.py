"""Reading what Linux says of processors, memory and limits: text in, numbers out, no file opened."""

from __future__ import annotations

_MOST_MEMBERS = 100_000
"""More than any machine has: a list that claims more is none."""


def members(text: str) -> tuple[int, ...]:
    """`0-3,8` -> (0, 1, 2, 3, 8); () when the text is no list of ranges."""
    found: list[int] = []
    for part in text.strip().split(","):
        low, dash, high = part.strip().partition("-")
        last = high if dash else low
        if not (low.isdecimal() and last.isdecimal() and len(last) < 6):
            return ()
        found += range(int(low), int(last) + 1)
        if len(found) > _MOST_MEMBERS:
            return ()
    return tuple(found)


def mem_total(text: str) -> int | None:
    """Bytes of `MemTotal` in /proc/meminfo."""
    return _kib_of("MemTotal", text)


def mem_available(text: str) -> int | None:
    """Bytes of `MemAvailable` in /proc/meminfo: what can be had without swapping."""
    return _kib_of("MemAvailable", text)


def _kib_of(wanted: str, text: str) -> int | None:
    for line in text.splitlines():
        key, _, rest = line.partition(":")
        words = rest.split()
        if key == wanted and len(words) == 2 and words[0].isdecimal() and words[1] == "kB":
            return int(words[0]) * 1024
    return None


def cgroup_paths(text: str) -> dict[str, str]:
    """Controller to path from /proc/self/cgroup; "" is the unified (v2) hierarchy."""
    paths: dict[str, str] = {}
    for line in text.splitlines():
        parts = line.split(":", 2)
        if len(parts) == 3:
            for controller in parts[1].split(","):
                paths[controller] = parts[2]
    return paths


def cpu_max(text: str) -> int | None:
    """Thousandths of a processor that a v2 `cpu.max` (`200000 100000`) allows; None: no limit."""
    words = text.split()
    if len(words) != 2 or not words[0].isdecimal() or not words[1].isdecimal() or not int(words[1]):
        return None
    return max(1, int(words[0]) * 1000 // int(words[1]))


def cfs_quota(quota: str, period: str) -> int | None:
    """The same from v1 `cpu.cfs_quota_us` (-1: no limit) and `cpu.cfs_period_us`."""
    return cpu_max(f"{quota.strip()} {period.strip()}")


def memory_max(text: str) -> int | None:
    """Bytes that `memory.max` or v1 `memory.limit_in_bytes` allows; None: no limit."""
    word = text.strip()
    if not word.isdecimal() or int(word) >= 2**62:
        return None  # v1 says "no limit" as the largest page-aligned number
    return int(word)


def ancestors(path: str) -> tuple[str, ...]:
    """The cgroup and all above it, nearest first: limits of every one of them hold."""
    parts = [part for part in path.split("/") if part not in ("", ".", "..")]
    return tuple("/" + "/".join(parts[:end]) for end in range(len(parts), -1, -1))


def smallest(*limits: int | None) -> int | None:
    """The tightest of the limits that are known."""
    known = [limit for limit in limits if limit is not None]
    return min(known) if known else None


def bus_address(pci: str) -> str:
    """NVML's `00000000:C1:00.0` as sysfs names it: `0000:c1:00.0`."""
    domain, _, rest = pci.lower().partition(":")
    return f"{domain[-4:]}:{rest}"


def numa_node(text: str) -> int | None:
    """A device's `numa_node`; -1 is the kernel's word for unknown."""
    word = text.strip()
    return int(word) if word.isdecimal() else None
