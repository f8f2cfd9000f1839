"""What a plugin is granted, and what that means to the kernel: system calls, files, ports.

Whatever is not granted is refused, and whatever is granted works: both follow from this one value.
"""

from __future__ import annotations

import os
import shutil
from typing import NamedTuple

from dsec.sandbox.landlock import ALL_PORTS, Ports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

ANY = ""
"""As a target: all of them."""
_LINKER = ("/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1")
_LIBRARIES = (
    "/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib/aarch64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu", "/lib64", "/usr/lib64", "/usr/local/lib",
)  # fmt: skip
_PLAIN = ("/lib", "/usr/lib")
_OF_LIBC = (
    "/etc/ld.so.cache", "/etc/localtime", "/usr/share/zoneinfo", "/usr/lib/locale", "/usr/share/locale",
    "/sys/devices/system/cpu", "/proc/sys/vm/overcommit_memory", "/dev/null", "/dev/zero", "/dev/urandom",
    "/dev/random",
)  # fmt: skip
"""What libc reads on its own account, none of which is anybody's data."""
_NAMES = (
    "/etc/hosts", "/etc/resolv.conf", "/etc/nsswitch.conf", "/etc/host.conf", "/etc/gai.conf",
    "/etc/services", "/etc/protocols", "/etc/networks",
)  # fmt: skip
_PROGRAMS = ("/usr", "/etc/alternatives", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/nsswitch.conf")
"""What programs read to start; where system calls end, other files are still refused."""
_PLACES = ("/usr", "/bin", "/sbin", "/lib", "/lib64", "/opt")
_SHARED = ("/dev/shm", "/dev/mqueue")  # noqa: S108 - that is where shared memory is
_GPU = ("/dev/dri", "/dev/kfd", "/dev/nvidia-caps")
_GPU_READ = ("/proc/driver/nvidia", "/proc/devices", "/proc/modules", "/proc/cpuinfo", "/sys")
_OWN = ("self", "cpuinfo", "meminfo", "stat", "loadavg", "uptime", "version", "filesystems", "sys", "mounts")
_TERMINALS = ("tty", "pts", "ptmx", "console", "vcs", "hvc", "ttyS")
_RESOLVED = {"RES_OPTIONS": "single-request"}
"""Queries one by one are sent by `send`; two at once by a call whose addresses no filter can read."""


class Endpoint(NamedTuple):
    """What a socket may be connected or bound to."""

    host: str = ANY
    port: int = 0
    """0: all."""


class Grants(NamedTuple):
    """What a plugin is granted."""

    read: tuple[str, ...] = ()
    """Paths that it may read, with all below; "/" is all but other processes and devices."""
    write: tuple[str, ...] = ()
    """Paths that it may write and read."""
    execute: tuple[str, ...] = ()
    """Programs by path or name, or ANY."""
    egress: tuple[Endpoint, ...] = ()
    listen: tuple[Endpoint, ...] = ()
    local: tuple[str, ...] = ()
    """Unix sockets by path, or ANY."""
    environ: dict[str, str] = {}  # noqa: RUF012 - never changed
    """Variables that it finds in its environment."""
    kinds: tuple[str, ...] = ()
    """`process`, `gpu`, `dynload`, `code-gen`, `ipc`, `sched`."""

    def networked(self) -> bool:
        """Whether it may make sockets that leave the process."""
        return bool(self.egress or self.listen or self.local)

    def narrow(self) -> bool:
        """Whether addresses must be compared, which neither filter nor Landlock can do."""
        wide = Endpoint()
        return (
            (bool(self.egress) and wide not in self.egress)
            or (bool(self.listen) and wide not in self.listen)
            or (bool(self.local) and ANY not in self.local)
        )

    def children(self) -> bool:
        """Whether it may start processes."""
        return bool(self.execute) or "process" in self.kinds


def grants_of(held: dict[str, Any]) -> Grants:
    """The value that `_asdict` and JSON have taken apart."""
    egress, listen = (tuple(Endpoint(*one) for one in held[name]) for name in ("egress", "listen"))
    plain = {name: tuple(held[name]) for name in ("read", "write", "execute", "local", "kinds")}
    return Grants(**plain, egress=egress, listen=listen, environ=dict(held["environ"]))


class Paths(NamedTuple):
    """What the kernel is told about files."""

    read: tuple[str, ...]
    write: tuple[str, ...]
    execute: tuple[str, ...]


def paths(grants: Grants) -> Paths:
    """The files that grants make reachable, on this machine and at this moment."""
    read = [*_libraries(), *_OF_LIBC]
    write = ["/dev/null"]
    execute: list[str] = []
    if grants.egress or grants.listen:
        read += _NAMES
    if grants.execute:
        read += _PROGRAMS
        execute += [os.path.realpath(one) for one in _LINKER]
        execute += _PLACES if ANY in grants.execute else _named(grants.execute)
    if "gpu" in grants.kinds:
        write += [*_GPU, *_nvidia()]
        read += _GPU_READ
    if "ipc" in grants.kinds:
        write += _SHARED
    read += [one for path in grants.read for one in widened(path)]
    write += [one for path in grants.write for one in widened(path) if not one.startswith(("/proc/", "/sys"))]
    return Paths(tuple(read), tuple(write), tuple(execute))


def _libraries() -> tuple[str, ...]:
    """Where the loader looks; folders that hold other things as well only where there is nothing else."""
    here = tuple(one for one in _LIBRARIES if os.path.isdir(one))
    return here if len(here) > 1 else (*here, *_PLAIN)


def _nvidia() -> list[str]:
    try:
        return [f"/dev/{name}" for name in sorted(os.listdir("/dev")) if name.startswith("nvidia")]
    except OSError:
        return []


def widened(path: str) -> list[str]:
    """A granted path as the kernel is told it: above /dev and /proc, what lies there but for others' things.

    Other processes, terminals and devices are nothing that a grant of "/" means.
    """
    real = os.path.realpath(path)
    if real == "/":
        return [one for name in _listed("/") for one in widened(f"/{name}")]
    if real == "/proc":
        return [f"/proc/{name}" for name in _OWN]
    if real == "/dev":
        return [f"/dev/{name}" for name in ("null", "zero", "full", "random", "urandom", "shm")]
    return [path]


def _listed(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def is_terminal(path: str) -> bool:
    """Whether a path names a terminal, which no plugin gets."""
    real = os.path.realpath(path)
    return any(one.startswith("/dev/") and one[5:].startswith(_TERMINALS) for one in (path, real))


def _named(programs: Iterable[str]) -> Iterator[str]:
    """The files of programs, and of what interprets them."""
    for program in programs:
        found = program if "/" in program else shutil.which(program, path="/usr/local/bin:/usr/bin:/bin")
        for _ in range(4):
            if found is None:
                break
            yield found
            found = _interpreter(found)


def _interpreter(path: str) -> str | None:
    """The program of a script's first line; what `env` is to look for is that program, too."""
    try:
        with open(path, "rb") as file:
            line = file.readline(256)
    except OSError:
        return None
    words = line[2:].decode("utf-8", "replace").split() if line.startswith(b"#!") else []
    if len(words) > 1 and os.path.basename(words[0]) == "env":
        return shutil.which(words[1], path="/usr/local/bin:/usr/bin:/bin")
    return words[0] if words else None


def missing(grants: Grants) -> str:
    """The first path that it may write and that is not there, or "": only what exists can be granted."""
    return next((path for path in grants.write if not os.path.exists(path)), "")


def ports(grants: Grants) -> Ports:
    """What Landlock is told about TCP."""
    return Ports(_ports(grants.listen, ALL_PORTS.bind), _ports(grants.egress, ALL_PORTS.connect))


def _ports(ends: tuple[Endpoint, ...], every: tuple[int, ...] | None) -> tuple[int, ...] | None:
    if any(not one.port for one in ends):
        return every
    return tuple(sorted({one.port for one in ends}))


def variables(grants: Grants) -> dict[str, str]:
    """What is added to its environment."""
    return {**grants.environ, **(_RESOLVED if grants.egress and grants.narrow() else {})}
