"""Stops attempts that ran too long."""

from __future__ import annotations

from math import inf

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from dsec.attempts import Attempt
    from dsec.loop import Loop


class Deadlines:
    """The timeouts of what runs: one timer for all, because one for each costs more."""

    def __init__(self, loop: Loop, running: Iterable[Attempt], stop: Callable[[Attempt], None]) -> None:
        """`running` is looked at whenever one may be late."""
        self._loop = loop
        self._running = running
        self._stop = stop
        self._alarm = inf
        """When running attempts will be looked at."""

    def set(self, attempt: Attempt) -> None:
        """The attempt began now."""
        timeout_ms = attempt.step.timeout_ms
        if timeout_ms:
            attempt.deadline = self._loop.now() + timeout_ms / 1000
            if attempt.deadline < self._alarm:
                self._alarm = attempt.deadline
                self._loop.at(self._alarm, self._stop_the_late)

    def _stop_the_late(self) -> None:
        """Stop what ran too long, and look again when the next one has."""
        now = self._loop.now()
        self._alarm = inf
        for attempt in list(self._running):
            deadline = attempt.deadline
            if deadline is None:
                continue
            if deadline <= now:
                attempt.deadline = None
                self._stop(attempt)
            else:
                self._alarm = min(self._alarm, deadline)
        if self._alarm < inf:
            self._loop.at(self._alarm, self._stop_the_late)
