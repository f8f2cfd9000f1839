"""The order a graph can run in, or every cycle that forbids one, with where to cut it."""

from __future__ import annotations

from dsec.core.order import circles, components, shortest_loop, topological
from dsec.record import Record
from dsec_cli.dag.graph import Edge, StepGraph, reads_own_iteration
from dsec_cli.dag.paths import of_iteration_before
from dsec_cli.source.tree import Path
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
_DEEPEST = 5
"""Up to so many cuts the fewest are looked for; a contract that needs more is not one anybody meant."""
MOST_TRIED = 8
"""Edges of a loop of which it is found out whether cutting that one is enough."""


class Order(Record):
    """The proof that a graph can run: its Steps so that each comes after all it waits for."""

    graph: StepGraph
    sequence: tuple[int, ...]


class Reading(Record):
    """An input that names a file of its own iteration, and has to name that of the one before."""

    path: Path
    old: str
    instead: str


class Cut(Record):
    """A place to break a cycle: the edge from `source` into `target` reads the iteration before."""

    source: str
    target: str
    breaks_all: bool | None
    """No cycle of the component is left afterwards; None: the graph is too large to find out."""
    reason: str
    breaks: bool = True
    """`break_cycle` is needed; else the inputs alone make it an edge from the iteration before."""
    readings: tuple[Reading, ...] = ()


class Cycle(Record):
    """One strongly connected component: Steps that all wait for each other."""

    members: tuple[str, ...]
    loop: tuple[Edge, ...]
    """A shortest loop through the first member; each edge ends where the next begins."""
    proposals: tuple[Cut, ...]
    """One per loop edge: what is enough alone first, then what the remedy has, then the cheapest."""
    remedy: tuple[Cut, ...]
    """Cuts to be made together, none of them for nothing."""
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
    whole = _enough(ground, pairs, near)
    ordered = sorted(pairs, key=lambda pair: (not whole.get(pair), *_cost(pair, ground)))
    remedy, complete = _remedy(ground, near, ordered[0], whole=bool(whole.get(ordered[0])))
    if complete and len(remedy) == 1:
        whole[remedy[0]] = True
    ordered.sort(key=lambda pair: (not whole.get(pair), pair not in remedy))
    first = ordered[0]
    remedy.sort(key=lambda pair: pair != first)
    return Cycle(
        members=tuple(graph.steps[node].id for node in members),
        loop=tuple(ground.stated[pair][0] for pair in pairs),
        proposals=tuple(_as_cut(ground, pair, breaks_all=whole.get(pair)) for pair in ordered),
        remedy=tuple(_as_cut(ground, pair, breaks_all=complete and len(remedy) == 1) for pair in remedy),
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


def _enough(ground: _Ground, pairs: list[Pair], near: Near) -> dict[Pair, bool | None]:
    """Of edges of the loop, whether cutting that one alone is enough; the others were not tried."""
    size = _size(near)
    if size == 2 * len(near):  # a ring: any edge will do
        return dict.fromkeys(pairs, True)
    ordered = sorted(pairs, key=lambda pair: _cost(pair, ground))
    tried = ordered[: max(1, min(MOST_TRIED, ground.visits // (2 * size)))]
    return {pair: _breaks(pair, near) for pair in tried}


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


def _remedy(ground: _Ground, near: Near, first: Pair, *, whole: bool) -> tuple[list[Pair], bool]:
    """The fewest cuts that leave no loop, where they can be found; and whether they leave none.

    Else the cheapest edge of a shortest loop is cut until no loop is left, and what is then cut for nothing
    is taken out again.
    """
    if whole:
        return [first], True
    fewest = _Fewest(ground, ground.visits // 2).found(near)
    if fewest:
        return fewest, True
    cuts, complete = _greedy(ground, near, first)
    if not complete:
        backwards = _backwards(ground, near)
        if not backwards:
            return cuts, False
        cuts = backwards
    return _needed(ground, near, cuts), True


def _greedy(ground: _Ground, near: Near, first: Pair) -> tuple[list[Pair], bool]:
    pair, cuts, taken = first, [first], {first[1]} if _needs_point(ground, first) else set()
    visits, waiting = ground.visits // 2, [near]
    while waiting:
        part = waiting.pop()
        visits -= 2 * _size(part)
        if len(cuts) > MOST_CUTS or visits < 0:
            return cuts[:MOST_CUTS], False
        if part is not near:
            # A Step has one break_point, so it can be cut from one other Step.
            free = [some for some in _loop(part) if some[1] not in taken or not _needs_point(ground, some)]
            if not free:
                return cuts, False
            pair = min(free, key=lambda some: _cost(some, ground))
            if _needs_point(ground, pair):
                taken.add(pair[1])
            cuts.append(pair)
        waiting += reversed(_circles_without(pair, part))
    return cuts, True


def _backwards(ground: _Ground, near: Near) -> list[Pair]:
    """All edges that run against the document's order, which leave no loop; none if they are too many."""
    pairs = [(source, target) for source, some in near.items() for target in some if target <= source]
    points = [target for source, target in pairs if _needs_point(ground, (source, target))]
    if len(pairs) > MOST_CUTS or len(set(points)) < len(points):
        return []
    return sorted(pairs, key=lambda pair: pair[1])


def _needed(ground: _Ground, near: Near, cuts: list[Pair]) -> list[Pair]:
    """The cuts without those that leave no loop either when they are not made, the dearest of them first."""
    kept, visits = list(cuts), ground.visits
    for pair in sorted(cuts, key=lambda some: _cost(some, ground), reverse=True):
        others = {one for one in kept if one != pair}
        visits -= _size(near)
        if visits < 0:
            break
        if not _left(near, others):
            kept.remove(pair)
    return kept


def _left(near: Near, cuts: set[Pair]) -> set[int]:
    """Steps on or behind a loop once these edges are gone."""
    number = {node: at for at, node in enumerate(near)}
    kept = [[number[t] for t in some if (node, t) not in cuts] for node, some in near.items()]
    names = list(near)
    return {names[at] for at in set(range(len(kept))).difference(topological(kept))}


class _Fewest:
    """The fewest cuts, by trying each edge of a shortest loop, and then of what is left, ever deeper.

    One edge of each loop must be cut, so nothing else needs to be tried. Bounded by what may be looked at.
    """

    def __init__(self, ground: _Ground, visits: int) -> None:
        self._ground = ground
        self._visits = visits
        self._is_out = False

    def found(self, near: Near) -> list[Pair]:
        """In the order in which loops are met; none: more than `_DEEPEST`, or too many to try."""
        for most in range(1, _DEEPEST + 1):
            cuts = self._tried(near, (), most)
            if cuts is not None:
                return list(cuts)
            if self._is_out:
                break
        return []

    def _tried(self, near: Near, cuts: tuple[Pair, ...], most: int) -> tuple[Pair, ...] | None:
        self._visits -= _size(near)
        if self._visits < 0:
            self._is_out = True
            return None
        loop = _loop_without(near, set(cuts))
        if loop is None:
            return cuts
        if len(cuts) == most:
            return None
        points = {target for source, target in cuts if _needs_point(self._ground, (source, target))}
        for pair in sorted(loop, key=lambda some: _cost(some, self._ground)):
            if pair[1] in points and _needs_point(self._ground, pair):
                continue
            found = self._tried(near, (*cuts, pair), most)
            if found is not None or self._is_out:
                return found
        return None


def _loop_without(near: Near, cuts: set[Pair]) -> list[Pair] | None:
    """A shortest loop through the lowest Step that is on one without these edges; None: there is none."""
    left = _left(near, cuts)
    kept = {
        node: [t for t in some if t in left and (node, t) not in cuts]
        for node, some in near.items()
        if node in left
    }
    number = {node: at for at, node in enumerate(kept)}
    names = list(kept)
    for members in components(range(len(names)), [[number[t] for t in some] for some in kept.values()]):
        inside = {names[at] for at in members}
        return _loop({names[at]: [t for t in kept[names[at]] if t in inside] for at in members})
    return None


def _needs_point(ground: _Ground, pair: Pair) -> bool:
    """Whether cutting the edge takes a `break_point`; inputs alone can name files of the iteration before."""
    source = ground.graph.steps[pair[0]]
    return not all(reads_own_iteration(source, edge) for edge in ground.stated[pair])


def _as_cut(ground: _Ground, pair: Pair, *, breaks_all: bool | None) -> Cut:
    steps = ground.graph.steps
    readings = [
        Reading(edge.path, edge.via, of_iteration_before(edge.via))
        for edge in ground.stated[pair]
        if reads_own_iteration(steps[pair[0]], edge)
    ]
    return Cut(
        steps[pair[0]].id,
        steps[pair[1]].id,
        breaks_all,
        _why(pair, ground),
        _needs_point(ground, pair),
        tuple(readings),
    )


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
