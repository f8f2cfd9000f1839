"""Why an attempt failed, looked for once, after it did: in its log, its cgroup and the kernel's counters."""

from __future__ import annotations

import os
import signal

from dsec.core.marks import cause_in
from dsec.launch import log_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec.answers import Answer
    from dsec.attempts import Attempt
    from dsec.processes import Ended

TAIL_BYTES = 64 * 1024
_KILLED = 128 + signal.SIGKILL
"""What a shell exits with when the program it ran was killed."""


def tail_of(log: str, *, end: int | None = None) -> bytes:
    """The last part of a log, up to byte `end`; empty where it cannot be read."""
    try:
        with open(log, "rb") as file:
            size = os.fstat(file.fileno()).st_size if end is None else end
            start = max(0, size - TAIL_BYTES)
            file.seek(start)
            return file.read(size - start)
    except OSError:
        return b""


def named(tail: bytes, *, ended: Ended | None, detail: str, ooms: int | None) -> tuple[str, str] | None:
    """Cause and detail of an unclear end; None: nothing says more than how it ended.

    `ooms`: how many processes the kernel ended for want of memory since the run began; None: unknown.
    """
    found = cause_in(b"%b\n%b" % (tail, detail.encode("utf-8", "replace")))
    if found is not None:
        return found
    if ended is not None and ooms and (ended.signal == signal.SIGKILL or ended.code == _KILLED):
        return "host-oom", "the kernel ended a process for want of memory"
    return None


def why_failed(
    attempt: Attempt,
    run_path: str,
    *,
    ooms: int | None,
    limit: int,
    ended: Ended | None,
    answer: Answer | None,
) -> tuple[str, str] | None:
    """Cause and detail of an attempt that ended in an unclear way; None: nothing says why.

    `ooms` as in `named`. `limit`: its cgroup's limit if the kernel ended it there, else 0.
    """
    if limit:
        return "over-memory", f"its cgroup's limit is {limit / 2**20:.0f} MiB"
    log = log_name(attempt.step.id, iteration=attempt.iteration, attempt=attempt.number)
    if answer is None or answer.log_from is None or answer.log_to is None:
        tail = tail_of(f"{run_path}/{log}") if attempt.worker is None else b""
    else:
        tail = tail_of(f"{run_path}/{attempt.worker.log}", end=answer.log_to) if attempt.worker else b""
        tail = tail[max(0, len(tail) - (answer.log_to - answer.log_from)) :]
    found = named(tail, ended=ended, detail="" if answer is None else answer.detail, ooms=ooms)
    return found or full_disk(f"{run_path}/logs")


def full_disk(folder: str) -> tuple[str, str] | None:
    """Cause and detail where the disk of the logs is full: what would say so could not be written."""
    try:
        disk = os.statvfs(folder)
    except OSError:
        return None
    free = disk.f_bfree if os.geteuid() == 0 else disk.f_bavail
    if disk.f_blocks and not free:
        return "disk-full", f"nothing is free on the disk of {folder}"
    return None
