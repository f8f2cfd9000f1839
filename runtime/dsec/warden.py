"""What the warden of a run does when the executor is gone: end whatever it left behind.

The warden is a process in a session of its own that waits on a pipe whose other end only the
executor holds (`wardship.Warden`). `bye` means an orderly end. End of file without it means
that the executor was killed: then this module ends every process that this executor started, and
none of an executor that has taken the run over since. It is started as `python -I -S -E`, so it
imports little and nothing of the user's.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time

from dsec import sweep
from dsec.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

GRACE_S = 2.0


def name_of(pid: int, ticks: int) -> str:
    """What an executor is called, unique until the next boot: in DSEC_EXECUTOR and in its cgroup's name."""
    return f"{pid}-{ticks}"


def pids_in(journal: str, *, last: str = "") -> dict[int, tuple[int, int]]:
    """Attempts and workers that began and did not end: pid -> earliest and latest start time.

    `last`: nothing that an executor later than this one began. Read without `events`: this process must not
    fail on a record that it does not know.
    """
    import json

    begun: dict[int, tuple[int, int]] = {}
    begun_in = executor = ""
    instances: dict[tuple[object, object], int] = {}
    with open(journal, "rb") as file:
        for line in file:
            try:
                data = json.loads(line[18:])
                kind = data.get("event")
                if kind == "run-start":
                    if last and executor == last:
                        break
                    # Its executor had ended all of these before it went on.
                    begun, begun_in = {}, data["boot"]
                    executor = name_of(data["pid"], data["ticks"])
                elif kind == "worker-start" or (kind == "spawn" and not data["worker"]):
                    begun[data["pid"]] = (data["ticks"], data["ticks_by"])
                    instances[data.get("step"), data.get("iteration")] = data["pid"]
                elif kind == "exit":
                    begun.pop(instances.pop((data["step"], data["iteration"]), 0), None)
                elif kind == "worker-stop":
                    begun.pop(data["pid"], None)
            except (ValueError, KeyError, TypeError, AttributeError):
                continue
    mine = begun_in == sweep.boot_id() and last in ("", executor)
    return begun if mine else {}


class Successors(Record):
    """Executors that took the run over after the one whose processes are to end."""

    names: frozenset[str]
    ticks: int
    """When the first of them started: what is older is none of theirs."""


def successors(journal: str, last: str) -> Successors | None:
    """The executors after `last`; None: there are none.

    Where the journal does not know `last`, the run's folder was made anew, and all executors came after it.
    """
    import json

    later: list[tuple[int, int]] = []
    with contextlib.suppress(OSError), open(journal, "rb") as file:
        for line in file:
            if b'"run-start"' not in line:
                continue
            try:
                data = json.loads(line[18:])
                if data.get("event") == "run-start" and data["boot"] == sweep.boot_id():
                    began = (int(data["pid"]), int(data["ticks"]))
                    later = [] if name_of(*began) == last else [*later, began]
            except (ValueError, KeyError, TypeError, AttributeError):
                continue
    if not later:
        return None
    return Successors(frozenset(name_of(*one) for one in later), later[0][1])


def sessions_of(begun: dict[int, tuple[int, int]]) -> set[int]:
    """Sessions that still are the ones these processes opened.

    Where the leader is gone its pid cannot have been given away while the session has members;
    where a process of that pid started at another time, the session is a stranger's.
    """
    mine = set()
    for pid, (first, last) in begun.items():
        leader = sweep.look(pid)
        if leader is None or first <= leader.ticks <= last:
            mine.add(pid)
    return mine


def living(
    job: str, run_dir: str, *, last: str, sessions: Iterable[int], spare: Iterable[int], since: int = 0
) -> list[sweep.Process]:
    """Living processes of the run, less those of executors that came after `last` ("": there are none).

    `since`: the tick of the clock before which nothing of it was started.

    Asked in this order, because whoever takes the run over writes its record before it starts anything:
    of a process that was seen, the executor is known.
    """
    found = sweep.members(sweep.marker(job, run_dir), sessions=sessions, spare=spare, since=since)
    later = successors(f"{run_dir}/journal", last) if last and found else None
    if later is None:
        return found
    return [one for one in found if _is_older(one, later)]


def _is_older(process: sweep.Process, later: Successors) -> bool:
    """Whether a process of the run is none of these executors': by what it carries, else by its age."""
    named = sweep.environment(process.pid).get(b"DSEC_EXECUTOR")
    return process.ticks < later.ticks if named is None else os.fsdecode(named) not in later.names


def wardens(job: str, run_dir: str, *, executor: str = "") -> list[sweep.Process]:
    """The wardens of the run (of that executor) that wait or work."""
    end = [os.fsencode(word) for word in (executor, job, run_dir) if word]
    found = (
        sweep.look(int(name)) for name in os.listdir("/proc") if name.isdigit() and _is_warden(name, end)
    )
    return [one for one in found if one is not None and not one.zombie]


def _is_warden(pid: str, end: list[bytes]) -> bool:
    try:
        with open(f"/proc/{pid}/cmdline", "rb", buffering=0) as file:
            words = file.read(16 * 1024).split(b"\0")
    except OSError:
        return False
    named = any(b"dsec-warden" in word or b"dsec.warden" in word for word in words[:-3])
    return named and words[-1 - len(end) : -1] == end


def end_run(
    job: str, run_dir: str, *, grace_s: float, spare: tuple[int, ...] = (), executor: str = ""
) -> list[sweep.Process]:
    """End every process of the run; gives back those that could not be ended.

    `executor`: those that this one started; "": all of them, for the caller holds the journal.
    """
    since = int(executor.partition("-")[2] or 0)
    try:
        begun = pids_in(f"{run_dir}/journal", last=executor)
    except OSError:
        begun = {}
    spared = (os.getpid(), *spare)
    left = sweep.end_all(
        lambda: living(job, run_dir, last=executor, sessions=sessions_of(begun), spare=spared, since=since),
        grace_s=grace_s,
        clock=time.monotonic,
        pause=time.sleep,
    )
    remove_cgroup(run_dir, last=executor)
    return left


def remove_cgroup(run_dir: str, *, last: str) -> None:
    """Remove the part of the cgroup tree that an executor made, with whatever hides in it."""
    if os.path.exists(f"{run_dir}/cgroup"):
        from dsec import cgroups

        path = cgroups.noted(run_dir)
        if path is not None and (not last or path.endswith(f"/dsec-{last}")):
            cgroups.remove(path)


def main(argv: list[str]) -> int:
    """`EXECUTOR JOB RUN_DIR`: end the processes of that executor; 1 when some could not be ended."""
    executor, job, run_dir = argv
    return 1 if end_run(job, run_dir, grace_s=GRACE_S, executor=executor) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
