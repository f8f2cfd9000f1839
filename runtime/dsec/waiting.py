"""Two ways to wait for signals, for the ends of children and, where sockets are watched, for those.

`Signals` is for runs without resident workers, the most there are: all it waits for arrives as a signal,
so one system call does it, and a child's end costs a quarter of what a pidfd in an epoll set costs
(four system calls per child). A socket that rarely has something can be watched, too: by SIGIO.
`Descriptors` can watch anything.
"""

from __future__ import annotations

import fcntl
import os
import select
import signal
import time
from functools import partial

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from resource import struct_rusage
    from typing import TypeAlias

    OnEnd: TypeAlias = Callable[[int, int, struct_rusage], None]
    """What to call with a child's pid, status and usage."""


class Signals:
    """Waits for signals that are blocked otherwise; the end of a child is one of them."""

    def __init__(self) -> None:
        self._ends: dict[int, OnEnd] = {}
        self._call: Callable[[int], None]
        self._heeded: tuple[int, ...] = ()
        self._old_mask: set[int | signal.Signals] = set()
        self._old_child: object = None
        self._watched: dict[int, Callable[[], None]] = {}

    def watch(self, fd: int, call: Callable[[], None]) -> None:
        """Call when something has arrived at the socket `fd`; the call takes all there is."""
        self._watched[fd] = call
        fcntl.fcntl(fd, fcntl.F_SETOWN, os.getpid())
        fcntl.fcntl(fd, fcntl.F_SETFL, fcntl.fcntl(fd, fcntl.F_GETFL) | os.O_ASYNC | os.O_NONBLOCK)
        call()  # what came before the signal was asked for gives none

    def unwatch(self, fd: int) -> None:
        """Stop watching; do this before closing the descriptor."""
        del self._watched[fd]

    def on_signals(self, numbers: tuple[int, ...], call: Callable[[int], None]) -> None:
        """Call with each of these signals that arrives, between other calls."""
        self._call = call
        self._heeded = (*numbers, signal.SIGCHLD, signal.SIGIO)
        # Where the parent ignored it the kernel would tell of no end.
        self._old_child = signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        self._old_mask = signal.pthread_sigmask(signal.SIG_BLOCK, self._heeded)

    def on_end(self, pid: int, call: OnEnd) -> None:
        """Call once, when the child has ended; it is reaped then."""
        self._ends[pid] = call

    def wait(self, timeout: float | None, spin_s: float) -> None:  # noqa: ARG002  # nothing here comes that soon
        """Wait for the next signal and make its calls."""
        if timeout is None:
            number = signal.sigwaitinfo(self._heeded).si_signo
        else:
            told = signal.sigtimedwait(self._heeded, timeout)
            if told is None:
                return
            number = told.si_signo
        if number == signal.SIGCHLD:
            self._reap()
        elif number == signal.SIGIO:
            for call in list(self._watched.values()):
                call()
        elif number in self._heeded:
            self._call(number)
        # Else CPython made it up: it does where we were stopped and continued after the time was over.

    def _reap(self) -> None:
        """Collect who ended: one signal may stand for several, and some are orphans that became ours."""
        ends = self._ends
        while ends:
            try:
                pid, status, usage = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if not pid:
                return
            call = ends.pop(pid, None)
            if call is not None:
                call(pid, status, usage)

    def default(self, number: int) -> None:
        """Let a signal do to this process what it does to one that does not heed it."""
        old = signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, (number,))
        signal.raise_signal(number)
        signal.pthread_sigmask(signal.SIG_BLOCK, (number,))
        signal.signal(number, old)

    def close(self) -> None:
        """Give the signals back; those that came too late to be heeded are over with the run."""
        if not self._heeded:
            return
        while signal.sigtimedwait(self._heeded, 0):
            pass
        signal.pthread_sigmask(signal.SIG_SETMASK, self._old_mask)
        signal.signal(signal.SIGCHLD, self._old_child)  # type: ignore[arg-type]  # what signal.signal gave us


class Descriptors:
    """Waits for descriptors, by epoll: sockets, pidfds, and a pipe that signals write to."""

    def __init__(self) -> None:
        self._epoll = select.epoll()
        self._calls: dict[int, Callable[[], None]] = {}
        self._old: dict[int, object] = {}
        self._pipe = (-1, -1)

    def watch(self, fd: int, call: Callable[[], None]) -> None:
        """Call whenever `fd` can be read or its other end is gone."""
        self._calls[fd] = call
        self._epoll.register(fd, select.EPOLLIN)

    def unwatch(self, fd: int) -> None:
        """Stop watching; do this before closing the descriptor."""
        del self._calls[fd]
        self._epoll.unregister(fd)

    def on_signals(self, numbers: tuple[int, ...], call: Callable[[int], None]) -> None:
        """Call with each of these signals that arrives, in order, between other calls."""
        read, write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._pipe = (read, write)
        # The handler does nothing; the C level writes the number to the pipe, which wakes epoll.
        self._old = {number: signal.signal(number, lambda *_: None) for number in numbers}
        signal.set_wakeup_fd(write, warn_on_full_buffer=False)

        def arrived() -> None:
            for number in os.read(read, 512):
                if number in numbers:
                    call(number)

        self.watch(read, arrived)

    def on_end(self, pid: int, call: OnEnd) -> None:
        """Call once, when the child has ended; it is reaped then."""
        fd = os.pidfd_open(pid)
        self.watch(fd, partial(self._ended, fd, pid, call))

    def _ended(self, fd: int, pid: int, call: OnEnd) -> None:
        del self._calls[fd]
        os.close(fd)  # the only copy, so this ends the watching, too
        _, status, usage = os.wait4(pid, 0)
        call(pid, status, usage)

    def wait(self, timeout: float | None, spin_s: float) -> None:
        """Wait for the next descriptors and make their calls; for `spin_s` without sleeping."""
        calls = self._calls
        found = self._spin(spin_s) if spin_s else None
        for fd, _ in found or self._epoll.poll(timeout):
            call = calls.get(fd)
            if call is not None:
                call()

    def _spin(self, seconds: float) -> list[tuple[int, int]]:
        poll = self._epoll.poll
        until = time.monotonic() + seconds
        while not (found := poll(0)) and time.monotonic() < until:
            pass
        return found

    def default(self, number: int) -> None:
        """Let a signal do to this process what it does to one that does not heed it."""
        old = signal.signal(number, signal.SIG_DFL)
        signal.raise_signal(number)
        signal.signal(number, old)

    def close(self) -> None:
        """Give signals and descriptors back."""
        if self._old:
            signal.set_wakeup_fd(-1)
            for number, old in self._old.items():
                signal.signal(number, old)  # type: ignore[arg-type]  # what signal.signal gave us
            for fd in self._pipe:
                os.close(fd)
        self._epoll.close()
