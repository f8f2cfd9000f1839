"""Why an attempt failed, looked for once, after it did: in its log, its cgroup and the kernel's counters."""

from __future__ import annotations

import os
import signal

from dsec.core.marks import cause_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec.processes import Ended

UNCLEAR = frozenset(("exit", "signal", "raised", "worker-lost"))
"""Causes that say how an attempt ended, not why."""
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


def oom_kills() -> int | None:
    """How many processes this machine's kernel ended for want of memory since it started; None: unknown."""
    try:
        with open("/proc/vmstat", "rb", buffering=0) as file:
            text = file.read(64 * 1024)
    except OSError:
        return None
    _, mark, rest = text.partition(b"\noom_kill ")
    return int(rest.split(b"\n", 1)[0]) if mark else None


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
