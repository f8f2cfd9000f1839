"""Starts a process that rides beside an executor: as a copy of it, or as an interpreter of its own.

A copy has the modules and the plan already, which an interpreter would have to load and to read again: of the
processor time of a run of 1,000 short Steps with a monitor and a file of metrics that was 6 %. Steps are
never started so: a copy is for what is ours.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import gc
import importlib
import os
import signal
import sys

from dsec.interpreter import APART, import_path
from dsec.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import NoReturn

    from dsec.plan import Plan

_PR_SET_NAME = 15
_FIRST = 3
_HIGH = 10
"""Beyond what the handles become: none is overwritten before it is in its place."""
_APPENDING = os.O_WRONLY | os.O_CREAT | os.O_APPEND
_KEPT = (signal.SIGPIPE, signal.SIGXFSZ)
"""Ignored in every interpreter."""


class Outrider(Record):
    """What to start."""

    module: str
    """Its `main` takes the arguments, and the plan where it has it already."""
    name: str
    """What a list of processes calls a copy, at most 15 letters."""
    argv: tuple[str, ...]
    log: str
    handles: tuple[int, ...]
    """Descriptors of ours that become 3, 4, ...; it has no others but an empty input and the log."""


def start(what: Outrider, environ: Mapping[bytes, bytes], *, plan: Plan | None) -> int:
    """Start it, in a session of its own and with all signals as they were; its pid; raises OSError.

    `plan`: what a copy is given; None: nothing is copied. Nor is it where there are other threads (a
    library's own): a copy would lack them and keep what they had locked.
    """
    if plan is None or len(os.listdir("/proc/self/task")) > 1:
        return _spawn(what, environ)
    log = os.open(what.log, _APPENDING | os.O_CLOEXEC, 0o644)
    # Until the copy has let go of our handlers none may run in it: they would tell us of a second Ctrl-C.
    held = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    try:
        pid = os.fork()
        if not pid:
            _ride(what, log, plan)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, held)
        os.close(log)
    return pid


def _spawn(what: Outrider, environ: Mapping[bytes, bytes]) -> int:
    code = (
        f"import sys; sys.path[:] = {import_path()!r}\n"
        f"from {what.module} import main\n"
        "sys.exit(main(sys.argv[1:]))"
    )
    high = _lifted(what.handles)
    actions: list[tuple[int, ...] | tuple[int, int, str, int, int]] = [
        (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, what.log, _APPENDING, 0o644),
        (os.POSIX_SPAWN_DUP2, 1, 2),
        *((os.POSIX_SPAWN_DUP2, handle, _FIRST + at) for at, handle in enumerate(high)),
    ]
    try:
        return os.posix_spawn(
            sys.executable,
            (sys.executable, *APART, code, *what.argv),
            environ,
            file_actions=actions,
            setsid=True,
            setsigmask=(),
            setsigdef=sorted(signal.valid_signals()),
        )
    finally:
        for handle in high:
            os.close(handle)


def _lifted(handles: tuple[int, ...]) -> list[int]:
    return [fcntl.fcntl(handle, fcntl.F_DUPFD_CLOEXEC, _HIGH) for handle in handles]


def _ride(what: Outrider, log: int, plan: Plan) -> NoReturn:
    """The copy: nothing of the executor's is its business, neither locks nor signals nor how it ends."""
    code = 1
    try:
        _leave(what.handles, log)
        ctypes.CDLL(None).prctl(_PR_SET_NAME, what.name.encode(), 0, 0, 0)
        gc.freeze()  # what was there before is never looked at: looking alone would copy it
        gc.enable()
        code = importlib.import_module(what.module).main(list(what.argv), plan)
    finally:
        if (problem := sys.exc_info())[0] is not None:
            sys.excepthook(*problem)
        os._exit(code)


def _leave(handles: tuple[int, ...], log: int) -> None:
    """Let go of all but the handles: who waits for an end of the executor's must not wait for ours."""
    high = _lifted((*handles, log))
    os.dup2(os.open("/dev/null", os.O_RDONLY), 0)
    os.dup2(high[-1], 1)
    os.dup2(high[-1], 2)
    for at, handle in enumerate(high[:-1]):
        os.dup2(handle, _FIRST + at, inheritable=False)
    # Not by a range up to the limit: without the system call for that, it takes as long as the limit is high.
    for name in os.listdir("/proc/self/fd"):
        if int(name) >= _FIRST + len(handles):
            with contextlib.suppress(OSError):  # the list itself was one of them
                os.close(int(name))
    os.setsid()
    signal.set_wakeup_fd(-1)
    for number in signal.valid_signals():
        if number not in _KEPT and signal.getsignal(number) not in (signal.SIG_DFL, None):
            signal.signal(number, signal.SIG_IGN)  # which forgets what was meant for the executor
            signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
