"""How long a Step takes on what it was granted: slower devices, fewer or more of them.

Durations are those on the quickest devices that a Step may have, as many as its baseline says. How
much quicker more devices make it is not measured but assumed: work times (baseline / count) to a
power below one. Integers only, so that every machine comes to the same.
"""

from __future__ import annotations

from functools import lru_cache

from dsec.core.placement import best_speed
from dsec.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dsec.core.placement import Slot
    from dsec.plan import Demand, Plan

EXPONENT_PERCENT = 90
"""The power that is assumed, in hundredths."""
_PARTS = 1_000_000
_NORMAL = 1000


class Span(Record):
    """How few and how many GPUs a Step may be started with."""

    least: int
    most: int


def spans_of(plan: Plan) -> dict[int, Span]:
    """Per Step of the plan whose GPUs may be fewer or more, by its number."""
    numbers = {step.id: at for at, step in enumerate(plan.steps)} if plan.elastic else {}
    return {numbers[one.step]: Span(one.least, one.most) for one in plan.elastic or ()}


def stretched(length: int, base: int, count: int, exponent: int = EXPONENT_PERCENT) -> int:
    """What `length` on `base` devices becomes on `count`; rounded up."""
    return length if count == base else -(-length * _ratio(base, count, exponent) // _PARTS)


@lru_cache(maxsize=1024)
def _ratio(base: int, count: int, exponent: int) -> int:
    """(base / count) ** (exponent / 100), in millionths, rounded down; by whole numbers only."""
    wanted = base**exponent * _PARTS**100
    below, above = 0, (base + 1) * _PARTS
    while above - below > 1:
        middle = (below + above) // 2
        if middle**100 * count**exponent <= wanted:
            below = middle
        else:
            above = middle
    return below


def slowed(length: int, best: int, speed: int) -> int:
    """What `length` on devices of speed `best` becomes on slower ones."""
    return length if speed >= best else -(-length * best // max(speed, 1))


class Paces:
    """The expected lengths of Steps, by what they hold."""

    def __init__(self, demands: Sequence[Demand], tables: Sequence[Sequence[Slot]]) -> None:
        """`tables`: the devices of each machine, with nothing held."""
        known: dict[Demand, int] = {}
        for demand in demands:
            if demand.gpu_count and demand not in known:
                known[demand] = max((best_speed(demand, table) for table in tables), default=0)
        self._demands = demands
        self.best = [known.get(demand, 0) or _NORMAL for demand in demands]
        """Per Step, the speed of the quickest devices that it may have, in thousandths."""
        self.speeds: Mapping[str, int] = {
            slot.device.uuid: slot.device.speed for table in tables for slot in table
        }

    def length(self, at: int, length: int, devices: tuple[str, ...]) -> int:
        """How long Step number `at` takes on these devices, if that is `length` on the best ones."""
        if not devices:
            return length
        base = self._demands[at].gpu_count
        if len(devices) != base:
            length = stretched(length, base, len(devices))
        return slowed(length, self.best[at], min(self.speeds[uuid] for uuid in devices))

    def baseline(self, at: int) -> int:
        """How many GPUs Step number `at` has when it has neither more nor fewer."""
        return self._demands[at].gpu_count

    def rate(self, at: int, devices: tuple[str, ...], factors: Mapping[str, int]) -> int:
        """The speed on these devices, in millionths; `factors`: what is left of some, in thousandths."""
        if not devices:
            return _NORMAL * _NORMAL
        slowest = min(self.speeds[uuid] * factors.get(uuid, _NORMAL) for uuid in devices)
        return max(1, min(slowest, self.best[at] * _NORMAL))
