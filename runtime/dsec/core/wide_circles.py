"""The circles of a large graph: the same as `order.circles` finds, by reaching many nodes at once.

Each node is coloured with the lowest node that it reaches. Nodes of one circle reach the same, so they
share a colour, and those that the node of that name reaches through its own colour are the circle. Most
graphs are written so that edges run forwards but for those that close a circle; then following each node's
lowest target as far as that leads settles nearly all colours, and all targets of the few nodes where that
ends the rest. What is not settled is swept, all its edges, from the last node to the first. Where that
takes too many sweeps, what the busiest node reaches forwards and backwards is one circle, often the largest.
What waits for no circle, and what no circle waits for, is taken away. What is then left, or too narrow, is
searched node by node.

Nodes are picked by `compress`, which turns the mask into places first: indexing with the mask itself takes
numpy four times as long where what it picks is scattered.
"""

from __future__ import annotations

from itertools import pairwise

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
"""Edges of a node that are looked at before all of them, where it has more than twice as many on average."""
DENSE = 4
"""Where more than one in so many nodes is gone on from, all edges are looked at, not theirs picked out."""
SMALL = 32
"""Nodes of a component below which it is quicker cut from a list than from an array."""


Known = tuple["Ints", "Ints"]
"""The colours of all nodes, and of which nodes they tell the component: those of one colour are one."""


class Part(Record):
    """Nodes that are not yet told apart, and the edges among them."""

    names: Ints | None
    """What each node is called in the whole graph, ascending; None: this is the whole graph."""
    graph: Csr

    def called(self, nodes: Ints) -> Ints:
        """The names of some of the nodes."""
        return nodes if self.names is None else self.names.take(nodes)


def circles(successors: Adjacency, *, few: int = FEW) -> list[list[int]]:
    """Every strongly connected component that holds a circle: ascending, by its lowest node."""
    part = Part(None, compact(successors))
    found: list[list[int]] = []
    wide = True
    while wide and len(part.graph.targets) > few:
        part, wide = _round(part, found)
    return sorted(found + _searched(part))


def _round(part: Part, found: list[list[int]]) -> tuple[Part, bool]:
    """Take circles off `part`: what is left, and whether another round is worth it."""
    before = len(part.graph.targets)
    for told_apart in (_coloured, _largest):
        known = told_apart(part.graph)
        if known is None:
            continue
        colours, told = known
        found += _components(part, colours, told=told)
        part = _only(part, ~told)
        if 4 * len(part.graph.targets) <= 3 * before:
            return part, True
    left = _trimmed(part)
    return (part, False) if left is None else (left, 4 * len(left.graph.targets) <= 3 * before)


def _searched(part: Part) -> list[list[int]]:
    """The circles of `part`, node by node."""
    graph = part.graph
    flat, heads = graph.targets.tolist(), [*graph.heads.tolist(), len(graph.targets)]
    size = len(graph.lengths)
    near = [flat[heads[at] : heads[at + 1]] for at in range(size)]
    names = part.called(np.arange(size)).tolist()
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
    inside = np.flatnonzero(kept.take(targets))
    sources = np.repeat(np.arange(len(nodes)), lengths).take(inside)
    number = np.empty(len(kept), np.int64)
    number[nodes] = np.arange(len(nodes))
    targets = number.take(targets.take(inside))
    return Part(part.called(nodes), csr(np.bincount(sources, minlength=len(nodes)), targets))


def _trimmed(part: Part) -> Part | None:
    """Without what no circle leads to or comes from; None: too narrow to be taken by levels."""
    for turned in (None, _backwards):
        levels = peeled(part.graph if turned is None else turned(part.graph))
        if levels is None:
            return None
        kept = np.ones(len(part.graph.lengths), bool)
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
        some = distinct(targets.compress(~seen.take(targets)), len(seen))
        seen[some] = True
    return seen


def _largest(graph: Csr) -> Known | None:
    """One colour, and the busiest node's component; None: too narrow to be taken by levels."""
    back = _backwards(graph)
    busiest = np.array([np.argmax(graph.lengths * back.lengths)])
    one = _reached(graph, busiest)
    other = _reached(back, busiest) if one is not None else None
    if one is None or other is None:
        return None
    return np.zeros(len(one), np.int32), one & other


def _coloured(graph: Csr) -> Known | None:
    """The lowest node that each reaches, and which nodes that one reaches, too; None: it takes too long."""
    found = _colours(graph)
    if found is None:
        return None
    colours, some = found
    colours = colours.astype(np.int32)  # half as much to look through
    hidden = colours.copy()  # the colour of what is not seen yet, -1 elsewhere
    hidden[some] = -1
    budget = Budget()
    while len(some):
        dense = DENSE * len(some) > len(colours)
        if budget.spent(len(some) if dense else len(some) + int(graph.lengths.take(some).sum())):
            return None
        some = (_beyond_all if dense else _beyond)(graph, some, colours=colours, hidden=hidden)
    return colours, hidden < 0


def _beyond(graph: Csr, nodes: Ints, *, colours: Ints, hidden: Ints) -> Ints:
    """See the targets of `nodes` that are of their colour and hidden: which they are."""
    targets = targets_of(graph, nodes)
    same = hidden.take(targets) == np.repeat(colours.take(nodes), graph.lengths.take(nodes))
    found = distinct(targets.compress(same), len(hidden))
    hidden[found] = -1
    return found


def _beyond_all(graph: Csr, nodes: Ints, *, colours: Ints, hidden: Ints) -> Ints:
    """The same without picking out their edges; of what is found, that of whose colour more is hidden."""
    before = np.flatnonzero(hidden >= 0)
    shown = np.full_like(hidden, -2)
    shown[nodes] = colours.take(nodes)
    heads = graph.heads
    cuts = _cuts(heads, len(graph.targets))
    for first, last in pairwise(cuts):
        lengths = graph.lengths[first:last]
        targets = graph.targets[heads[first] : heads[last - 1] + lengths[-1]]
        same = hidden.take(targets) == np.repeat(shown[first:last], lengths)
        hidden[targets.compress(same)] = -1
    left = hidden.take(before)
    wanted = np.zeros(len(hidden), bool)
    wanted[left.compress(left >= 0)] = True
    found = before.compress(left < 0)
    return found.compress(wanted.take(colours.take(found)))


def _colours(graph: Csr) -> tuple[Ints, Ints] | None:
    """The lowest node that each node reaches, itself included, and which these are; None: too many sweeps."""
    own = np.arange(len(graph.lengths))
    low = _lowest_targets(graph, own)
    ends = np.flatnonzero(low >= own)
    onwards = low.take(ends)
    least = np.minimum(low, own, out=low)
    # A floor is a node below which neither it nor any later node has a target. No node reaches anything below
    # the last floor before it, so one whose colour is a floor is settled.
    after = np.minimum.accumulate(np.minimum.reduceat(least, ends)[::-1])[::-1]
    unsettled = np.ones(len(own), bool)
    unsettled[ends.compress(after == ends)] = False
    some = unsettled.take(ends)
    colours = _followed(least, own)
    own[ends] = ends
    colours = _joined(graph, colours, lower=own, ends=ends.compress(some), onwards=onwards.compress(some))
    inner = np.flatnonzero(unsettled.take(colours))
    inner = inner.compress(graph.lengths.take(inner) > 0)
    if DENSE * len(inner) > len(own):
        colours = _sampled(graph, colours)
    for _ in range(SWEEPS):
        inner = inner.compress(unsettled.take(colours.take(inner)))
        if not _sweep(graph, inner, colours=colours):
            return colours, ends.compress(colours.take(ends) == ends)
    return None


def _lowest_targets(graph: Csr, own: Ints) -> Ints:
    """Each node's lowest target, itself where it has none."""
    if graph.lengths.all():
        lowest: Ints = np.minimum.reduceat(graph.targets, graph.heads)
        return lowest
    inner = np.flatnonzero(graph.lengths)
    low = own.copy()
    low[inner] = np.minimum.reduceat(graph.targets, graph.heads.take(inner))
    return low


def _followed(lower: Ints, spare: Ints) -> Ints:
    """Where each node comes to at last that is followed to its lower one, and so on; uses up both arrays.

    Nothing is laid out anew: a new page of memory costs more than what is done with it here.
    """
    while True:
        lower.take(lower, out=spare, mode="clip")  # "raise" would fill a buffer first
        spare.take(spare, out=lower, mode="clip")
        if np.array_equal(lower, spare):
            return lower


def _joined(graph: Csr, colours: Ints, *, lower: Ints, ends: Ints, onwards: Ints) -> Ints:
    """The colours, lower where one of the ends, as which others are coloured, has a target of a lower colour.

    `onwards` is the lowest target of each, none of them lower than the end itself; `lower` has each colour's
    own number in its place.
    """
    left = _led(ends, colours.take(onwards), lower=lower, ends=ends)
    left = left.compress(graph.lengths.take(left) > 0)
    before = 2 * len(left)
    while 4 * len(left) < 3 * before:
        before = len(left)
        lengths = graph.lengths.take(left)
        beyond = lower.take(colours.take(targets_of(graph, left)))
        least = np.minimum.reduceat(beyond, np.cumsum(lengths) - lengths)
        left = _led(left, least, lower=lower, ends=ends)
    return lower.take(colours)


def _led(some: Ints, onwards: Ints, *, lower: Ints, ends: Ints) -> Ints:
    """Lead some of the ends onwards where that is lower, and all of them as far as it goes; what is left."""
    lower[some] = np.minimum(some, onwards)
    before, there = ends, lower.take(ends)
    while not np.array_equal(before, there):
        lower[ends] = there
        before, there = there, lower.take(there)
    return some.compress(lower.take(some) == some)


def _sampled(graph: Csr, colours: Ints) -> Ints:
    """The colours, lower through a few edges of each node where it has many: they lead almost everywhere."""
    if len(graph.targets) < 2 * SAMPLED * len(colours):
        return colours
    inner, own = graph.lengths > 0, np.arange(len(colours))
    places = [graph.heads + (graph.lengths * (2 * at + 1) >> 3) for at in range(SAMPLED)]
    columns = [np.where(inner, graph.targets.take(np.where(inner, some, 0)), own) for some in places]
    for _ in range(SWEEPS):
        before = colours
        for column in columns:
            colours = np.minimum(colours, before.take(column))
        colours = colours.take(colours)  # what is reached from there is reached, too
        if np.array_equal(colours, before):
            break
    return colours


def _sweep(graph: Csr, nodes: Ints, *, colours: Ints) -> bool:
    """Lower the nodes' colours to those of their targets, the last node first; whether any was lowered."""
    lowered = False
    for piece, heads in _pieces(graph, nodes):
        lowest = np.minimum.reduceat(colours.take(targets_of(graph, piece)), heads)
        known = colours.take(piece)
        if (lowest < known).any():
            lowered = True
            for _ in range(3):
                colours[piece] = np.minimum(lowest, known)
                lowest = colours.take(colours[piece])  # what is reached from there is reached, too
    return lowered


def _pieces(graph: Csr, nodes: Ints) -> Iterator[tuple[Ints, Ints]]:
    """The nodes, which have targets, in pieces of about a block of edges, the last first.

    With each piece, where the targets of its nodes begin in all of its targets.
    """
    lengths = graph.lengths.take(nodes)
    heads = np.cumsum(lengths) - lengths
    cuts = _cuts(heads, int(lengths.sum()))
    for first, last in zip(reversed(cuts[:-1]), reversed(cuts[1:]), strict=True):
        yield nodes[first:last], heads[first:last] - heads[first]


def _cuts(heads: Ints, edges: int) -> list[int]:
    """Where to cut a list of nodes so that each piece has about a block of the edges."""
    found = np.searchsorted(heads, range(0, edges, BLOCK)).tolist()
    return list(dict.fromkeys([*found, len(heads)]))


def _components(part: Part, colours: Ints, *, told: Ints) -> list[list[int]]:
    """The components that share a colour among those told; one alone counts only when it waits for itself."""
    nodes = np.flatnonzero(told)
    colours = colours.take(nodes)
    if (colours[1:] < colours[:-1]).any():
        order = np.argsort(colours, kind="stable")
        nodes, colours = nodes[order], colours[order]
    starts = np.append(0, np.flatnonzero(colours[1:] != colours[:-1]) + 1)[: len(nodes)]
    ends = np.append(starts[1:], len(nodes))
    single = ends - starts == 1
    alone = np.sort(nodes.take(starts.compress(single)))
    bounds = (some.compress(~single).tolist() for some in (starts, ends))
    names = part.called(nodes)
    if len(nodes) < SMALL * len(starts):
        flat = names.tolist()
        groups = [flat[first:last] for first, last in zip(*bounds, strict=True)]
    else:
        groups = [names[first:last].tolist() for first, last in zip(*bounds, strict=True)]
    sources = np.repeat(alone, part.graph.lengths[alone])
    own = sources[sources == targets_of(part.graph, alone)]
    return groups + [[name] for name in part.called(own).tolist()]
