"""One thread, one epoll: descriptors, timers and signals, each with the function to call."""

from __future__ import annotations

import os
import select
import signal
import time
from heapq import heappop, heappush

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


class Timer:
    """A call that is due at a time; `cancel` makes it never happen."""

    __slots__ = ("call",)

    def __init__(self, call: Callable[[], None]) -> None:
        self.call: Callable[[], None] | None = call

    def cancel(self) -> None:
        """Forget the call."""
        self.call = None


class Loop:
    """Waits for descriptors, timers and signals; on the monotonic clock less the time it stood still."""

    def __init__(self) -> None:
        self._epoll = select.epoll()
        self._calls: dict[int, Callable[[], None]] = {}
        self._timers: list[tuple[float, int, Timer]] = []
        self._serial = 0
        self._old: dict[int, object] = {}
        self._signals = (-1, -1)
        self._stood_s = 0.0
        """How long the process stood still so far, which is no time to this loop."""

    def now(self) -> float:
        """Seconds on the loop's clock."""
        return time.monotonic() - self._stood_s

    def watch(self, fd: int, call: Callable[[], None]) -> None:
        """Call whenever `fd` can be read or its other end is gone."""
        self._calls[fd] = call
        self._epoll.register(fd, select.EPOLLIN)

    def unwatch(self, fd: int) -> None:
        """Stop watching; do this before closing the descriptor."""
        del self._calls[fd]
        self._epoll.unregister(fd)

    def close_watched(self, fd: int) -> None:
        """Stop watching a descriptor of which there is no other copy, and close it: one system call."""
        del self._calls[fd]
        os.close(fd)

    def at(self, when: float, call: Callable[[], None]) -> Timer:
        """Call once, not before `when`."""
        timer = Timer(call)
        self._serial += 1
        heappush(self._timers, (when, self._serial, timer))
        return timer

    def postpone(self, seconds: float) -> None:
        """Make everything that is due later by so much: the process stood still meanwhile."""
        self._stood_s += seconds

    def on_signals(self, numbers: tuple[int, ...], call: Callable[[int], None]) -> None:
        """Call with each of these signals that arrives, in order, between other calls."""
        read, write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._signals = (read, write)
        # The handler does nothing; the C level writes the number to the pipe, which wakes epoll.
        self._old = {number: signal.signal(number, lambda *_: None) for number in numbers}
        signal.set_wakeup_fd(write, warn_on_full_buffer=False)

        def arrived() -> None:
            for number in os.read(read, 512):
                if number in numbers:
                    call(number)

        self.watch(read, arrived)

    def step(self, *, longest: float | None, spin_s: float = 0.0) -> None:
        """Wait for the next thing, `longest` seconds at most, and make the calls that are due.

        For the first `spin_s` seconds it looks again and again instead of sleeping: being woken
        costs more than a call to a warm worker takes.
        """
        timeout = longest
        timers = self._timers
        if timers:
            due = max(0.0, timers[0][0] - time.monotonic() + self._stood_s)
            timeout = due if timeout is None else min(due, timeout)
        calls = self._calls
        found = self._spin(spin_s) if spin_s else None
        for fd, _ in found or self._epoll.poll(timeout):
            call = calls.get(fd)
            if call is not None:
                call()
        if timers and timers[0][0] <= time.monotonic() - self._stood_s:
            self._expire()

    def _spin(self, seconds: float) -> list[tuple[int, int]]:
        poll = self._epoll.poll
        until = time.monotonic() + seconds
        while not (found := poll(0)) and time.monotonic() < until:
            pass
        return found

    def _expire(self) -> None:
        timers = self._timers
        now = self.now()
        while timers and timers[0][0] <= now:
            call = heappop(timers)[2].call
            if call is not None:
                call()

    def close(self) -> None:
        """Give signals and descriptors back."""
        if self._old:
            signal.set_wakeup_fd(-1)
            for number, old in self._old.items():
                signal.signal(number, old)  # type: ignore[arg-type]  # what signal.signal gave us
            for fd in self._signals:
                os.close(fd)
        self._epoll.close()
