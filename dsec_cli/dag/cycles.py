"""The order a graph can run in, or every cycle that forbids one, with where to cut it."""

from __future__ import annotations

from dsec.core.order import circles, components, shortest_loop, topological
from dsec.record import Record
from dsec_cli.dag.graph import Edge, StepGraph
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from dsec.core.order import Adjacency

MOST_CUTS = 32
"""A remedy stops here; a graph that needs more cuts is not one anybody meant."""

VISITS = 2_000_000
"""Nodes and edges that may be looked at to find out what cuts leave, shared out evenly among the
cycles: ample for any contract somebody wrote, and some seconds for generated ones."""
MOST_TRIED = 8
"""Edges of a loop of which it is found out whether cutting that one is enough."""


class Order(Record):
    """The proof that a graph can run: its Steps so that each comes after all it waits for."""

    graph: StepGraph
    sequence: tuple[int, ...]


class Cut(Record):
    """A place to break a cycle: the edge from `source` into `target` reads the iteration before."""

    source: str
    target: str
    breaks_all: bool | None
    """No cycle of the component is left afterwards; None: the graph is too large to find out."""
    reason: str


class Cycle(Record):
    """One strongly connected component: Steps that all wait for each other."""

    members: tuple[str, ...]
    loop: tuple[Edge, ...]
    """A shortest loop through the first member; each edge ends where the next begins."""
    proposals: tuple[Cut, ...]
    """One per loop edge, cheapest first."""
    remedy: tuple[Cut, ...]
    """Cuts to be made together, each in a Step of its own."""
    complete: bool
    """They leave no cycle in this component; otherwise it would take too many, or too long to find."""


class Cycles(Record):
    """Why a graph has no order."""

    graph: StepGraph
    found: tuple[Cycle, ...]


def order_steps(
    graph: StepGraph, *, circles: Callable[[Adjacency], list[list[int]]] = circles
) -> Order | Cycles:
    """Steps in an order that keeps every edge, document order where free; or all cycles.

    `circles` finds the components; `measures.circles` does so sooner in a huge graph.
    """
    sequence = topological(graph.successors)
    if len(sequence) == len(graph.steps):
        return Order(graph, tuple(sequence))
    found = circles(graph.successors)
    stated = _statements(graph, set(range(len(graph.steps))).difference(sequence))
    late = {(graph.numbers[edge.source], graph.numbers[edge.target]) for edge in graph.carried}
    ground = _Ground(graph, stated, late, VISITS // len(found))
    return Cycles(graph, tuple(_cycle(ground, members) for members in found))


Pair = tuple[int, int]
Near = dict[int, list[int]]
"""The edges among some Steps."""


class _Ground(Record):
    """What the cuts of one graph are weighed by."""

    graph: StepGraph
    stated: dict[Pair, list[Edge]]
    """Every edge on or behind a cycle, by its two ends."""
    late: set[Pair]
    """Pairs of which the second reads an earlier iteration of the first already."""
    visits: int
    """Nodes and edges that may be looked at for each cycle."""


def _statements(graph: StepGraph, left: set[int]) -> dict[Pair, list[Edge]]:
    """Every edge among the Steps in `left`, by its two ends."""
    stated: dict[Pair, list[Edge]] = {}
    for edge in graph.edges:
        pair = (graph.numbers[edge.source], graph.numbers[edge.target])
        if pair[0] in left and pair[1] in left:
            stated.setdefault(pair, []).append(edge)
    return stated


def _cycle(ground: _Ground, members: list[int]) -> Cycle:
    graph, inside = ground.graph, set(members)
    near = {node: [t for t in graph.successors[node] if t in inside] for node in members}
    pairs = _loop(near)
    proposals = _ranked(ground, pairs, near)
    remedy, complete = _remedy(ground, near, proposals[0])
    return Cycle(
        members=tuple(graph.steps[node].id for node in members),
        loop=tuple(ground.stated[pair][0] for pair in pairs),
        proposals=tuple(proposals),
        remedy=tuple(remedy),
        complete=complete,
    )


def _loop(near: Near) -> list[Pair]:
    """The edges of a shortest loop through the lowest Step of a component."""
    nodes = shortest_loop(next(iter(near)), near.keys(), near)
    return list(zip(nodes, [*nodes[1:], nodes[0]], strict=True))


def _size(near: Near) -> int:
    return len(near) + sum(map(len, near.values()))


def _cost(pair: Pair, ground: _Ground) -> tuple[int, int, int, int, int, int]:
    """Cheapest first: by direction, by what is late already, by what it carries, then by place.

    An edge that runs against the document's order is what its writer thinks of as "the next round".
    A Step that reads an earlier iteration of the other one anyway becomes no staler. A file of the
    round before still lies there to be read, a message does not; the fewer files, the fewer grow old.
    """
    source, target = pair
    edges = ground.stated[pair]
    kinds = {edge.kind for edge in edges}
    kind = 0 if "data" in kinds else 1 if "communication" in kinds else 2
    files = sum(edge.kind == "data" for edge in edges)
    return (0 if target <= source else 1, 0 if pair in ground.late else 1, kind, files, target, -source)


def _ranked(ground: _Ground, pairs: list[Pair], near: Near) -> list[Cut]:
    ordered = sorted(pairs, key=lambda pair: _cost(pair, ground))
    size = _size(near)
    if size == 2 * len(near):  # a ring: any edge will do
        return [_as_cut(ground, pair, breaks_all=True) for pair in ordered]
    tried = ordered[: max(1, min(MOST_TRIED, ground.visits // (2 * size)))]
    whole: dict[Pair, bool | None] = {pair: _breaks(pair, near) for pair in tried}
    ordered.sort(key=lambda pair: (not whole.get(pair), *_cost(pair, ground)))
    return [_as_cut(ground, pair, breaks_all=whole.get(pair)) for pair in ordered]


def _breaks(cut: Pair, near: Near) -> bool:
    """Whether no loop is left in `near` without the edge `cut`."""
    return len(topological(_kept(cut, near))) == len(near)


def _kept(cut: Pair, near: Near) -> list[list[int]]:
    """The edges of `near` by place, but for the one in `cut`."""
    number = {node: at for at, node in enumerate(near)}
    kept = [[number[t] for t in some] for some in near.values()]
    kept[number[cut[0]]].remove(number[cut[1]])
    return kept


def _circles_without(cut: Pair, near: Near) -> list[Near]:
    """Components left in `near` when the edge `cut` is gone, each with its own edges."""
    kept = _kept(cut, near)
    left = set(range(len(kept))).difference(topological(kept))
    names = list(near)
    found = []
    for members in components(left, kept):
        inside = set(members)
        found.append({names[at]: [names[t] for t in kept[at] if t in inside] for at in members})
    return found


def _remedy(ground: _Ground, near: Near, first: Cut) -> tuple[list[Cut], bool]:
    """Cut the cheapest edge of a shortest loop until no loop is left; whether none is."""
    if first.breaks_all:
        return [first], True
    backwards = _backwards(ground, near)
    numbers = ground.graph.numbers
    pair = (numbers[first.source], numbers[first.target])
    cuts, taken = [first], {pair[1]}
    visits = ground.visits // 2
    waiting = [near]
    while waiting:
        part = waiting.pop()
        visits -= 2 * _size(part)
        if len(cuts) > MOST_CUTS or visits < 0:
            return (backwards, True) if backwards else (cuts[:MOST_CUTS], False)
        if part is not near:
            # A Step has one break_point, so it can be cut from one other Step.
            free = [some for some in _loop(part) if some[1] not in taken]
            if not free:
                return (backwards, True) if backwards else (cuts, False)
            pair = min(free, key=lambda some: _cost(some, ground))
            taken.add(pair[1])
            cuts.append(_as_cut(ground, pair, breaks_all=False))
        waiting += reversed(_circles_without(pair, part))
    return cuts, True


def _backwards(ground: _Ground, near: Near) -> list[Cut]:
    """All edges that run against the document's order, which leave no loop; none if they are too many."""
    pairs = [(source, target) for source, some in near.items() for target in some if target <= source]
    if len(pairs) > MOST_CUTS or len({target for _, target in pairs}) < len(pairs):
        return []
    return [_as_cut(ground, pair, breaks_all=False) for pair in sorted(pairs, key=lambda pair: pair[1])]


def _as_cut(ground: _Ground, pair: Pair, *, breaks_all: bool | None) -> Cut:
    steps = ground.graph.steps
    return Cut(steps[pair[0]].id, steps[pair[1]].id, breaks_all, _why(pair, ground))


def _why(pair: Pair, ground: _Ground) -> str:
    """The rank in words."""
    if pair[0] == pair[1]:
        return say("can only mean the Step's own earlier iteration")
    carries = _carries(ground.stated[pair])
    if pair in ground.late:
        carries = say("{carries}, which is read an iteration late elsewhere already", carries=carries)
    if pair[1] < pair[0]:
        return say("leads back to a Step that is written earlier, and {carries}", carries=carries)
    return say("follows the order of the file, and {carries}", carries=carries)


def _carries(edges: list[Edge]) -> str:
    kinds = {edge.kind for edge in edges}
    if "data" in kinds:
        files = len({edge.via for edge in edges if edge.kind == "data"})
        return say("hands over {count} files", count=files) if files > 1 else say("hands over a file")
    return say("only sets an order") if kinds == {"order"} else say("carries messages")
