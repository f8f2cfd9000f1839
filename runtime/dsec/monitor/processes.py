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


class Seen(Record):
    """One process at one time."""

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


def table() -> dict[int, Seen]:
    """Every process that can be seen."""
    found: dict[int, Seen] = {}
    for name in os.listdir("/proc"):
        if name.isdigit() and (one := look(int(name))) is not None:
            found[one.pid] = one
    return found


def look(pid: int) -> Seen | None:
    """The process `pid`; None: there is none (any more)."""
    try:
        with open(f"/proc/{pid}/stat", "rb", buffering=0) as file:
            text = file.read(4096)
        with open(f"/proc/{pid}/statm", "rb", buffering=0) as file:
            pages = file.read(256).split()
    except OSError:
        return None
    words = text[text.rfind(b")") + 2 :].split()
    if len(words) < 20 or len(pages) < 3:
        return None
    cpu = sum(map(int, words[11:15])) * 1_000_000 // _HERTZ
    return Seen(
        pid,
        int(words[1]),
        int(words[3]),
        int(words[19]),
        cpu,
        int(pages[1]) * _PAGE,
        int(pages[2]) * _PAGE,
        words[0].decode(),
    )


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

    def members(self, watched: Iterable[Watched], processes: dict[int, Seen]) -> list[list[Seen]]:
        """For each watched attempt its living processes."""
        every = list(watched)
        places = _Places(
            {one.pid: at for at, one in enumerate(every)},
            {(one.step, str(one.iteration), str(one.attempt)): at for at, one in enumerate(every)},
        )
        found: list[list[Seen]] = [[] for _ in every]
        known: dict[int, int] = {}
        for seen in processes.values():
            at = _by_descent(seen, places.owner, processes, known)
            if at < 0:
                at = self._named(seen, places.named)
            if at >= 0 and seen.state not in "ZX":
                found[at].append(seen)
        self._strays = {key: value for key, value in self._strays.items() if key[0] in processes}
        return found

    def _named(self, seen: Seen, named: dict[tuple[str, str, str], int]) -> int:
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


def _by_descent(seen: Seen, owner: dict[int, int], processes: dict[int, Seen], known: dict[int, int]) -> int:
    """The attempt in whose session the process or an ancestor of it is; -1: none. `known`: those so far."""
    way: list[int] = []
    at = -1
    one: Seen | None = seen
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
