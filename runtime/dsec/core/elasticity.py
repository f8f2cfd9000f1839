"""When a Step gets one more GPU, and when it gives one back: by the memory that its executions took.

Five executions in a row above the high mark, and it may have one more, within its own bounds and the
pool of the machine. Ten minutes at or below the low mark without a break, and it gives one back.
Time is an argument; an execution of which no memory is known changes nothing.
"""

from __future__ import annotations

from dsec.core.starting import Size
from dsec.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

IN_A_ROW = 5
"""Executions above the high mark after which there is one more GPU."""
LOW_US = 600_000_000
"""Time below the low mark after which there is one less."""


class Bounds(Record):
    """What an elastic Step's contract says."""

    least: int
    base: int
    most: int
    high_bytes: int
    """Per GPU."""
    low_bytes: int


class Change(Record):
    """A Step is to have another number of GPUs from its next start on."""

    at: int
    size: Size
    why: str


class _Row:
    """What was seen of one Step."""

    __slots__ = ("above", "low_since", "size")

    def __init__(self, bounds: Bounds) -> None:
        self.above = 0
        self.low_since: int | None = None
        self.size = Size(bounds.base, bounds.most)


class Elasticity:
    """The sizes of a run's elastic Steps."""

    def __init__(self, bounds: Mapping[int, Bounds], pool: int) -> None:
        """`bounds`: by the Step's number; `pool`: devices that all of them may have beyond baselines."""
        self._bounds = dict(bounds)
        self._pool = pool
        self._rows = {at: _Row(one) for at, one in self._bounds.items()}

    def executed(self, at: int, peak_bytes: int | None) -> Change | None:
        """An execution of the Step ended; `peak_bytes`: the most it held on one GPU, None: not known."""
        bounds, row = self._bounds.get(at), self._rows.get(at)
        if bounds is None or row is None or peak_bytes is None:
            return None
        row.above = row.above + 1 if peak_bytes > bounds.high_bytes else 0
        if row.above < IN_A_ROW:
            return None
        row.above = 0
        size = row.size
        firm = min(max(size.firm, bounds.base) + 1, bounds.most)
        if firm <= size.firm or self._promised(at) + firm - bounds.base > self._pool:
            return None
        row.size = Size(firm, bounds.most)
        return Change(
            at, row.size, f"{IN_A_ROW} executions in a row took more than {_gib(bounds.high_bytes)}"
        )

    def held(self, at: int, now_us: int, held_bytes: int | None, count: int) -> Change | None:
        """The Step holds so much on its fullest GPU now, on `count` of them; None: not known."""
        bounds, row = self._bounds.get(at), self._rows.get(at)
        if bounds is None or row is None or held_bytes is None:
            return None
        if held_bytes >= bounds.low_bytes:
            row.low_since = None
            return None
        if row.low_since is None:
            row.low_since = now_us
        if now_us - row.low_since < LOW_US:
            return None
        row.low_since = now_us
        most = count - 1
        if most < bounds.least:
            return None
        row.size = Size(min(row.size.firm, most), most)
        minutes = LOW_US // 60_000_000
        return Change(at, row.size, f"it took less than {_gib(bounds.low_bytes)} for {minutes} minutes")

    def _promised(self, but: int) -> int:
        """Devices beyond baselines that the other Steps are to have."""
        return sum(
            max(0, row.size.firm - self._bounds[at].base) for at, row in self._rows.items() if at != but
        )


def _gib(amount: int) -> str:
    tenths = amount * 10 >> 30
    return f"{tenths // 10}Gi" if tenths % 10 == 0 else f"{tenths // 10}.{tenths % 10}Gi"
