"""The circles of a large graph: the same as `order.circles` finds, by reaching many nodes at once.

One circle that holds a good part of all is what the busiest node reaches forwards and backwards. What
waits for no circle, and what no circle waits for, is taken away. Many circles are told apart by
colours: each node takes the highest number that reaches it, and the nodes of a colour that reach the
node it is named after are one circle. What is then left, or too narrow, is searched node by node.
"""

from __future__ import annotations

import numpy as np

from dsec.core.order import circles as one_by_one
from dsec.core.wide import Budget, Csr, compact, csr, distinct, peeled, targets_of
from dsec.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec.core.order import Adjacency
    from dsec.core.wide import Ints

FEW = 20_000
"""Edges up to which it is quicker to search node by node."""


class Part(Record):
    """Nodes that are not yet told apart, and the edges among them, ascending by source."""

    names: Ints
    """What each node is called in the whole graph."""
    sources: Ints
    targets: Ints


def circles(successors: Adjacency, *, few: int = FEW) -> list[list[int]]:
    """Every strongly connected component that holds a circle: ascending, by its lowest node."""
    graph = compact(successors)
    size = len(successors)
    sources = np.repeat(np.arange(size, dtype=np.int32), graph.lengths)
    part = Part(np.arange(size), sources, graph.targets)
    found: list[list[int]] = []
    wide = True
    while wide and len(part.targets) > few:
        part, wide = _round(part, found, few)
    return sorted(found + _searched(part))


def _round(part: Part, found: list[list[int]], few: int) -> tuple[Part, bool]:
    """Take circles off `part`: what is left, and whether another round is worth it."""
    outcome = _largest(part)
    if outcome is None or 4 * int(np.count_nonzero(outcome)) < len(part.names):
        left = _trimmed(part)
        if left is None:
            return part, False
        if 4 * len(left.targets) < 3 * len(part.targets) or len(left.targets) <= few:
            return left, True
        part = left
        outcome = _coloured(part)
        if outcome is None:
            return part, False
    found += _components(part, outcome)
    rest = _only(part, outcome == 0)
    return rest, 4 * len(rest.targets) <= 3 * len(part.targets)


def _searched(part: Part) -> list[list[int]]:
    """The circles of `part`, node by node."""
    graph = _forwards(part)
    flat, heads = graph.targets.tolist(), [*graph.heads.tolist(), len(graph.targets)]
    near = [flat[heads[at] : heads[at + 1]] for at in range(len(part.names))]
    names = part.names.tolist()
    return [[names[at] for at in members] for members in one_by_one(near)]


def _forwards(part: Part) -> Csr:
    return csr(np.bincount(part.sources, minlength=len(part.names)), part.targets)


def _backwards(part: Part) -> Csr:
    # Both ends in one number: sorting numbers is several times as quick as sorting places by them.
    edges = part.targets.astype(np.int64) << 32
    edges |= part.sources
    edges.sort()
    return csr(np.bincount(part.targets, minlength=len(part.names)), edges.astype(np.int32))


def _only(part: Part, kept: Ints) -> Part:
    """The part that is left of `part`."""
    if kept.all():
        return part
    number = np.cumsum(kept, dtype=np.int32) - 1
    inside = kept[part.sources] & kept[part.targets]
    return Part(part.names[kept], number[part.sources[inside]], number[part.targets[inside]])


def _trimmed(part: Part) -> Part | None:
    """Without what no circle leads to or comes from; None: too narrow to be taken by levels."""
    for turned in (_forwards, _backwards):
        levels = peeled(turned(part))
        if levels is None:
            return None
        kept = np.ones(len(part.names), bool)
        for some, _ in levels:
            kept[some] = False
        part = _only(part, kept)
    return part


def _reached(graph: Csr, roots: Ints) -> Ints | None:
    """Which nodes the roots reach, themselves included; None: too narrow to be taken by levels."""
    seen = np.zeros(len(graph.lengths), bool)
    seen[roots] = True
    budget = Budget()
    some = roots
    while len(some):
        targets = targets_of(graph, some)
        if budget.spent(len(some) + len(targets)):
            return None
        some = distinct(targets[~seen[targets]], len(seen))
        seen[some] = True
    return seen


def _largest(part: Part) -> Ints | None:
    """Numbers per node: 1 in the component of the busiest node, 0 elsewhere."""
    ahead, back = _forwards(part), _backwards(part)
    busiest = np.array([np.argmax(ahead.lengths * back.lengths)])
    one = _reached(ahead, busiest)
    other = _reached(back, busiest) if one is not None else None
    return None if one is None or other is None else (one & other).astype(np.int64)


def _coloured(part: Part) -> Ints | None:
    """Numbers per node: one above 0 for each component that colours tell apart, 0 for others."""
    ahead = _forwards(part)
    colour = np.arange(1, len(part.names) + 1)
    some = np.arange(len(part.names))
    budget = Budget()
    while len(some):
        targets = targets_of(ahead, some)
        if budget.spent(len(some) + len(targets)):
            return None
        brought = np.repeat(colour[some], ahead.lengths[some])
        better = brought > colour[targets]
        np.maximum.at(colour, targets[better], brought[better])
        some = distinct(targets[better], len(colour))
    same = colour[part.sources] == colour[part.targets]
    roots = np.flatnonzero(colour == np.arange(1, len(colour) + 1))
    inside = _reached(_backwards(Part(part.names, part.sources[same], part.targets[same])), roots)
    return None if inside is None else np.where(inside, colour, 0)


def _components(part: Part, outcome: Ints) -> list[list[int]]:
    """The components that `outcome` numbers; a node alone counts only when it waits for itself."""
    nodes = np.flatnonzero(outcome)
    nodes = nodes[np.argsort(outcome[nodes], kind="stable")]
    starts = np.flatnonzero(np.diff(outcome[nodes], prepend=0))
    own = set(part.sources[part.sources == part.targets].tolist())
    groups = [group.tolist() for group in np.split(nodes, starts[1:])]
    names = part.names.tolist()
    return [[names[at] for at in some] for some in groups if len(some) > 1 or some[0] in own]
