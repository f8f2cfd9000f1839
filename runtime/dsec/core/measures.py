"""What a graph measures, at any size: levels, ranks, starts, slack, critical path, width, peaks.

Two ways with the same results. A small or narrow graph is walked node by node. Where whole levels are
wide, numpy takes them a level at a time (`wide`), if it is installed. It is imported only for a graph on
which it saves more time than its import takes.
"""

from __future__ import annotations

import gc
import sys
from itertools import accumulate, chain

from dsec.core.order import components, critical_path, earliest_starts, generations, upward_ranks, waiting
from dsec.core.packed import Packed
from dsec.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from types import ModuleType
    from typing import TypeVar

    from dsec.core.order import Adjacency

    Result = TypeVar("Result")

IMPORTED_PAYS = 10_000
"""Nodes and edges from which numpy is quicker once it is imported."""
IMPORT_PAYS = 200_000
"""The same where it has to be imported first: 0.2 CPU seconds, as much as 170,000 take one by one."""
_PEEKED = 256
"""Levels after which a graph that looks narrow is called so."""
WIDE = 80
"""Nodes and edges per level from which a level is quicker taken as a whole."""


class Walk(Record):
    """Lists run along the nodes unless said otherwise; times are in the unit of the weights."""

    levels: list[list[int]]
    """The nodes of each level, ascending: level 0 waits for nothing, any other for one of the level before.
    One after the other they are a topological order."""
    ranks: list[int]
    """Longest path from each node to the end, its own weight included."""
    starts: list[int]
    """When each node could start if nothing but its needs held it up."""
    slacks: list[int]
    """How much later each node could start without lengthening the longest path."""


class Measures(Record):
    """What a graph without circles measures."""

    nodes: Walk
    critical_path: list[int]
    """A longest path; the lowest node wins a tie."""
    length: int
    """Of the critical path."""


def measure(successors: Adjacency, weights: Sequence[int]) -> Measures | None:
    """All measures of a graph; None where a circle allows no order."""
    wide = numpy_for(successors)
    found = _uncollected(wide.walked, successors, weights) if wide is not None else None
    walk: Walk = found or _walked(successors, weights)
    if sum(map(len, walk.levels)) < len(successors):
        return None
    path = critical_path(successors, walk.ranks)
    return Measures(walk, path, walk.ranks[path[0]] if path else 0)


def _uncollected(function: Callable[..., Result], *arguments: object) -> Result:
    """What it returns; nothing is garbage before, and to look for some takes a tenth of the time."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        return function(*arguments)
    finally:
        if collecting:
            gc.enable()


def _walked(successors: Adjacency, weights: Sequence[int]) -> Walk:
    """Every node's numbers, one node after the other; the levels alone where a circle is left."""
    levels = generations(successors)
    order = list(chain.from_iterable(levels))
    if len(order) < len(successors):
        return Walk(levels, [], [], [])
    ranks = upward_ranks(order, successors, weights)
    starts = earliest_starts(order, successors, weights)
    longest = max(ranks, default=0)
    slacks = [longest - rank - start for rank, start in zip(ranks, starts, strict=True)]
    return Walk(levels, ranks, starts, slacks)


def circles(successors: Adjacency) -> list[list[int]]:
    """Every strongly connected component that holds a circle: ascending, by its lowest node."""
    if numpy_for(successors) is not None:
        from dsec.core.wide_circles import circles as by_levels

        return _uncollected(by_levels, successors)
    left = set(range(len(successors)))
    for level in generations(successors):
        left.difference_update(level)
    return components(left, successors)


def numpy_for(successors: Adjacency) -> ModuleType | None:
    """The walk by whole levels where it is quicker for this graph, and numpy is there."""
    edges = len(successors.flat) if isinstance(successors, Packed) else sum(map(len, successors))
    size = len(successors) + edges
    if size < (IMPORTED_PAYS if "numpy" in sys.modules else IMPORT_PAYS) or _begins_narrow(successors, size):
        return None
    try:
        from dsec.core import wide
    except ImportError:
        return None
    return wide


def _begins_narrow(successors: Adjacency, size: int) -> bool:
    """Whether the first levels are too narrow to be taken as wholes; a graph of many edges is not asked."""
    if size > 4 * len(successors):
        return False
    waits = waiting(successors)
    some = [node for node, count in enumerate(waits) if not count]
    touched = 0
    for _ in range(_PEEKED):
        touched += len(some) + sum(len(successors[node]) for node in some)
        if touched >= WIDE * _PEEKED:
            return False
        following = []
        for node in some:
            for target in successors[node]:
                waits[target] -= 1
                if not waits[target]:
                    following.append(target)
        some = following
    return bool(some)


def loads(levels: Iterable[Iterable[int]], amounts: Sequence[int]) -> list[int]:
    """What the nodes of each level ask for together, of one resource."""
    of = amounts.__getitem__
    return [sum(map(of, some)) for some in levels]


def peaks(starts: Sequence[int], weights: Sequence[int], amounts: Iterable[Sequence[int]]) -> tuple[int, ...]:
    """Per resource the most that is held at one instant, were each node to start as early as it could.

    A node holds its amount from its start up to, not including, its end; one that takes no time holds
    nothing.
    """
    size = len(starts)
    # What ends at an instant is given back before anything starts there.
    times = [2 * (starts[at] + weights[at]) for at in range(size)] + [2 * start + 1 for start in starts]
    some = [at for at in range(2 * size) if weights[at % size]]
    some.sort(key=times.__getitem__)
    return tuple(
        max(accumulate(one[at - size] if at >= size else -one[at] for at in some), default=0)
        for one in amounts
    )
