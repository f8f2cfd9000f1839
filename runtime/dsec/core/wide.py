"""Graphs taken a whole level at a time: the same results as `order`, sooner where levels are wide.

This is the door to numpy, which is imported with this module. In its compact form the targets
of node u are `targets[heads[u]:][:lengths[u]]`.
"""

from __future__ import annotations

from array import array
from itertools import chain

import numpy as np

from dsec.core.measures import WIDE, Walk
from dsec.core.packed import Packed
from dsec.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, TypeAlias

    from dsec.core.order import Adjacency

    Ints: TypeAlias = np.ndarray[Any, np.dtype[Any]]

PATIENCE = 256
"""Levels that may be narrow before the walk by levels is given up."""


class Csr(Record):
    """A graph in three arrays."""

    heads: Ints
    lengths: Ints
    targets: Ints


def csr(lengths: Ints, targets: Ints) -> Csr:
    """The graph whose nodes have so many targets each."""
    heads = np.cumsum(lengths)
    heads -= lengths
    return Csr(heads, lengths, targets)


def compact(successors: Adjacency) -> Csr:
    """The compact form of a list of lists.

    Targets are of the size that numpy takes places in: it would turn any others into such at every use.
    """
    if isinstance(successors, Packed):
        if successors.compact is None:
            both = (np.frombuffer(some, np.int64) for some in (successors.lengths, successors.flat))
            successors.compact = csr(*both)
        return successors.compact
    lengths = np.fromiter(map(len, successors), np.int64, len(successors))
    return csr(lengths, np.fromiter(chain.from_iterable(successors), np.int64, int(lengths.sum())))


def targets_of(graph: Csr, nodes: Ints) -> Ints:
    """The targets of `nodes`, which ascend, node by node."""
    if not len(nodes):
        return nodes
    first, last = nodes[0], nodes[-1]
    if last - first < len(nodes):  # neighbours
        return graph.targets[graph.heads[first] : graph.heads[last] + graph.lengths[last]]
    lengths = graph.lengths.take(nodes)
    before = np.cumsum(lengths) - lengths
    places = np.repeat(graph.heads.take(nodes) - before, lengths)
    places += np.arange(len(places))
    return graph.targets.take(places)


def distinct(nodes: Ints, size: int) -> Ints:
    """The nodes, each once, ascending; `size` is how many there are at all."""
    if 32 * len(nodes) < size:
        found = np.sort(nodes)  # `unique` hashes, which takes several times as long
        first = np.ones(len(found), bool)
        np.not_equal(found[1:], found[:-1], out=first[1:])
        return found.compress(first)
    marked = np.zeros(size, bool)
    marked[nodes] = True
    return np.flatnonzero(marked)


class Budget:
    """How long a walk may stay narrow."""

    def __init__(self) -> None:
        self._levels = -PATIENCE
        self._touched = 0

    def spent(self, touched: int) -> bool:
        """Whether the levels so far held so little that one by one would have been quicker."""
        self._levels += 1
        self._touched += touched
        return self._touched < self._levels * WIDE


Level = tuple["Ints", "Ints"]
"""The nodes of a level, ascending, and the targets of their edges, node by node."""


def peeled(graph: Csr) -> list[Level] | None:
    """The levels, without nodes in or behind a circle; None: they are narrow."""
    waits = np.bincount(graph.targets, minlength=len(graph.lengths))
    some = np.flatnonzero(waits == 0)
    found: list[Level] = []
    budget = Budget()
    while len(some):
        targets = targets_of(graph, some)
        found.append((some, targets))
        if budget.spent(len(some) + len(targets)):
            return None
        waits[some] = -1
        np.subtract.at(waits, targets, 1)
        some = _freed(waits, targets)
    return found


def _freed(waits: Ints, targets: Ints) -> Ints:
    """Which of the targets wait for nothing any more, each once, ascending."""
    if not len(targets):
        return targets
    low, high = int(targets.min()), int(targets.max()) + 1
    if high - low < 16 * len(targets):
        return np.flatnonzero(waits[low:high] == 0) + low
    return distinct(targets.compress(waits.take(targets) == 0), len(waits))


def walked(successors: Adjacency, weights: Sequence[int]) -> Walk | None:
    """Every node's numbers; the levels alone where a circle is left; None: narrow, or too large numbers."""
    graph = compact(successors)
    found = peeled(graph)
    if found is None:
        return None
    by_level = [some.tolist() for some, _ in found]
    if sum(map(len, by_level)) < len(successors):
        return Walk(by_level, [], [], [])
    try:
        weight: Ints = np.frombuffer(array("q", weights), np.int64)
    except OverflowError:
        return None
    if int(weight.max(initial=0)) * len(found) >= 2**62:
        return None
    ranks, starts = _ranks(graph, found, weight), _starts(graph, found, weight)
    slacks = ranks.max(initial=0) - ranks - starts
    return Walk(by_level, *(one.tolist() for one in (ranks, starts, slacks)))


def _ranks(graph: Csr, found: list[Level], weight: Ints) -> Ints:
    ranks = weight.copy()
    for some, targets in reversed(found):
        lengths = graph.lengths[some]
        if not lengths.all():
            inner = lengths > 0
            some, lengths = some.compress(inner), lengths.compress(inner)
        if len(some):
            ranks[some] += np.maximum.reduceat(ranks.take(targets), np.cumsum(lengths) - lengths)
    return ranks


def _starts(graph: Csr, found: list[Level], weight: Ints) -> Ints:
    starts = np.zeros_like(weight)
    for some, targets in found:
        np.maximum.at(starts, targets, np.repeat(starts[some] + weight[some], graph.lengths[some]))
    return starts
