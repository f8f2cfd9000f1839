"""What the warden of a run does when the executor is gone: end whatever it left behind.

The warden is a process in a session of its own that waits on a pipe whose other end only the
executor holds (`wardship.Warden`). `bye` means an orderly end. End of file without it means
that the executor was killed: then this module ends every process of the run. It is started as
`python -I -S -E`, so it imports little and nothing of the user's.
"""

from __future__ import annotations

import os
import sys
import time

from dsec import sweep

GRACE_S = 2.0


def pids_in(journal: str) -> dict[int, tuple[int, int]]:
    """Attempts and workers that began and did not end: pid -> earliest and latest start time.

    Read without `events`: this process must not fail on a record that it does not know.
    """
    import json

    begun: dict[int, tuple[int, int]] = {}
    begun_in = ""
    instances: dict[tuple[object, object], int] = {}
    with open(journal, "rb") as file:
        for line in file:
            try:
                data = json.loads(line[18:])
                kind = data.get("event")
                if kind == "run-start":
                    # Its executor had ended all of these before it went on.
                    begun, begun_in = {}, data["boot"]
                elif kind == "worker-start" or (kind == "spawn" and not data["worker"]):
                    begun[data["pid"]] = (data["ticks"], data["ticks_by"])
                    instances[data.get("step"), data.get("iteration")] = data["pid"]
                elif kind == "exit":
                    begun.pop(instances.pop((data["step"], data["iteration"]), 0), None)
                elif kind == "worker-stop":
                    begun.pop(data["pid"], None)
            except (ValueError, KeyError, AttributeError):
                continue
    return begun if begun_in == sweep.boot_id() else {}


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


def end_run(job: str, run_dir: str, *, grace_s: float, spare: tuple[int, ...] = ()) -> list[sweep.Process]:
    """End every process of the run; gives back those that could not be ended."""
    try:
        begun = pids_in(f"{run_dir}/journal")
    except OSError:
        begun = {}
    sign = sweep.marker(job, run_dir)
    spared = (os.getpid(), *spare)
    left = sweep.end_all(
        lambda: sweep.members(sign, sessions=sessions_of(begun), spare=spared),
        grace_s=grace_s,
        clock=time.monotonic,
        pause=time.sleep,
    )
    _remove_cgroup(run_dir)
    return left


def _remove_cgroup(run_dir: str) -> None:
    """Remove the part of the cgroup tree that an executor made, with whatever hides in it."""
    if os.path.exists(f"{run_dir}/cgroup"):
        from dsec import cgroups

        path = cgroups.noted(run_dir)
        if path is not None:
            cgroups.remove(path)


def main(argv: list[str]) -> int:
    """`JOB RUN_DIR`: end the run's processes; 1 when some could not be ended."""
    job, run_dir = argv
    return 1 if end_run(job, run_dir, grace_s=GRACE_S) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
