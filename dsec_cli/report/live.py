"""A run as a table that redraws itself on a terminal."""

from __future__ import annotations

import io
import os

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from dsec import outcomes
from dsec.events import Cancel, Drop, Exit, Retry
from dsec.progress import span
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    from dsec.events import Event
    from dsec.plan import Plan
    from dsec.progress import Progress, StepProgress

    class Writes(Protocol):
        """Takes text for the terminal."""

        def write(self, text: str) -> None:
            """Hand text over."""

        def push(self) -> None:
            """Write what waits."""


_HEADS = (say("Step"), say("state"), say("iteration"), say("attempt"), say("time"))
_COLORS = {
    "running": "cyan",
    "done": "green",
    "failed": "red",
    "dropped": "yellow",
    "waiting to retry": "yellow",
    "stopped": "yellow",
}

_OTHER_COLUMNS = 46
"""What the columns beside the Step's name take: `waiting to retry`, their heads, and the gaps."""


class LiveTable:
    """Redraws at most five times a second; what went wrong scrolls by above; the last picture stays."""

    interval_s: float | None = 0.2

    def __init__(
        self, sink: Writes, plan: Plan, progress: Progress, tell: Callable[[str], str] = str
    ) -> None:
        self._sink = sink
        self._tell = tell
        self._plan = plan
        self._progress = progress
        self._now_s = 0.0
        self._paper = io.StringIO()
        self._console = Console(file=self._paper, force_terminal=True, width=_width())
        self._live = Live(
            console=self._console,
            auto_refresh=False,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._live.start()
        self._discard()  # the order to hide the cursor: nobody would show it again after a KILL

    def event(self, event: Event, payload: str) -> None:  # noqa: ARG002  # as the port has it
        """Count the event; tell at once what went wrong."""
        self._now_s = event.at_us / 1e6
        self._progress.take(event)
        odd = isinstance(event, (Retry, Drop, Cancel)) or (isinstance(event, Exit) and event.cause != "ok")
        text = self._progress.line(event) if odd else None
        if text is not None:
            self._console.print(Text(self._tell(text), style="yellow"))
            self._flush()

    def tick(self, now_s: float) -> None:  # as the port has it
        """Redraw."""
        self._now_s = now_s
        self._console.width = _width()
        self._live.update(self._picture(), refresh=True)
        self._flush()

    def close(self) -> None:
        """Leave the table as the run ended."""
        self._console.width = _width()
        self._live.update(self._picture())
        self._live.stop()
        self._flush()

    def _flush(self) -> None:
        self._sink.write(self._paper.getvalue())
        self._discard()

    def _discard(self) -> None:
        self._paper.seek(0)
        self._paper.truncate()

    def _picture(self) -> Group:
        # A caption would be wrapped at the table's width, which is often half of the screen's.
        line = self._tell(self._progress.summary(self._now_s))
        summary = Text(line, style="dim", no_wrap=True, overflow="ellipsis")
        return Group(self._table(), summary)

    def _table(self) -> Table:
        table = Table(box=None, pad_edge=False)
        for at, head in enumerate(_HEADS):
            table.add_column(self._tell(head), no_wrap=True, justify="left" if at < 2 else "right")
        for step in self._shown():
            table.add_row(*self._row(step, self._progress.steps[step]))
        return table

    def _shown(self) -> list[str]:
        """Steps that fit on the screen: all, or else those that run or went wrong, then the next ones."""
        room = max(4, _height() - 5)
        ids = [step.id for step in self._plan.steps]
        if len(ids) <= room:
            return ids
        rows = self._progress.steps
        urgency = {"running": 0, "failed": 1, "waiting to retry": 1, "dropped": 2, "waiting": 3}
        chosen = sorted(ids, key=lambda step: urgency.get(rows[step].state, 4))[:room]
        inside = set(chosen)
        return [step for step in ids if step in inside]

    def _row(self, step: str, row: StepProgress) -> tuple[Text | str, ...]:
        count = self._progress.iterations
        state = self._tell(outcomes.state(row.state))
        if count > 1 and not row.running:
            state = f"{state} ({row.done}/{count})"
        if row.running:
            time = span(max(0.0, self._now_s - row.since_us / 1e6))
        else:
            time = span(row.wall_us / 1e6) if row.wall_us else ""
        iteration = "" if row.state == "waiting" and not row.done else str(row.iteration)
        attempt = str(row.attempt) if row.attempt > 1 else ""
        return (
            shortened(step, self._console.width - _OTHER_COLUMNS),
            Text(state, style=_COLORS.get(row.state, "dim")),
            iteration,
            attempt,
            time,
        )


def shortened(name: str, room: int) -> str:
    """`name` in `room` columns: begin and end, since names of Steps often differ in their ends."""
    room = max(room, 6)
    if len(name) <= room:
        return name
    tail = room // 2
    return f"{name[: room - tail - 1]}…{name[-tail:]}"


def _width() -> int:
    try:
        return os.get_terminal_size(1).columns or 80
    except OSError:
        return 80


def _height() -> int:
    try:
        return os.get_terminal_size(1).lines or 24
    except OSError:
        return 24
