"""Processes of runs whose executor is gone: found by what they carry, whoever is their parent now."""

from __future__ import annotations

import os
import time

from dsec import cgroups, sweep
from dsec.errors import DSecError
from dsec.record import Record
from dsec.resume import executor_lives, read_run
from dsec.rundir import RunDir
from dsec.warden import living, name_of, pids_in, remove_cgroup, sessions_of, wardens

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_RUN = b"DSEC_RUN"
_RUN_DIR = b"DSEC_RUN_DIR"
_WORK = "/work"
_COMMAND_CHARS = 200


class Orphan(Record):
    """One process that its run left behind."""

    process: sweep.Process
    command: str
    rss_bytes: int | None


class Left(Record):
    """What is left of one run."""

    run: RunDir
    why: str
    """Why it counts as left: `dead` (its executor is gone) or `lost` (its folder is gone)."""
    orphans: tuple[Orphan, ...]
    spared: frozenset[int]
    """Who is no orphan whatever it carries."""
    last: str = ""
    """The last executor of the run; "": not known."""


def find() -> list[Left]:
    """What is left of runs whose executor is gone; never this process or one that it descends from."""
    table = sweep.everyone()
    gone: list[tuple[RunDir, str, str]] = []
    carrying: list[int] = []
    for run in _runs(table):
        why, last = _gone(run, carrying)
        if why:
            gone.append((run, why, last))
    spared = spare(table, carrying)
    found = [
        Left(run, why, tuple(map(_orphan, processes_of(run, spared, last=last))), spared, last)
        for run, why, last in gone
    ]
    return [left for left in found if left.orphans]


def spare(table: Mapping[int, sweep.Process], carrying: Iterable[int]) -> frozenset[int]:
    """Who is no orphan whatever it carries: we, executors that were started in a Step, and their helpers."""
    executors = set(carrying)
    helpers = {pid for pid, process in table.items() if process.parent in executors}
    return frozenset((*sweep.ancestors(os.getpid()), *executors, *helpers))


def _runs(table: Mapping[int, sweep.Process]) -> list[RunDir]:
    """The runs that processes name in their environment."""
    runs: dict[str, RunDir] = {}
    for pid, process in table.items():
        if process.zombie:
            continue
        told = sweep.environment(pid)
        work = os.fsdecode(told.get(_RUN_DIR, b""))
        job = os.fsdecode(told.get(_RUN, b""))
        if job and work.startswith("/") and work.endswith(_WORK):
            path = work[: -len(_WORK)]
            runs[path] = RunDir(job, path)
    return [runs[path] for path in sorted(runs)]


def _gone(run: RunDir, carrying: list[int]) -> tuple[str, str]:
    """Why nobody carries the run out any more, and its last executor.

    "": somebody does (`carrying` gets it), or it cannot be told.
    """
    try:
        sessions = read_run(run).state.sessions
    except DSecError:
        # Without its journal nobody knows the executor; as long as it lives, its warden waits.
        return ("" if os.path.exists(run.journal) or wardens(run.job, run.path) else "lost"), ""
    if not sessions:
        return "", ""
    last = sessions[-1]
    if executor_lives(last):
        carrying.append(last.pid)
        return "", ""
    return "dead", name_of(last.pid, last.ticks)


def processes_of(run: RunDir, spared: frozenset[int], *, last: str) -> list[sweep.Process]:
    """Living processes of the run up to the executor `last`, less the spared ones."""
    try:
        begun = pids_in(run.journal, last=last)
    except OSError:
        begun = {}
    return living(run.job, run.path, last=last, sessions=sessions_of(begun), spare=spared)


def _orphan(process: sweep.Process) -> Orphan:
    return Orphan(process, command(process.pid), _rss_bytes(process.pid))


def command(pid: int) -> str:
    """What the process was started as, in one line that a terminal can show."""
    text = " ".join(word.decode("utf-8", "replace") for word in _words(pid) if word)
    return "".join(ch if ch.isprintable() else " " for ch in text)[:_COMMAND_CHARS]


def _words(pid: int) -> list[bytes]:
    try:
        with open(f"/proc/{pid}/cmdline", "rb", buffering=0) as file:
            return file.read(16 * 1024).split(b"\0")
    except OSError:
        return []


def _rss_bytes(pid: int) -> int | None:
    try:
        with open(f"/proc/{pid}/statm", "rb", buffering=0) as file:
            return int(file.read(256).split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError, ValueError):
        return None


def end(lefts: Iterable[Left], *, grace_s: float) -> list[sweep.Process]:
    """End all of them, by pid and start time, and what they start meanwhile; gives back who could not be.

    Only runs that still have no executor are touched: one may have been resumed since it was looked at.
    """
    asked = {left.run.path for left in lefts}
    stubborn: list[sweep.Process] = []
    for left in find():
        if left.run.path in asked:
            stubborn += _end(left, grace_s)
    return stubborn


def _end(left: Left, grace_s: float) -> list[sweep.Process]:
    stubborn = sweep.end_all(
        lambda: processes_of(left.run, left.spared, last=left.last),
        grace_s=grace_s,
        clock=time.monotonic,
        pause=time.sleep,
    )
    remove_cgroup(left.run.path, last=left.last)
    return stubborn


def empty_cgroups(environ: Mapping[bytes, bytes]) -> list[str]:
    """Cgroups of executors that are gone, where ours are made."""
    base = cgroups.delegated(environ)
    if base is None:
        return []
    found = []
    for name in sorted(os.listdir(base)):
        pid, _, ticks = name.removeprefix("dsec-").partition("-")
        if name.startswith("dsec-") and pid.isdecimal() and ticks.isdecimal():
            process = sweep.look(int(pid))
            if process is None or process.ticks != int(ticks):
                found.append(f"{base}/{name}")
    return found
