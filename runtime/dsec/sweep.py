"""Finding and ending every process of a run, however it tried to leave.

A process belongs to a run when it carries the run's marker in its environment, writes to one of
its logs, sits in the session of one of its attempts, or descends from one that does. A process
is always named by pid and start time, because pids are reused.
"""

from __future__ import annotations

import contextlib
import os
import signal

from dsec.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


PATIENCE_S = 30.0
"""How long after the grace a process may resist KILL before it is given up."""


class Process(Record):
    """A process as /proc shows it."""

    pid: int
    ticks: int
    """Start time in clock ticks since boot: with the pid, unique until the next boot."""
    parent: int
    session: int
    zombie: bool


class Marker(Record):
    """What every process of a run carries."""

    environment: frozenset[bytes]
    """`KEY=value` entries, all of which must be there."""
    logs: str
    """Folder of the run's logs, absolute."""


def marker(job: str, run_dir: str) -> Marker:
    """The marker of the run `job`; the folder tells runs of one name apart."""
    entries = (f"DSEC_RUN={job}", f"DSEC_RUN_DIR={run_dir}/work")
    return Marker(
        frozenset(entry.encode("utf-8", "surrogateescape") for entry in entries), f"{run_dir}/logs/"
    )


def boot_id() -> str:
    """Names this boot of the machine; pids of another boot mean nothing."""
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        return file.read().strip()


def oom_kills() -> int | None:
    """How many processes this machine's kernel ended for want of memory since it started; None: unknown."""
    try:
        with open("/proc/vmstat", "rb", buffering=0) as file:
            text = file.read(64 * 1024)
    except OSError:
        return None
    _, mark, rest = text.partition(b"\noom_kill ")
    return int(rest.split(b"\n", 1)[0]) if mark else None


def look(pid: int) -> Process | None:
    """The process (or thread) `pid`; None: there is none."""
    try:
        with open(f"/proc/{pid}/stat", "rb", buffering=0) as file:
            text = file.read(4096)
    except OSError:
        return None
    words = text[text.rfind(b")") + 2 :].split()
    return Process(pid, int(words[19]), int(words[1]), int(words[3]), words[0] in (b"Z", b"X"))


def everyone() -> dict[int, Process]:
    """Every process that can be seen, by pid."""
    found = (look(int(name)) for name in os.listdir("/proc") if name.isdigit())
    return {process.pid: process for process in found if process is not None}


def ancestors(pid: int) -> list[int]:
    """The process and all above it."""
    way = [pid]
    while (one := look(way[-1])) is not None and one.parent > 0:
        way.append(one.parent)
    return way


def carries(pid: int, sign: Marker) -> bool:
    """Whether `pid` has the marker in its environment or writes to a log of the run."""
    if sign.environment:  # an empty one would be everybody's
        with contextlib.suppress(OSError), open(f"/proc/{pid}/environ", "rb", buffering=0) as file:
            if sign.environment <= set(file.read().split(b"\0")):
                return True
    for fd in (1, 2):
        with contextlib.suppress(OSError):
            if sign.logs and os.readlink(f"/proc/{pid}/fd/{fd}").startswith(sign.logs):
                return True
    return False


def environment(pid: int) -> dict[bytes, bytes]:
    """The environment `pid` began with; empty where it cannot be read."""
    try:
        with open(f"/proc/{pid}/environ", "rb", buffering=0) as file:
            entries = file.read().split(b"\0")
    except OSError:
        return {}
    return dict(entry.split(b"=", 1) for entry in entries if b"=" in entry)


def members(
    sign: Marker,
    *,
    sessions: Iterable[int],
    spare: Iterable[int],
    children_of: int = 0,
    since: int = 0,
) -> list[Process]:
    """Living processes of the run; `spare` (the executor, the warden) is never in it.

    `children_of`: every child of this process that is not spared is one, too. `since`: who started before
    this tick of the clock was there before the run, and costs no look at its environment.
    """
    table = everyone()
    spared = set(spare)
    inside = set(sessions)
    chosen = {
        pid
        for pid, process in table.items()
        if pid not in spared
        and not process.zombie
        and (
            process.session in inside
            or (process.parent == children_of and children_of)
            or (process.ticks >= since and carries(pid, sign))
        )
    }
    grown = len(chosen)
    while grown:
        more = {pid for pid, process in table.items() if process.parent in chosen} - chosen - spared
        chosen |= more
        grown = len(more)
    return [table[pid] for pid in sorted(chosen) if not table[pid].zombie]


def send(process: Process, number: int) -> None:
    """Signal exactly this process: a pid that meanwhile belongs to another one is left alone."""
    try:
        fd = os.pidfd_open(process.pid)
    except OSError:
        return
    try:
        now = look(process.pid)
        if now is not None and now.ticks == process.ticks:
            signal.pidfd_send_signal(fd, number)
    except OSError:
        return
    finally:
        os.close(fd)


def end_all(
    find: Callable[[], list[Process]],
    *,
    grace_s: float,
    clock: Callable[[], float],
    pause: Callable[[float], object],
    times: int = 3,
) -> list[Process]:
    """TERM, then after `grace_s` KILL, until `find` finds nobody; gives back who could not be ended.

    Nobody must be found `times` times in a row, and three times once somebody was found: a process
    that forks and dies while /proc is being listed hides its child from the list.
    """
    begun = clock()
    told: set[tuple[int, int]] = set()
    wait = 0.002
    empty = 3 - times
    while True:
        alive = find()
        passed = clock() - begun
        empty = 0 if alive else empty + 1
        if empty > 2 or passed > grace_s + PATIENCE_S:
            return alive
        for process in alive:
            if passed >= grace_s:
                send(process, signal.SIGKILL)
            elif (process.pid, process.ticks) not in told:
                told.add((process.pid, process.ticks))
                send(process, signal.SIGTERM)
                send(process, signal.SIGCONT)  # a stopped process cannot heed TERM
        pause(min(wait, max(0.002, grace_s - passed)) if passed < grace_s else wait)
        wait = min(wait * 1.5, 0.1)
