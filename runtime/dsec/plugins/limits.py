"""What a plugin may take of the machine, and how its process is kept to it."""

from __future__ import annotations

import resource

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

DEFAULTS = {"cpu_s": 60, "memory": 1 << 30, "file_bytes": 1 << 30, "files": 256, "tasks": 64}
"""`cpu_s`: processor time of all its calls; `memory`: bytes of address space above what its process has
before the plugin is loaded; `file_bytes`: of one file that it writes; `files`: open at once; `tasks`:
processes and threads more than the machine has now (root is free of this one). Without a name: no limit."""
_MOST = 1 << 62
_PLAIN = {"file_bytes": resource.RLIMIT_FSIZE, "files": resource.RLIMIT_NOFILE}


def keep_to(limits: Mapping[str, int]) -> None:
    """Limit this process for good; raises OSError, ValueError for a limit that is none."""
    for name, value in limits.items():
        if name == "cpu_s":
            _limit(resource.RLIMIT_CPU, value, value + 1)  # at the lower one its end can be told from others
        elif name == "memory":
            _limit(resource.RLIMIT_AS, value + _mapped())
        elif name == "tasks":
            _limit(resource.RLIMIT_NPROC, value + _running())
        else:
            _limit(_PLAIN[name], value)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _limit(kind: int, soft: int, hard: int | None = None) -> None:
    _, most = resource.getrlimit(kind)
    wanted = min(soft if hard is None else hard, _MOST)
    hard = wanted if most == resource.RLIM_INFINITY else min(wanted, most)
    resource.setrlimit(kind, (min(soft, hard), hard))


def _mapped() -> int:
    with open("/proc/self/statm", "rb") as file:
        return int(file.read().split()[0]) * resource.getpagesize()


def _running() -> int:
    """Processes and threads of the machine; those of this user, which are what counts, are no more."""
    with open("/proc/loadavg", "rb") as file:
        return int(file.read().split()[3].split(b"/")[1])
