"""A run's part of the cgroup v2 tree, where one was delegated to it: made, limited, ended, removed.

One folder per executor, `dsec-PID-TICKS`, and in it one per attempt that is bounded. The folder is
noted in the run's own before it is made, so that whoever clears up after a killed executor finds it.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time

from dsec.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

WANTED = ("memory", "pids", "cpu")
NOTE = "cgroup"
"""File in a run's folder that names its part of the tree."""
_PREFIX = "dsec-"
_ROOM = "executor"
_PATIENCE_S = 2.0
"""How long killed processes may take to leave their cgroup."""


class Limits(Record):
    """What an attempt's cgroup is given; None: no limit of that kind."""

    memory_bytes: int | None
    pids: int | None
    cpu_weight: int | None
    """100 for each core that the Step states: only who wants more than there is feels it."""


class Tree:
    """This executor's part of the tree."""

    def __init__(self, path: str, home: str, controllers: frozenset[str]) -> None:
        """`home`: the cgroup that the executor is in."""
        self.path = path
        self.controllers = controllers
        self._home = home
        self._serial = 0

    def enter(self) -> str:
        """Be in a new cgroup, so that what is started now is born in it; raises OSError.

        A child that is moved later may have left children of its own elsewhere by then.
        """
        self._serial += 1
        path = f"{self.path}/{self._serial}"
        os.mkdir(path)
        try:
            write(f"{path}/cgroup.procs", "0")
        except OSError:
            with contextlib.suppress(OSError):
                os.rmdir(path)
            raise
        return path

    def leave(self) -> None:
        """Be where the executor was before; raises OSError."""
        write(f"{self._home}/cgroup.procs", "0")

    def limit(self, path: str, limits: Limits) -> None:
        """Limit the cgroup, as far as the kernel lets us: not before the executor left it."""
        for name, value in _settings(limits, self.controllers):
            with contextlib.suppress(OSError):  # built without (swap, OOM groups)
                write(f"{path}/{name}", value)

    def close(self) -> bool:
        """Remove what was made; whether all of it is gone."""
        for name in os.listdir(self.path):
            if name.isdecimal():
                remove(f"{self.path}/{name}")
        _move_out(self.path)
        return _gone(self.path)


def _settings(limits: Limits, controllers: frozenset[str]) -> list[tuple[str, str]]:
    settings: list[tuple[str, str]] = []
    if limits.memory_bytes is not None and "memory" in controllers:
        settings += [
            ("memory.max", str(limits.memory_bytes)),
            ("memory.swap.max", "0"),
            ("memory.oom.group", "1"),
        ]
    if limits.pids is not None and "pids" in controllers:
        settings.append(("pids.max", str(limits.pids)))
    if limits.cpu_weight is not None and "cpu" in controllers:
        settings.append(("cpu.weight", str(max(1, min(10_000, limits.cpu_weight)))))
    return settings


def write(path: str, value: str) -> None:
    """Set a file of the tree; raises OSError."""
    fd = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(fd, value.encode())
    finally:
        os.close(fd)


def oom_kills(path: str) -> int:
    """How many processes of the cgroup the kernel ended for want of memory."""
    try:
        with open(f"{path}/memory.events", encoding="ascii") as file:
            counts = dict(line.split() for line in file)
        return int(counts.get("oom_kill", "0"))
    except (OSError, ValueError):
        return 0


def remove(path: str) -> bool:
    """End every process in the cgroup and below, and remove it; whether it is gone."""
    _move_out(path)
    until = time.monotonic() + _PATIENCE_S
    wait = 0.001
    while True:
        _kill(path)
        if _gone(path):
            return True
        if time.monotonic() > until:
            return False
        time.sleep(wait)
        wait = min(wait * 2, 0.05)


def _move_out(path: str) -> None:
    """Bring back the processes that made room (`_make_room`): nothing is handed down here any more."""
    inside = f"{path}/{_ROOM}"
    if not os.path.isdir(inside):
        return
    base = os.path.dirname(path)
    for folder in (path, base):  # what a child hands down cannot be taken from it
        for name in _words(f"{folder}/cgroup.subtree_control"):
            with contextlib.suppress(OSError):
                write(f"{folder}/cgroup.subtree_control", f"-{name}")
    for pid in map(int, _words(f"{inside}/cgroup.procs")):
        with contextlib.suppress(OSError):
            write(f"{base}/cgroup.procs", str(pid))


def _gone(path: str) -> bool:
    """Whether the folder is gone, its subfolders first."""
    for folder, _, _ in os.walk(path, topdown=False):
        try:
            os.rmdir(folder)
        except FileNotFoundError:
            continue
        except OSError:
            return False
    return True


def _kill(path: str) -> None:
    """KILL to every process in the cgroup and below; never to this one."""
    try:
        inside = members(path)
    except OSError:
        return
    if os.getpid() not in inside:
        with contextlib.suppress(OSError):
            write(f"{path}/cgroup.kill", "1")
            return
    for pid in inside:
        if pid != os.getpid():
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)


def members(path: str) -> list[int]:
    """Processes in the cgroup and below; raises OSError."""
    found: list[int] = []
    for folder, _, _ in os.walk(path):
        with open(f"{folder}/cgroup.procs", encoding="ascii") as file:
            found += [int(line) for line in file]
    return found


def make(note: str, *, pid: int, ticks: int, environ: Mapping[bytes, bytes]) -> Tree | None:
    """This executor's part of the tree, noted in the file `note`; None: none was delegated to it."""
    base = delegated(environ)
    if base is None:
        return None
    path = f"{base}/{_PREFIX}{pid}-{ticks}"
    try:
        with open(note, "w", encoding="utf-8") as file:
            file.write(path + "\n")
        os.mkdir(path)
        controllers = _enabled(base, path, pid)
        home = _own()
        if home is not None and os.access(f"{home}/cgroup.procs", os.W_OK):
            return Tree(path, home, controllers)
        remove(path)
        return None
    except OSError:
        _move_out(path)
        _gone(path)
        return None


def _enabled(base: str, path: str, pid: int) -> frozenset[str]:
    """The wanted controllers that attempts can be given."""
    wanted = [name for name in WANTED if name in _words(f"{base}/cgroup.controllers")]
    missing = [name for name in wanted if name not in _words(f"{base}/cgroup.subtree_control")]
    if missing and _empty(base, f"{path}/{_ROOM}", pid):
        _hand_down(base, missing)
    given = [name for name in wanted if name in _words(f"{base}/cgroup.subtree_control")]
    _hand_down(path, given)
    return frozenset(_words(f"{path}/cgroup.subtree_control"))


def _hand_down(path: str, controllers: Sequence[str]) -> None:
    for name in controllers:
        with contextlib.suppress(OSError):
            write(f"{path}/cgroup.subtree_control", f"+{name}")


def _empty(base: str, into: str, pid: int) -> bool:
    """Whether no process is in the cgroup itself, once those made room that are ours; raises OSError.

    Where processes are, the memory controller cannot be handed down, and each other one that can makes
    the cgroup a threaded one: nothing of ours could live below it.
    """
    if not os.path.exists(f"{base}/cgroup.type"):  # the root of the tree, which may have both
        return True
    if not _words(f"{base}/cgroup.procs"):
        return True
    _make_room(base, into, pid)
    return not _words(f"{base}/cgroup.procs")


def _make_room(base: str, into: str, pid: int) -> None:
    from dsec.sweep import look

    with open(f"{base}/cgroup.procs", encoding="ascii") as file:
        inside = [int(line) for line in file]
    parents = [one.parent if (one := look(other)) else pid for other in inside]
    if any(pid not in (other, parent) for other, parent in zip(inside, parents, strict=True)):
        return
    os.mkdir(into)
    for other in inside:
        with contextlib.suppress(ProcessLookupError):
            write(f"{into}/cgroup.procs", str(other))


def _words(path: str) -> list[str]:
    try:
        with open(path, encoding="ascii") as file:
            return file.read().split()
    except OSError:
        return []


def delegated(environ: Mapping[bytes, bytes]) -> str | None:
    """The folder of the tree that is ours to work in; None: none is.

    `DSEC_CGROUP` names one (`off`: none). Else it is the one that this process is in, where we may
    write; as root only when its delegation is marked, for root may write everywhere.
    """
    named = environ.get(b"DSEC_CGROUP", b"")
    if named == b"off":
        return None
    base = os.fsdecode(named) or _own()
    if not base or not os.path.isfile(f"{base}/cgroup.procs"):
        return None
    if not (os.access(base, os.W_OK) and os.access(f"{base}/cgroup.procs", os.W_OK)):
        return None
    return base if named or os.geteuid() or _marked(base) else None


def _marked(path: str) -> bool:
    for name in ("trusted.delegate", "user.delegate"):
        with contextlib.suppress(OSError):
            if os.getxattr(path, name) == b"1":
                return True
    return False


def _own() -> str | None:
    """The cgroup v2 folder that this process is in."""
    try:
        with open("/proc/self/cgroup", encoding="utf-8") as file:
            paths = [line[3:].strip() for line in file if line.startswith("0::")]
        with open("/proc/self/mountinfo", encoding="utf-8") as file:
            mounts = [line.split() for line in file if " - cgroup2 " in line]
    except OSError:
        return None
    if not paths or not mounts:
        return None
    root, point = mounts[0][3], mounts[0][4]
    inside = os.path.relpath(paths[0], root) if root != "/" else paths[0].lstrip("/")
    return None if inside.startswith("..") else os.path.normpath(os.path.join(point, inside))


def noted(run_dir: str) -> str | None:
    """The part of the tree that an executor of the run made and that is still there."""
    try:
        with open(f"{run_dir}/{NOTE}", encoding="utf-8") as file:
            path = file.read().strip()
    except (OSError, ValueError):
        return None
    name = os.path.basename(path)
    ours = name.startswith(_PREFIX) and name[len(_PREFIX) :].replace("-", "", 1).isdecimal()
    return path if ours and os.path.isfile(f"{path}/cgroup.procs") else None
