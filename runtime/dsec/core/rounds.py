"""Bounds from counting: of 17 Steps that run at most 8 at a time, three must follow each other.

For each resource, Steps are taken that need at least so much of it that at most `k` of them run at a
time. Of the `k * j + 1` longest, `j + 1` must follow each other, and the shortest of them take the
sum of the last `j + 1`. As with areas, a head and a tail that all of them have are added.
"""

from __future__ import annotations

from dsec.core.bounds import device_choices, sortable
from dsec.core.placement import slots

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dsec.core.bounds import Ends
    from dsec.core.placement import Slot
    from dsec.core.schedule import Work
    from dsec.inventory import Inventory
    from dsec.plan import Demand

    Crowd = tuple[str, frozenset[Demand], int]

_QUANTILES = 8
_MOST_STEPS = 2_000
_MOST_CROWDS = 24


def counting_bounds(works: Sequence[Work], ends: Ends, inventory: Inventory) -> dict[str, int]:
    """Each resource's bound by its name; none for graphs of more than 2,000 Steps."""
    bounds: dict[str, int] = {}
    if len(works) > _MOST_STEPS:
        return bounds
    demands = sorted({work.demand for work in works}, key=sortable)
    items = sorted(
        zip([work.duration for work in works], ends.heads, ends.tails, range(len(works)), strict=True),
        reverse=True,
    )
    for name, inside, most in list(_crowds(demands, inventory))[:_MOST_CROWDS]:
        crowd = [item[:3] for item in items if works[item[3]].demand in inside]
        if most and len(crowd) > most:
            title = f"{name} in turns"
            bounds[title] = max(bounds.get(title, 0), _highest(crowd, most))
    return bounds


def _crowds(demands: Sequence[Demand], inventory: Inventory) -> Iterable[Crowd]:
    """Which demands, and how many of them at most at a time."""
    cores, memory = inventory.cpu_m, inventory.memory_bytes
    for least in sorted({min(one.cpu_m, cores) for one in demands} - {0}):
        yield "cpu", frozenset(one for one in demands if one.cpu_m >= least), cores // least
    for least in sorted({one.memory_bytes for one in demands} - {0}) if memory else ():
        inside = frozenset(one for one in demands if one.memory_bytes >= least)
        yield "memory", inside, (memory or 0) // least
    for name, within, devices in device_choices(demands, slots(inventory)):
        for count, size in sorted({(one.gpu_count, one.gpu_memory_bytes) for one in within}):
            inside = frozenset(one for one in within if one.gpu_count >= count and _takes(one, size))
            yield name, inside, sum(_places(slot, size) for slot in devices) // count


def _takes(demand: Demand, size: int) -> bool:
    """Whether the demand takes at least so much of each device; 0 is a whole one."""
    return not demand.gpu_memory_bytes or 0 < size <= demand.gpu_memory_bytes


def _places(slot: Slot, size: int) -> int:
    """How many Steps that take at least `size` share the device at most."""
    return slot.capacity // size if size and slot.capacity else 1


def _highest(crowd: Sequence[tuple[int, int, int]], most: int) -> int:
    """The highest bound over heads and tails; the crowd comes longest first."""
    best = 0
    tails = _quantiles([tail for _, _, tail in crowd])
    for head in _quantiles([head for _, head, _ in crowd]):
        later = [item for item in crowd if item[1] >= head]
        for tail in tails:
            lengths = [length for length, _, after in later if after >= tail]
            if lengths:
                best = max(best, head + _in_turn(lengths, most) + tail)
    return best


def _in_turn(lengths: Sequence[int], most: int) -> int:
    """The least time in which Steps end that run at most `most` at a time; longest first."""
    best = lengths[0]
    for last in range(most, len(lengths), most):
        best = max(best, sum(lengths[last - last // most : last + 1]))
    return best


def _quantiles(values: Iterable[int]) -> list[int]:
    distinct = sorted(set(values))
    if len(distinct) <= _QUANTILES:
        return distinct
    last = _QUANTILES - 1
    return [distinct[at * (len(distinct) - 1) // last] for at in range(_QUANTILES)]
