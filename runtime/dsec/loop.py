"""One thread: descriptors, timers, signals and children that end, each with the function to call."""

from __future__ import annotations

from heapq import heappop, heappush
from math import inf
from time import monotonic

from dsec.waiting import Descriptors, Signals

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


_LATE_S = 0.5
"""Who is called so late was stopped (SIGSTOP, a virtual machine that is put to sleep), or starved."""
_KINDS = 4
"""Looks that hear all that can be waiting: each takes one signal, or all descriptors."""


class Timer:
    """A call that is due at a time; `cancel` makes it never happen."""

    __slots__ = ("call",)

    def __init__(self, call: Callable[[], None]) -> None:
        self.call: Callable[[], None] | None = call

    def cancel(self) -> None:
        """Forget the call."""
        self.call = None


class Loop:
    """Waits for what comes and what is due; on the monotonic clock less the time it stood still."""

    def __init__(self, *, sockets: bool) -> None:
        """`sockets`: whether any will be watched; without, the end of a child costs less."""
        self._waiter = Descriptors() if sockets else Signals()
        self.on_signals = self._waiter.on_signals
        self.on_end = self._waiter.on_end
        self.watch = self._waiter.watch
        self.unwatch = self._waiter.unwatch
        self.default = self._waiter.default
        self._wait = self._waiter.wait
        self._timers: list[tuple[float, int, Timer]] = []
        self._serial = 0
        self._stood_s = 0.0
        """How long the process stood still so far, which is no time to this loop."""

    @property
    def sockets(self) -> Descriptors:
        """Where sockets are watched."""
        if not isinstance(self._waiter, Descriptors):
            raise AssertionError("this loop was made for a run without sockets")
        return self._waiter

    def now(self) -> float:
        """Seconds on the loop's clock."""
        return monotonic() - self._stood_s

    def at(self, when: float, call: Callable[[], None]) -> Timer:
        """Call once, not before `when`."""
        timer = Timer(call)
        self._serial += 1
        heappush(self._timers, (when, self._serial, timer))
        return timer

    def postpone(self, seconds: float) -> None:
        """Make everything that is due later by so much: the process stood still meanwhile."""
        self._stood_s += seconds

    def step(self, until: float = inf, *, spin_s: float = 0.0) -> None:
        """Wait for the next thing, not beyond `until` (monotonic clock), and make the calls that are due.

        For the first `spin_s` seconds it looks again and again instead of sleeping: being woken
        costs more than a call to a warm worker takes.
        """
        timers = self._timers
        if timers and timers[0][0] + self._stood_s < until:
            until = timers[0][0] + self._stood_s
        if until == inf:
            self._wait(None, spin_s)
        else:
            timeout = until - monotonic()
            self._wait(timeout if timeout > 0.0 else 0.0, spin_s)
        if timers and (late := monotonic() - timers[0][0] - self._stood_s) >= 0.0:
            if late > _LATE_S:
                self._catch_up()
            self._expire()

    def _catch_up(self) -> None:
        """Hear first what came while this process was stopped: a child that has ended is not late."""
        for _ in range(_KINDS):
            self._wait(0.0, 0.0)

    def _expire(self) -> None:
        timers = self._timers
        now = self.now()
        while timers and timers[0][0] <= now:
            call = heappop(timers)[2].call
            if call is not None:
                call()

    def close(self) -> None:
        """Give signals and descriptors back."""
        self._waiter.close()
