"""How hungry a Step is: a number from 0 to 1 of its queue, its needs and what it was granted.

    hunger = d x (q + 1 - r) / 2

`q`: of its instances that are ready or run, the share that waits. `d`: of what its next instance
needs, the share that is done (1: it could start). `r`: of what its ready and running instances ask
for (GPUs, or processors where it asks for none), the share that was granted. A Step that waits alone
with all its needs done has 1; one that runs with all it asked for has 0. In thousandths, whole.
"""

from __future__ import annotations

from dsec.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

HUNGRY = 800
"""Thousandths above which a Step is hungry ..."""
LONG_US = 180_000_000
"""... once it has been above them for so long without a break."""


class Appetite(Record):
    """What the hunger of one Step is made of; counts, not shares."""

    waiting: int
    """Instances that are ready and did not start."""
    running: int
    needs: int
    """What the next instance needs."""
    needs_done: int
    asked: int
    """By all that wait or run; in GPUs, or thousandths of processors."""
    granted: int


def hunger(one: Appetite) -> int:
    """In thousandths; 0 where nothing waits."""
    if not one.waiting:
        return 0
    queue = one.waiting * 1000 // (one.waiting + one.running)
    done = one.needs_done * 1000 // one.needs if one.needs else 1000
    granted = min(1000, one.granted * 1000 // one.asked) if one.asked else 0
    return done * (queue + 1000 - granted) // 2000


class Hunger:
    """Remembers since when Steps are above the mark."""

    def __init__(self) -> None:
        self._since: dict[int, int] = {}

    def look(self, now_us: int, scores: Mapping[int, int]) -> list[int]:
        """Steps that have been hungry for long, by number; `scores` in thousandths, of those that wait."""
        for at in list(self._since):
            if scores.get(at, 0) <= HUNGRY:
                del self._since[at]
        for at, score in scores.items():
            if score > HUNGRY:
                self._since.setdefault(at, now_us)
        return sorted(at for at, since in self._since.items() if now_us - since >= LONG_US)

    def since(self, at: int) -> int | None:
        """Since when the Step has been above the mark; None: it is not."""
        return self._since.get(at)
