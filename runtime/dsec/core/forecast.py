"""Whether memory grows towards a limit, and when it will be there.

The slope is the median of the slopes between all pairs of points (Theil and Sen), so a few outliers
change nothing. It counts as growth when moreover each third of the points has a higher low and a
higher high than the one before, which neither a plateau nor a saw-tooth has, and the end is not
flatter than half of the whole, as it is once something has been loaded. What lies ahead is told only
as far as twice the stretch that was seen, and not before the height is passed from which the
series once fell.
"""

from __future__ import annotations

from dsec.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import TypeAlias

    Points: TypeAlias = Sequence[tuple[int, int]]

LEAST = 9
"""Points before anything is said."""
MOST = 48
"""Points that are kept; older ones are thinned out, so the stretch still grows."""
AHEAD = 2
"""How many times the stretch that was seen is looked ahead."""
_RISING_PERCENT = 80
"""Of all pairs, so many must rise."""
_NOTABLE_PERCENT = 2
"""Growth over the stretch below this part of the limit is noise."""
_FALL_PERCENT = 10
"""A fall by this part of the height reached ends a climb."""


class Forecast(Record):
    """A series reaches a limit."""

    limit: int
    now: int
    """The level that the line through the points is at."""
    slope: int
    """Bytes per thousand units of x."""
    ahead: int
    """Units of x until the limit; 0: it is reached."""


def slope_of(points: Points) -> int:
    """Median slope between pairs of points, times 1000."""
    slopes = sorted(
        (later[1] - earlier[1]) * 1000 // (later[0] - earlier[0])
        for at, earlier in enumerate(points)
        for later in points[at + 1 :]
        if later[0] > earlier[0]
    )
    return slopes[len(slopes) // 2] if slopes else 0


def grows(points: Points, least: int = LEAST) -> bool:
    """Whether the points climb steadily."""
    if len(points) < least:
        return False
    third = len(points) // 3
    parts = [[y for _, y in points[at : at + third]] for at in (0, third, len(points) - third)]
    lows, highs = [min(part) for part in parts], [max(part) for part in parts]
    if not (lows[0] < lows[1] < lows[2] and highs[0] < highs[1] < highs[2]):
        return False
    ups = pairs = 0
    for at, (_, earlier) in enumerate(points):
        for _, later in points[at + 1 :]:
            pairs += 1
            ups += later > earlier
    return ups * 100 >= pairs * _RISING_PERCENT


class Series:
    """One quantity of one Step as it grows: by execution, or by time within an attempt."""

    def __init__(self, *, least: int = LEAST) -> None:
        """`least`: points before anything is said; what is loaded at the start should be over by then."""
        self._least = least
        self._points: list[tuple[int, int]] = []
        self._stride = 1
        self._skipped = 0
        self._last: tuple[int, int] | None = None
        self._height = 0
        """From here it fell once; below, a climb means nothing."""
        self._top = 0
        self._warned = False

    def add(self, x: int, y: int) -> None:
        """Take the next point; x never falls."""
        if y * 100 < self._top * (100 - _FALL_PERCENT):
            self._height = max(self._height, self._top)
            self._points.clear()
            self._stride, self._skipped, self._top = 1, 0, 0
            self._warned = False
        self._top = max(self._top, y)
        self._last = (x, y)
        self._skipped += 1
        if self._skipped < self._stride:
            return
        self._skipped = 0
        self._points.append((x, y))
        if len(self._points) > MOST:
            self._points = self._points[::2]
            self._stride *= 2

    @property
    def warned(self) -> bool:
        """Whether this climb was told of."""
        return self._warned

    def warn(self, limit: int | None) -> Forecast | None:
        """A forecast that is worth telling, once for each climb."""
        if self._warned or (found := self.forecast(limit)) is None:
            return None
        self._warned = True
        return found

    def forecast(self, limit: int | None) -> Forecast | None:
        """When the climb reaches `limit`; None: there is no climb, or it ends too far ahead."""
        if not limit or self._last is None:
            return None
        points = self._points if self._points[-1:] == [self._last] else [*self._points, self._last]
        now = self._last[1]
        if now <= self._height or not grows(points, self._least):
            return None
        seen = points[-1][0] - points[0][0]
        slope = slope_of(points)
        if slope <= 0 or slope * seen // 1000 * 100 < limit * _NOTABLE_PERCENT:
            return None
        if 2 * slope_of(points[-max(3, len(points) // 4) :]) < slope:
            return None
        ahead = -(-max(0, limit - now) * 1000 // slope)
        return Forecast(limit, now, slope, ahead) if ahead <= AHEAD * seen else None


class Stated(Record):
    """What a Step says that it needs, and what it takes."""

    step: str
    iteration: int
    level: str
    stated_bytes: int
    """0: it does not say."""
    held_bytes: int
    began_us: int = 0


def offender(steps: Iterable[Stated]) -> Stated | None:
    """Who is to answer for a machine without memory: who exceeds its own statement by most.

    None: everybody keeps to what was stated; then nobody is to blame, and nobody is touched. A Step
    that states nothing exceeds nothing.
    """
    over = [one for one in steps if one.stated_bytes and one.held_bytes > one.stated_bytes]
    return max(over, key=lambda one: (one.held_bytes - one.stated_bytes, one.began_us), default=None)


def over_baseline(held_bytes: int | None, stated_bytes: int, *, granted: int, baseline: int) -> bool:
    """Whether use is above one and a half times what was stated, of an attempt that has not grown."""
    if held_bytes is None or not stated_bytes or granted > baseline:
        return False
    return 2 * held_bytes > 3 * stated_bytes
