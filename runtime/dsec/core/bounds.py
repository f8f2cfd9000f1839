"""Times below which no schedule can end, whatever its order.

- `critical path`: the longest chain of needs, each Step on the quickest devices it may have.
- area: what all Steps together take of one resource, over what there is of it.
- head and tail: Steps before which at least `head` must pass and after which at least `tail` must,
  together take `area / capacity` of a resource; `head + area / capacity + tail` is a bound. Heads and
  tails are tried at 40 quantiles each, all of them when there are no more.

The resources are processors, memory, and for each choice of devices that a Step leaves open (by type
and size) the device time and device memory of all Steps that must stay within it. A device of speed
600 offers 0.6 of a device's time. What cannot be shared out is counted as lost: of 16 cores, Steps of
3 use 15 (see `_rounded`). `core.rounds` has the bounds that come from counting instead of adding.
"""

from __future__ import annotations

from bisect import bisect_right
from math import gcd

from dsec.core.placement import best_speed, slots
from dsec.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from dsec.core.placement import Slot
    from dsec.core.schedule import Work
    from dsec.inventory import Inventory
    from dsec.plan import Demand

_QUANTILES = 40
_PARTS = 8
"""Capacities are looked at as if they had room for 1 to this many equal parts."""
_MOST_CELLS = 5_000
"""Demands times quantiles up to which that is done."""


class Ends(Record):
    """Per Step, the least time before its start and after its end."""

    heads: Sequence[int]
    tails: Sequence[int]


class Resource(Record):
    """What each demand takes of something, and how much of it there is in one unit of time."""

    name: str
    takes: Mapping[Demand, int]
    capacity: int
    steady: bool = True
    """Whether a Step takes this much at every moment; on slower devices it takes less for longer."""


def lower_bounds(
    works: Sequence[Work], critical_path: int, inventory: Inventory, ends: Ends | None = None
) -> dict[str, int]:
    """Each bound by its name; those of heads and tails only when these are given."""
    bounds = {"critical path": critical_path}
    if not works:
        return bounds
    grid = _Grid(works, ends)
    for resource in _resources(grid.demands, inventory):
        views = [resource]
        if resource.steady and len(grid.cells) <= _MOST_CELLS:
            views += [_rounded(resource, parts) for parts in range(1, _PARTS + 1)]
        for view in views:
            for name, bound in grid.bounds(view):
                bounds[name] = max(bounds.get(name, 0), bound)
    return bounds


def _rounded(resource: Resource, parts: int) -> Resource:
    """The same with each take rounded so that what fits together still does, if badly.

    Where capacity / (parts + 1) does not divide a take, the take counts as so many whole parts of
    `parts`: a dual feasible function (Fekete and Schepers, 2001). With 5 parts, takes of 3 of 16
    count as a fifth each.
    """
    whole, more = resource.capacity, parts + 1
    takes = {
        demand: take * parts if take * more % whole == 0 else take * more // whole * whole
        for demand, take in resource.takes.items()
    }
    return Resource(resource.name, takes, whole * parts)


def _resources(demands: Sequence[Demand], inventory: Inventory) -> Iterable[Resource]:
    cores, memory = inventory.cpu_m, inventory.memory_bytes
    if cores:
        yield Resource("cpu", {one: min(one.cpu_m, cores) for one in demands}, cores)
    if memory:
        yield Resource("memory", {one: one.memory_bytes for one in demands}, memory)
    table = slots(inventory)
    for name, within, inside in device_choices(demands, table):
        yield from _gpu_resources(name, within, inside)


def device_choices(
    demands: Iterable[Demand], table: Sequence[Slot]
) -> Iterable[tuple[str, dict[Demand, int], list[Slot]]]:
    """Per choice of devices that some demand has: its name, the demands that must stay within, the devices.

    A demand's number is its pace: the speed of the quickest devices that it may have.
    """
    open_to = {
        one: frozenset(at for at, slot in enumerate(table) if slot.free_for(one))
        for one in demands
        if one.gpu_count
    }
    names: dict[frozenset[int], str] = {}
    for one, inside in open_to.items():
        names.setdefault(inside, _name(one, len(inside) == len(table)))
    for inside, name in names.items():
        paces = {one: best_speed(one, table) for one in open_to if open_to[one] <= inside}
        if inside:
            yield name, paces, [table[at] for at in sorted(inside)]


def _name(demand: Demand, every: bool) -> str:
    if every:
        return "gpu"
    if demand.gpu_types:
        return f"gpu {' or '.join(demand.gpu_types)}"
    return f"gpu of {demand.gpu_memory_bytes >> 20} MiB"


def _gpu_resources(name: str, within: Mapping[Demand, int], inside: Sequence[Slot]) -> Iterable[Resource]:
    """Time and memory of the devices `inside`.

    A Step's duration holds on the quickest devices it may have, so its work is duration x pace.
    """
    time = sum(slot.device.speed for slot in inside)
    even = len({slot.device.speed for slot in inside}) == 1
    if not time:
        return
    sizes = [slot.capacity for slot in inside if slot.capacity]
    most = max(sizes) if len(sizes) == len(inside) else 0
    alone = [one for one in within if not one.gpu_memory_bytes or 0 < most < 2 * one.gpu_memory_bytes]
    yield Resource(name, {one: one.gpu_count * within[one] for one in alone}, time, even)
    if not most:
        return
    parts = {one: one.gpu_count * within[one] * (one.gpu_memory_bytes or most) for one in within}
    yield Resource(name, parts, most * time, even)
    grain = gcd(*(one.gpu_memory_bytes for one in within))
    usable = [size - size % grain if grain else size for size in sizes]
    parts = {one: one.gpu_count * within[one] * (one.gpu_memory_bytes or min(usable)) for one in within}
    room = sum(size * slot.device.speed for size, slot in zip(usable, inside, strict=True))
    yield Resource(name, parts, room, even)


class _Grid:
    """How long Steps of each demand take, by the quantiles of their heads and tails."""

    def __init__(self, works: Sequence[Work], ends: Ends | None) -> None:
        self._split = ends is not None
        heads, tails = ends if ends is not None else ([0] * len(works), [0] * len(works))
        self._heads, self._tails = _quantiles(heads), _quantiles(tails)
        wide = self._wide = len(self._tails)
        rows, columns = self._heads, self._tails
        numbers: dict[Demand, int] = {}
        firsts: dict[int, int] = {}  # by the demand's `id`, its first cell: to look a demand up is to read it
        times: dict[int, int] = {}
        size = wide * len(rows)
        for (demand, duration, _, _), head, tail in zip(works, heads, tails, strict=True):
            first = firsts.get(id(demand))
            if first is None:
                first = firsts[id(demand)] = numbers.setdefault(demand, len(numbers)) * size
            cell = first + (bisect_right(rows, head) - 1) * wide + bisect_right(columns, tail) - 1
            times[cell] = times.get(cell, 0) + duration
        demands = list(numbers)
        self.cells = {(demands[cell // size], cell % size): time for cell, time in times.items()}
        self.demands = sorted(demands, key=sortable)

    def bounds(self, resource: Resource) -> Iterable[tuple[str, int]]:
        """The bound of the whole area, and the highest of those with a head and a tail."""
        sums = [0] * (self._wide * len(self._heads))
        takes = resource.takes
        for (demand, cell), time in self.cells.items():
            sums[cell] += time * takes.get(demand, 0)
        yield resource.name, -(-sum(sums) // resource.capacity)
        if self._split:
            yield f"{resource.name} with head and tail", self._highest(sums, resource.capacity)

    def _highest(self, sums: Sequence[int], capacity: int) -> int:
        best, wide = 0, self._wide
        below = [0] * wide
        for row in range(len(self._heads) - 1, -1, -1):
            right = 0
            for column in range(wide - 1, -1, -1):
                right += sums[row * wide + column]
                below[column] += right
                if below[column]:
                    bound = self._heads[row] + self._tails[column] - (-below[column] // capacity)
                    best = max(best, bound)
        return best


def sortable(demand: Demand) -> tuple[object, ...]:
    """Demands in a fixed order, whether or not they have terms, and a NUMA node among these."""
    terms = demand.terms
    if terms is None:
        return demand[:7]
    return (*demand[:7], *terms[:-1], -1 if terms.numa is None else terms.numa)


def _quantiles(values: Iterable[int]) -> list[int]:
    distinct = sorted(set(values))
    if len(distinct) <= _QUANTILES:
        return distinct
    last = _QUANTILES - 1
    return [distinct[at * (len(distinct) - 1) // last] for at in range(_QUANTILES)]
