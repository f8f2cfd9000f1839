"""The order a graph can run in, or every cycle that forbids one, with where to cut it."""

from __future__ import annotations

from dsec.core.order import components, shortest_loop, topological
from dsec.record import Record
from dsec_cli.dag.graph import Edge, StepGraph
from dsec_cli.words import say

MOST_CUTS = 32
"""A remedy stops here; a graph that needs more cuts is not one anybody meant."""

_VISITS = 60_000
"""Nodes that may be looked at per component to find out what a cut leaves: ample for any contract
somebody wrote, and a bound for generated ones."""


class Order(Record):
    """The proof that a graph can run: its Steps so that each comes after all it waits for."""

    graph: StepGraph
    sequence: tuple[int, ...]


class Cut(Record):
    """A place to break a cycle: the edge from `source` into `target` reads the iteration before."""

    source: str
    target: str
    breaks_all: bool
    """No cycle of the component is left afterwards."""
    reason: str


class Cycle(Record):
    """One strongly connected component: Steps that all wait for each other."""

    members: tuple[str, ...]
    loop: tuple[Edge, ...]
    """A shortest loop through the first member; each edge ends where the next begins."""
    proposals: tuple[Cut, ...]
    """One per loop edge, cheapest first."""
    remedy: tuple[Cut, ...]
    """Cuts that together leave no cycle in this component (fewer where it would take too many)."""


class Cycles(Record):
    """Why a graph has no order."""

    graph: StepGraph
    found: tuple[Cycle, ...]


def order_steps(graph: StepGraph) -> Order | Cycles:
    """Steps in an order that keeps every edge, document order where free; or all cycles."""
    sequence = topological(graph.successors)
    if len(sequence) == len(graph.steps):
        return Order(graph, tuple(sequence))
    left = set(range(len(graph.steps))).difference(sequence)
    stated = _statements(graph, left)
    found = components(left, graph.successors)
    return Cycles(graph, tuple(_cycle(graph, members, stated) for members in found))


Statements = dict[tuple[int, int], list[Edge]]


def _statements(graph: StepGraph, left: set[int]) -> Statements:
    """Every edge among the Steps in `left`, by its two ends."""
    stated: Statements = {}
    for edge in graph.edges:
        pair = (graph.numbers[edge.source], graph.numbers[edge.target])
        if pair[0] in left and pair[1] in left:
            stated.setdefault(pair, []).append(edge)
    return stated


def _cycle(graph: StepGraph, members: list[int], stated: Statements) -> Cycle:
    inside = set(members)
    nodes = shortest_loop(members[0], inside, graph.successors)
    pairs = list(zip(nodes, [*nodes[1:], nodes[0]], strict=True))
    near = {node: [t for t in graph.successors[node] if t in inside] for node in members}
    proposals = _ranked(graph, pairs, stated, near)
    return Cycle(
        members=tuple(graph.steps[node].id for node in members),
        loop=tuple(stated[pair][0] for pair in pairs),
        proposals=tuple(proposals),
        remedy=tuple(_remedy(graph, members, stated, near, proposals[0])),
    )


def _cost(pair: tuple[int, int], stated: Statements) -> tuple[int, int, int, int]:
    """Cheapest first: closes the loop backwards, carries data, into the earliest Step, out of the latest.

    An edge that runs against the document's order is what its writer thinks of as "the next
    round"; a file of the round before still lies there to be read.
    """
    source, target = pair
    kinds = {edge.kind for edge in stated[pair]}
    kind = 0 if "data" in kinds else 1 if "communication" in kinds else 2
    return (0 if target <= source else 1, kind, target, -source)


def _ranked(
    graph: StepGraph, pairs: list[tuple[int, int]], stated: Statements, near: dict[int, list[int]]
) -> list[Cut]:
    ordered = sorted(pairs, key=lambda pair: _cost(pair, stated))
    tried = ordered[: max(1, min(8, _VISITS // len(near)))]
    whole = {pair for pair in tried if not _circles_without({pair}, near)}
    ordered.sort(key=lambda pair: (pair not in whole, *_cost(pair, stated)))
    return [_as_cut(graph, pair, stated, pair in whole) for pair in ordered]


def _circles_without(cut: set[tuple[int, int]], near: dict[int, list[int]]) -> list[list[int]]:
    """Components left among the keys of `near` when the edges in `cut` are gone."""
    number = {node: at for at, node in enumerate(near)}
    names = list(near)
    kept = [[number[t] for t in near[node] if (node, t) not in cut] for node in names]
    if len(topological(kept)) == len(kept):
        return []
    return [[names[at] for at in members] for members in components(range(len(kept)), kept)]


def _remedy(
    graph: StepGraph, members: list[int], stated: Statements, near: dict[int, list[int]], first: Cut
) -> list[Cut]:
    """Cut the cheapest edge of a shortest loop until no loop is left."""
    gone = {(graph.numbers[first.source], graph.numbers[first.target])}
    cuts = [first]
    circles = [] if first.breaks_all else _circles_without(gone, near)
    most = min(MOST_CUTS, _VISITS // len(members))
    while circles and len(cuts) < most:
        inside = set(circles[0])
        kept = {node: [t for t in near[node] if (node, t) not in gone] for node in circles[0]}
        nodes = shortest_loop(circles[0][0], inside, kept)
        pairs = list(zip(nodes, [*nodes[1:], nodes[0]], strict=True))
        pair = min(pairs, key=lambda some: _cost(some, stated))
        gone.add(pair)
        cuts.append(_as_cut(graph, pair, stated, breaks_all=False))
        circles = _circles_without(gone, near)
    return cuts


def _as_cut(graph: StepGraph, pair: tuple[int, int], stated: Statements, breaks_all: bool) -> Cut:
    source, target = graph.steps[pair[0]].id, graph.steps[pair[1]].id
    return Cut(source, target, breaks_all, _why(pair, stated))


def _why(pair: tuple[int, int], stated: Statements) -> str:
    """The rank in words."""
    kinds = {edge.kind for edge in stated[pair]}
    if pair[0] == pair[1]:
        return say("can only mean the Step's own earlier iteration")
    carries = (
        say("hands over a file")
        if "data" in kinds
        else say("only sets an order")
        if kinds == {"order"}
        else say("carries messages")
    )
    if pair[1] < pair[0]:
        return say("leads back to a Step that is written earlier, and {carries}", carries=carries)
    return say("follows the order of the file, and {carries}", carries=carries)
