"""The processes of attempts, from /proc: who belongs to which, and what they use."""

from __future__ import annotations

import os

from dsec.record import Record
from dsec.sweep import environment

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from dsec.monitor.running import Watched

_PAGE = os.sysconf("SC_PAGE_SIZE")
_HERTZ = os.sysconf("SC_CLK_TCK")


class Listed(Record):
    """One process among all of the machine."""

    pid: int
    parent: int
    session: int
    ticks: int
    """Start time in clock ticks since boot."""
    cpu_us: int
    """User and system time so far, ended children included."""
    state: str


class Seen(Record):
    """One process of an attempt at one time."""

    pid: int
    parent: int
    session: int
    ticks: int
    """Start time in clock ticks since boot."""
    cpu_us: int
    """User and system time so far, ended children included."""
    rss_bytes: int
    shared_bytes: int
    """The part of `rss_bytes` that others may map, too."""
    state: str


class Usage(Record):
    """All processes of one attempt at one time."""

    pids: tuple[int, ...]
    rss_bytes: int
    """What each has for itself, and the largest shared part once: shared pages are not told apart."""
    cpu_us: int
    states: str
    """One letter per process, as /proc/PID/stat has them."""


def table() -> dict[int, Listed]:
    """Every process that can be seen."""
    found: dict[int, Listed] = {}
    for name in os.listdir("/proc"):
        if name.isdigit() and (words := _stat(name)) is not None:
            pid, cpu = int(name), sum(map(int, words[11:15])) * 1_000_000 // _HERTZ
            state, parent, session, ticks = words[0].decode(), int(words[1]), int(words[3]), int(words[19])
            found[pid] = Listed._make((pid, parent, session, ticks, cpu, state))
    return found


def _stat(pid: str) -> list[bytes] | None:
    """What the kernel says of a process behind its name; None: there is none (any more)."""
    text = _text(f"/proc/{pid}/stat")
    words = text[text.rfind(b")") + 2 :].split()
    return words if len(words) > 19 else None


def _text(path: str) -> bytes:
    """A short file of the kernel's; empty where it is gone. A file object would take twice the time."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        return os.read(handle, 4096)
    except OSError:
        return b""
    finally:
        os.close(handle)


def weighed(processes: Iterable[Listed]) -> tuple[Seen, ...]:
    """These with their memory, which is not looked at for all of the machine; who is gone is left out."""
    found = []
    for one in processes:
        pages = _text(f"/proc/{one.pid}/statm").split()
        if len(pages) > 2:
            *who, state = one
            found.append(Seen._make((*who, int(pages[1]) * _PAGE, int(pages[2]) * _PAGE, state)))
    return tuple(found)


class _Places(Record):
    """Where in a list the attempt stands that a process belongs to."""

    owner: dict[int, int]
    """By pid of the attempt's first process, which is its session's number, too."""
    named: dict[tuple[str, str, str], int]


class Kin:
    """Tells which process belongs to which attempt, also those that left its session."""

    def __init__(self, run_dir: str) -> None:
        self._work = os.fsencode(f"{run_dir}/work")
        """Names the run; jobs of one name may run in several folders."""
        self._strays: dict[tuple[int, int], tuple[str, str, str] | None] = {}
        """By pid and start time: Step, iteration and attempt that the environment of a process names."""

    def members(self, watched: Iterable[Watched], processes: dict[int, Listed]) -> list[list[Listed]]:
        """For each watched attempt its living processes."""
        every = list(watched)
        places = _Places(
            {one.pid: at for at, one in enumerate(every)},
            {(one.step, str(one.iteration), str(one.attempt)): at for at, one in enumerate(every)},
        )
        since = min((_began(one, processes) for one in every), default=0)
        found: list[list[Listed]] = [[] for _ in every]
        known: dict[int, int] = {}
        for one in processes.values():
            at = _by_descent(one, places.owner, processes, known)
            if at < 0 and one.ticks >= since:
                at = self._named(one, places.named)
            if at >= 0 and one.state not in "ZX":
                found[at].append(one)
        self._strays = {key: value for key, value in self._strays.items() if key[0] in processes}
        return found

    def _named(self, seen: Listed, named: dict[tuple[str, str, str], int]) -> int:
        key = (seen.pid, seen.ticks)
        if key not in self._strays:
            told = environment(seen.pid)
            mine = told.get(b"DSEC_RUN_DIR") == self._work
            names = (b"DSEC_STEP", b"DSEC_ITERATION", b"DSEC_ATTEMPT")
            parts = [told.get(name, b"").decode(errors="replace") for name in names]
            self._strays[key] = (parts[0], parts[1], parts[2]) if mine else None
        what = self._strays[key]
        return -1 if what is None else named.get(what, -1)


def usage(members: Iterable[Seen]) -> Usage:
    """What these processes use together."""
    every = sorted(members)
    shared = max((one.shared_bytes for one in every), default=0)
    own = sum(max(0, one.rss_bytes - one.shared_bytes) for one in every)
    return Usage(
        tuple(one.pid for one in every),
        own + shared,
        sum(one.cpu_us for one in every),
        "".join(one.state for one in every),
    )


def _began(watched: Watched, processes: dict[int, Listed]) -> int:
    """No process of the attempt is older than this; 0: not known, for its first one has ended."""
    first = processes.get(watched.pid)
    return first.ticks if first is not None and first.ticks <= watched.ticks_by else 0


def _by_descent(
    seen: Listed, owner: dict[int, int], processes: dict[int, Listed], known: dict[int, int]
) -> int:
    """The attempt in whose session the process or an ancestor of it is; -1: none. `known`: those so far."""
    way: list[int] = []
    at = -1
    one: Listed | None = seen
    while one is not None and one.pid not in known:
        way.append(one.pid)
        at = owner.get(one.session, owner.get(one.pid, -1))
        if at >= 0 or one.parent <= 1:
            break
        one = processes.get(one.parent)
    else:
        at = -1 if one is None else known[one.pid]
    for pid in way:
        known[pid] = at
    return at
