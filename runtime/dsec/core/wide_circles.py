"""The circles of a large graph: the same as `order.circles` finds, by reaching many nodes at once.

Each node is coloured with the lowest node that it reaches. Nodes of one circle reach the same, so they
share a colour, and those that the node of that name reaches through its own colour are the circle. Most
graphs are written so that edges run forwards but for those that close a circle; then few sweeps over all
edges, from the last node to the first, settle the colours. Where they do not, what the busiest node reaches
forwards and backwards is one circle, often the largest. What waits for no circle, and what no circle waits
for, is taken away. What is then left, or too narrow, is searched node by node.
"""

from __future__ import annotations

import numpy as np

from dsec.core.order import circles as one_by_one
from dsec.core.wide import Budget, Csr, compact, csr, distinct, peeled, targets_of
from dsec.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec.core.order import Adjacency
    from dsec.core.wide import Ints

FEW = 20_000
"""Edges up to which it is quicker to search node by node."""
BLOCK = 32_768
"""Edges that a sweep takes at a time: they and their ends stay in the processor's cache."""
SWEEPS = 12
"""After so many the colours are given up."""
SAMPLED = 3
"""Edges of a node that are looked at first, where there are more than twice as many on average."""


class Part(Record):
    """Nodes that are not yet told apart, and the edges among them."""

    names: Ints
    """What each node is called in the whole graph, ascending."""
    graph: Csr


def circles(successors: Adjacency, *, few: int = FEW) -> list[list[int]]:
    """Every strongly connected component that holds a circle: ascending, by its lowest node."""
    part = Part(np.arange(len(successors)), compact(successors))
    found: list[list[int]] = []
    wide = True
    while wide and len(part.graph.targets) > few:
        part, wide = _round(part, found)
    return sorted(found + _searched(part))


def _round(part: Part, found: list[list[int]]) -> tuple[Part, bool]:
    """Take circles off `part`: what is left, and whether another round is worth it."""
    before = len(part.graph.targets)
    for told_apart in (_coloured, _largest):
        colours = told_apart(part.graph)
        if colours is None:
            continue
        found += _components(part, colours)
        part = _only(part, colours < 0)
        if 4 * len(part.graph.targets) <= 3 * before:
            return part, True
    left = _trimmed(part)
    return (part, False) if left is None else (left, 4 * len(left.graph.targets) <= 3 * before)


def _searched(part: Part) -> list[list[int]]:
    """The circles of `part`, node by node."""
    graph = part.graph
    flat, heads = graph.targets.tolist(), [*graph.heads.tolist(), len(graph.targets)]
    near = [flat[heads[at] : heads[at + 1]] for at in range(len(part.names))]
    names = part.names.tolist()
    return [[names[at] for at in members] for members in one_by_one(near)]


def _sources(graph: Csr) -> Ints:
    return np.repeat(np.arange(len(graph.lengths)), graph.lengths)


def _backwards(graph: Csr) -> Csr:
    # Both ends in one number: sorting numbers is several times as quick as sorting places by them.
    edges = graph.targets << 32
    edges |= _sources(graph)
    edges.sort()
    edges &= 2**32 - 1
    return csr(np.bincount(graph.targets, minlength=len(graph.lengths)), edges)


def _only(part: Part, kept: Ints) -> Part:
    """The part of `part` that the kept nodes are."""
    if kept.all():
        return part
    nodes = np.flatnonzero(kept)
    lengths, targets = part.graph.lengths[nodes], targets_of(part.graph, nodes)
    inside = kept[targets]
    sources = np.repeat(np.arange(len(nodes)), lengths)[inside]
    number = np.cumsum(kept) - 1
    return Part(part.names[nodes], csr(np.bincount(sources, minlength=len(nodes)), number[targets[inside]]))


def _trimmed(part: Part) -> Part | None:
    """Without what no circle leads to or comes from; None: too narrow to be taken by levels."""
    for turned in (None, _backwards):
        levels = peeled(part.graph if turned is None else turned(part.graph))
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


def _largest(graph: Csr) -> Ints | None:
    """Per node: the lowest node of the busiest node's component where it belongs to it, -1 elsewhere."""
    back = _backwards(graph)
    busiest = np.array([np.argmax(graph.lengths * back.lengths)])
    one = _reached(graph, busiest)
    other = _reached(back, busiest) if one is not None else None
    if one is None or other is None:
        return None
    both = one & other
    return np.where(both, np.argmax(both), -1)


def _coloured(graph: Csr) -> Ints | None:
    """Per node: the lowest node of its component where colours tell that, -1 elsewhere."""
    columns = _columns(graph)
    colours = _colours(graph, columns)
    if colours is None:
        return None
    missing = np.bincount(colours, minlength=len(colours))
    seen = np.zeros(len(colours), bool)
    some = np.flatnonzero(missing)
    if columns:
        seen[some] = True
        _spread(columns, colours, seen)
        some = _beyond(graph, np.flatnonzero(graph.lengths), colours=colours, seen=seen, within=seen)
        missing -= np.bincount(colours[seen], minlength=len(missing))
    budget = Budget()
    while len(some):
        seen[some] = True
        missing -= np.bincount(colours[some], minlength=len(missing))
        some = some[(missing[colours[some]] > 0) & (graph.lengths[some] > 0)]
        if budget.spent(len(some) + int(graph.lengths[some].sum())):
            return None
        some = _beyond(graph, some, colours=colours, seen=seen)
    return np.where(seen, colours, -1)


def _columns(graph: Csr) -> list[Ints]:
    """Some targets of each node, itself where it has none; no column where nodes have few edges.

    Where they have many, a few edges of each lead almost everywhere that all of them do.
    """
    lengths = graph.lengths
    if len(graph.targets) < 2 * SAMPLED * len(lengths):
        return []
    own = np.arange(len(lengths))
    inner = lengths > 0
    places = [graph.heads + (lengths * (2 * at + 1) >> 3) for at in range(SAMPLED)]
    if inner.all():
        return [graph.targets.take(some) for some in places]
    return [np.where(inner, graph.targets.take(np.where(inner, some, 0)), own) for some in places]


def _spread(columns: list[Ints], colours: Ints, seen: Ints) -> None:
    """See what is reached along the columns, within each colour."""
    some = np.flatnonzero(seen)
    budget = Budget()
    while len(some) and not budget.spent(len(columns) * len(some)):
        reached = [some[:0]]
        for column in columns:
            targets = column.take(some)
            fresh = np.flatnonzero(~seen.take(targets))
            targets = targets[fresh]
            targets = targets[colours.take(targets) == colours.take(some[fresh])]
            seen[targets] = True
            reached.append(targets)
        some = distinct(np.concatenate(reached), len(seen))


def _beyond(graph: Csr, nodes: Ints, *, colours: Ints, seen: Ints, within: Ints | None = None) -> Ints:
    """Targets of `nodes`, those of them that are `within`, that are of their colour and not seen yet."""
    found = [nodes[:0]]
    for piece, heads in _pieces(graph, nodes):
        targets = targets_of(graph, piece)
        fresh = np.flatnonzero(~seen.take(targets))
        if 8 * len(fresh) < len(targets):
            sources = piece[np.searchsorted(heads, fresh, side="right") - 1]
        else:
            sources = np.repeat(piece, graph.lengths[piece])[fresh]
        targets = targets[fresh]
        same = colours.take(targets) == colours.take(sources)
        found.append(targets[same if within is None else same & within[sources]])
    return distinct(np.concatenate(found), len(seen))


def _colours(graph: Csr, columns: list[Ints]) -> Ints | None:
    """The lowest node that each node reaches, itself included; None: it takes too many sweeps to find out."""
    inner = np.flatnonzero(graph.lengths)
    colours = np.arange(len(graph.lengths))
    if len(inner):
        least = np.minimum.reduceat(graph.targets, graph.heads[inner])
        colours[inner] = np.minimum(colours[inner], least)
    floors = _floors(colours)
    for _ in range(SWEEPS):
        before = colours
        for column in columns:
            colours = np.minimum(colours, before.take(column))
        colours = colours.take(colours)  # what is reached from there is reached, too
        if np.array_equal(colours, before):
            break
    for _ in range(SWEEPS):
        inner = inner[colours[inner] > floors[inner]]
        changed = False
        for piece, heads in _pieces(graph, inner):
            lowest = np.minimum.reduceat(colours.take(targets_of(graph, piece)), heads)
            known = colours.take(piece)
            if (lowest < known).any():
                changed = True
                for _ in range(3):
                    colours[piece] = np.minimum(lowest, known)
                    lowest = colours.take(colours[piece])
        if not changed:
            return colours
    return None


def _floors(least: Ints) -> Ints:
    """Per node the highest at or before it below which neither it nor any later node has a target.

    No node reaches anything below its floor, so one whose colour is its floor is settled.
    """
    after = np.minimum.accumulate(least[::-1])[::-1]
    own = np.arange(len(after))
    return np.maximum.accumulate(np.where(after == own, own, 0))


def _pieces(graph: Csr, nodes: Ints) -> Iterator[tuple[Ints, Ints]]:
    """The nodes, which have targets, in pieces of about a block of edges, the last first.

    With each piece, where the targets of its nodes begin in all of its targets.
    """
    heads = np.cumsum(np.append(0, graph.lengths[nodes]))
    cuts = _cuts(heads)
    for first, last in zip(reversed(cuts[:-1]), reversed(cuts[1:]), strict=True):
        yield nodes[first:last], heads[first:last] - heads[first]


def _cuts(heads: Ints) -> list[int]:
    """Where to cut a list of nodes so that each piece has about a block of edges."""
    found = np.searchsorted(heads, range(0, int(heads[-1]), BLOCK)).tolist()
    return list(dict.fromkeys([*found, len(heads) - 1]))


def _components(part: Part, colours: Ints) -> list[list[int]]:
    """The components that share a colour above -1; a node alone counts only when it waits for itself."""
    nodes = np.flatnonzero(colours >= 0)
    colours = colours.take(nodes)
    if (colours[1:] < colours[:-1]).any():
        order = np.argsort(colours, kind="stable")
        nodes, colours = nodes[order], colours[order]
    starts = np.flatnonzero(np.diff(colours, prepend=-1))
    ends = np.append(starts[1:], len(nodes))
    alone = np.sort(nodes[starts[ends - starts == 1]])
    several = ends - starts > 1
    names = part.names[nodes].tolist()
    groups = [names[a:b] for a, b in zip(starts[several].tolist(), ends[several].tolist(), strict=True)]
    sources = np.repeat(alone, part.graph.lengths[alone])
    own = sources[sources == targets_of(part.graph, alone)]
    return groups + [[name] for name in part.names[own].tolist()]
