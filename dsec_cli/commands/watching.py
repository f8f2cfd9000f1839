"""Who watches a run from the terminal: plain lines, JSON lines, or nothing; none can hold it up.

A reader that went away (`dsec run | head -1`) or that does not read costs the run nothing: what
cannot be written now waits in memory, up to a limit, and is then left out.
"""

from __future__ import annotations

import os
import select
import time

from dsec.events import Cancel, Exit, RunEnd, RunStart
from dsec.markup import json_lines, terminal_lines
from dsec.progress import MANY, Progress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from dsec.events import Event

_PIECE = 4096
"""A pipe that polls writable takes this much without blocking."""
_BACKLOG = 4 * 1024 * 1024


class Sink:
    """A descriptor that is written without ever blocking the run."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._waiting = bytearray()
        self._poll = select.poll()
        self._poll.register(fd, select.POLLOUT)
        self.broken = False

    def write(self, text: str) -> None:
        """Hand text over; it is written as far as that goes now."""
        if self.broken or len(self._waiting) > _BACKLOG:
            return
        self._waiting += text.encode("utf-8", "backslashreplace")
        self.push()

    def push(self) -> None:
        """Write what waits, as long as the reader takes it."""
        while self._waiting and not self.broken and self._poll.poll(0):
            try:
                written = os.write(self._fd, self._waiting[:_PIECE])
            except OSError:
                self.broken = True
                self._waiting.clear()
                return
            del self._waiting[:written]

    def finish(self, *, patience_s: float = 5.0) -> None:
        """Write what waits, for a while even to a slow reader."""
        until = time.monotonic() + patience_s
        while self._waiting and not self.broken and time.monotonic() < until:
            self._poll.poll(100)
            self.push()


class JsonLines:
    """Every event as its journal payload."""

    interval_s: float | None = 0.1

    def __init__(self, sink: Sink) -> None:
        self._sink = sink

    def event(self, event: Event, payload: str) -> None:  # noqa: ARG002  # as the port has it
        """Write the payload."""
        self._sink.write(json_lines(payload) + "\n")

    def tick(self, now_s: float) -> None:  # noqa: ARG002  # as the port has it
        """Write what waits."""
        self._sink.push()

    def close(self) -> None:
        """Write the rest, also to a slow reader."""
        self._sink.finish()


LAST = 10
"""Lines that the end of a run need not say again."""


class PlainLines:
    """A line per event; for large runs a line per second, and one for everything that went wrong."""

    interval_s: float | None = 0.25

    def __init__(self, sink: Sink, progress: Progress, tell: Callable[[str], str] = str) -> None:
        self._sink = sink
        self._tell = tell
        self._progress = progress
        self._many = progress.total > MANY
        self._told_s = 0.0
        self.last: list[str] = []
        """The newest lines, as they are before they are said in a language."""

    def event(self, event: Event, payload: str) -> None:  # noqa: ARG002  # as the port has it
        """Count the event, and tell it."""
        self._progress.take(event)
        quiet = self._many and not isinstance(event, (RunStart, RunEnd, Cancel))
        if quiet and not (isinstance(event, Exit) and event.cause != "ok"):
            return
        text = self._progress.line(event)
        if text is not None:
            self.last = [*self.last[1 - LAST :], text]
            self._sink.write(terminal_lines(self._tell(text)) + "\n")

    def tick(self, now_s: float) -> None:  # as the port has it
        """Once a second: how far the run is."""
        self._sink.push()
        if not self._many or now_s - self._told_s < 1.0:
            return
        self._told_s = now_s
        self._sink.write(terminal_lines(self._tell(self._progress.summary(now_s))) + "\n")

    def close(self) -> None:
        """Write the rest, also to a slow reader."""
        self._sink.finish()
