"""Failures that mean only that this process may have no more: memory, threads, processes, open files.

They come as many exceptions, also from deep within libraries, and never mean a bug of ours.
"""

from __future__ import annotations

import errno
import resource

from dsec.words import say

_MEMORY = (
    "memoryerror",
    "cannot allocate memory",
    "failed to map segment",
    "out of memory",
    "can't allocate",
    "unable to allocate",
)
_STARTS = ("can't start new thread", "can't start new process", "resource temporarily unavailable")
_FILES = ("too many open files",)
_DEEP = 20


def shortage(problem: BaseException) -> tuple[str, str] | None:
    """What there was too little of and how to have more; None: the failure is another one."""
    found, seen = [problem], 0
    while found and seen < _DEEP:
        one, seen = found.pop(), seen + 1
        if (said := _of_one(one)) is not None:
            return said
        found += [cause for cause in (one.__cause__, one.__context__) if cause is not None]
        found += list(getattr(one, "exceptions", ()))[:_DEEP]
    return None


def _of_one(problem: BaseException) -> tuple[str, str] | None:
    number = problem.errno if isinstance(problem, OSError) else None
    text = str(problem).lower()
    if isinstance(problem, MemoryError) or number == errno.ENOMEM:
        return _memory()
    if number in (errno.EMFILE, errno.ENFILE):
        return _files()
    if number == errno.EAGAIN and not getattr(problem, "filename", None):
        return _starts()
    if not isinstance(problem, (ImportError, RuntimeError, SystemError)):
        return None
    if any(word in text for word in _FILES):
        return _files()
    if any(word in text for word in _STARTS):
        return _starts()
    return _memory() if any(word in text for word in _MEMORY) else None


def _memory() -> tuple[str, str]:
    return say("out of memory"), say("free some memory, or raise the limit (ulimit -v)")


def _files() -> tuple[str, str]:
    return say("too many open files"), say("close some, or raise the limit (ulimit -n)")


def _starts() -> tuple[str, str]:
    """A new thread needs memory for its stack as well as a place among this user's processes."""
    if resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY:
        what = say("no further thread or process can be started: memory is limited (ulimit -v)")
        return what, say("raise the limit (ulimit -v), or that of processes (ulimit -u)")
    what = say("no further thread or process can be started: this user may have no more")
    return what, say("end some, or raise the limit (ulimit -u, TasksMax= of the service, --pids-limit)")


def reraise(stderr: bytes) -> None:
    """Raise what a process of ours says that it died of, where that was a shortage."""
    text = stderr[-4000:].decode(errors="replace").lower()
    if any(word in text for word in _FILES):
        raise OSError(errno.EMFILE, "too many open files")
    if any(word in text for word in _STARTS):
        raise RuntimeError("can't start new thread")
    if any(word in text for word in _MEMORY):
        raise MemoryError
