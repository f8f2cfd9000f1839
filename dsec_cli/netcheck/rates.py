"""Rates of several connections together, over one window of time in which all of them are under way.

Each connection has a trace: moments of the receiving host's monotonic clock, and the bytes that its
kernel had by then. Summing rates that each connection reached in a time of its own counts a link twice.
"""

from __future__ import annotations

from bisect import bisect_left

from dsec.record import Record
from dsec_cli.netcheck.readings import rate_bps

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    Trace = tuple[tuple[int, int], ...]

_PARTS = 4
_COMMON = 0.5
"""Of the whole time, what all connections must share for the rest to be left out."""
_CREDIT = 1.5
"""How much faster the first bytes come where a hop lets a burst through."""


class Rates(Record):
    """What arrived a second; None: too little came to tell."""

    steady_bps: int | None
    """Without the first quarter, in which TCP is still finding its rate or a hop spends its credit."""
    first_bps: int | None
    """In the first quarter."""
    late_bps: int | None
    """In the last quarter, or the last half where that is less."""

    @property
    def lasting_bps(self) -> int | None:
        """What remains once a burst is spent."""
        return self.late_bps if self.burst else self.steady_bps

    @property
    def burst(self) -> bool:
        """Whether it began much faster than it ended."""
        return bool(self.first_bps and self.late_bps and self.first_bps > _CREDIT * self.late_bps)


UNKNOWN = Rates(None, None, None)


def rates(traces: Sequence[Trace]) -> Rates:
    """Of one connection or several."""
    traces = [trace for trace in traces if len(trace) > 1]
    if not traces:
        return UNKNOWN
    window = _window(traces)
    if window[1] <= window[0]:
        return UNKNOWN
    begin, quarter = window[0], (window[1] - window[0]) / _PARTS
    marks = [sum(_at(trace, begin + part * quarter) for trace in traces) for part in range(_PARTS + 1)]

    def between(one: int, two: int) -> int:
        return rate_bps(int(marks[two] - marks[one]), int((two - one) * quarter))

    # A lost segment that comes at last brings all behind it: the shorter a time, the more of an earlier one.
    late = min(between(_PARTS - 1, _PARTS), between(_PARTS // 2, _PARTS))
    return Rates(between(1, _PARTS), between(0, 1), late)


def _window(traces: Sequence[Trace]) -> tuple[int, int]:
    """The time in which all are under way; that of any, where they share little of it."""
    begins, ends = [trace[0][0] for trace in traces], [trace[-1][0] for trace in traces]
    any_one, common = (min(begins), max(ends)), (max(begins), min(ends))
    enough = common[1] - common[0] >= _COMMON * (any_one[1] - any_one[0])
    return common if enough else any_one


def _at(trace: Trace, moment: float) -> float:
    """Bytes by that moment; between two counts the line that joins them."""
    at = bisect_left(trace, (int(moment),))
    if at <= 0:
        return float(trace[0][1])
    if at >= len(trace):
        return float(trace[-1][1])
    (before, count), (after, more) = trace[at - 1], trace[at]
    return count + (more - count) * (moment - before) / max(1, after - before)
