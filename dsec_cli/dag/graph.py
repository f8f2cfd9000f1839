"""The Step graph of a contract: who waits for whom, why, and where that is stated.

Edges come from `needs`, from files (an input that is another Step's output), and from
`communication`. Edges that read an earlier iteration are kept apart: they order iterations, not
the Steps of one. This module is on the linter's start-up path.
"""

from __future__ import annotations

from dsec.core.order import components
from dsec.core.packed import packed
from dsec.record import Record
from dsec_cli.contract.values import Contract, Step
from dsec_cli.dag.paths import ITERATION, Outputs, of_iteration_before, of_own_iteration, previous
from dsec_cli.source.tree import Path
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


class Edge(Record):
    """`target` waits for `source`."""

    source: str
    target: str
    kind: str
    """`order` (needs), `data` (a file) or `communication`."""
    path: Path
    """Where the contract states it."""
    via: str = ""
    """The file of a data edge, the protocol of a communication."""


class MisplacedCut(Record):
    """A `break_cycle` or `break_point` that cannot do what it says."""

    step: str
    path: Path
    problem: str
    candidates: tuple[str, ...]
    """Steps that `break_point` could name."""
    instead: str = ""
    """What an input has to be for the cut to do what it says; empty: it is not about an input."""
    is_useless: bool = False
    """With that input there is nothing left to break."""


class StepGraph(Record):
    """Steps in document order, edges within an iteration, and edges between iterations."""

    steps: tuple[Step, ...]
    numbers: dict[str, int]
    """Place of each Step id in `steps`."""
    edges: tuple[Edge, ...]
    carried: tuple[Edge, ...]
    """All edges from an earlier iteration, the cut ones included."""
    cuts: tuple[Edge, ...]
    """The edges that `break_cycle` made carried."""
    misplaced: tuple[MisplacedCut, ...]
    successors: tuple[tuple[int, ...], ...]
    """Per Step, the Steps that wait for it in the same iteration: ascending, no doubles."""


def step_graph(contract: Contract) -> StepGraph:
    """The graph that `contract` states; needs of unknown Steps and repeated ids are left to the rules."""
    index: dict[str, int] = {}
    steps: list[Step] = []
    for step in contract.steps:
        if step.id not in index:
            index[step.id] = len(steps)
            steps.append(step)
    direct, carried, partial = _stated(contract, steps)
    known = [edge for edge in direct if edge[0] in index and edge[1] in index]
    if partial:
        early = _read_before(steps, index, known, partial)
        known = [edge for edge in known if edge not in early]
        carried += [edge for edge in partial if edge in early and contract.iterations and not _is_new(edge)]
    kept, cuts, misplaced = _cut(steps, index, known)
    return StepGraph(
        steps=tuple(steps),
        numbers=index,
        edges=tuple(kept),
        carried=(*(edge for edge in carried if edge.source in index and edge.target in index), *cuts),
        cuts=tuple(cuts),
        misplaced=tuple(misplaced),
        successors=adjacency(len(steps), index, kept),
    )


def adjacency(size: int, index: dict[str, int], edges: list[Edge]) -> tuple[tuple[int, ...], ...]:
    """Successor lists of `edges`: ascending, without doubles."""
    targets: list[list[int]] = [[] for _ in range(size)]
    last, number = "", -1
    for source, target, _, _, _ in edges:
        if target is not last:  # most edges have the target of the one before
            last, number = target, index[target]
        targets[index[source]].append(number)
    return packed((sorted(set(some)) if len(some) > 1 else some for some in targets), len(edges))


_MOST_READERS = 1_000
"""Readers of folders on cycles for which is found out who comes first; a text with more is generated."""


def _read_before(
    steps: list[Step], index: dict[str, int], edges: list[Edge], partial: list[Edge]
) -> frozenset[Edge]:
    """Of the edges to readers of a folder, those from Steps that write something in it after the reader.

    `data` holds what `clean` reads, and `data/clean` is made of it: who waits for the reader anyway cannot be
    waited for. Where break_cycle says what is meant, that counts.
    """
    successors = adjacency(len(steps), index, edges)
    home: dict[int, int] = {}
    for number, members in enumerate(components(range(len(steps)), successors)):
        home.update(dict.fromkeys(members, number))
    doubtful = [
        edge
        for edge in partial
        if _same_circle(home, index, edge) and not steps[index[edge.target]].break_cycle
    ]
    readers = dict.fromkeys(edge.target for edge in doubtful)
    if not doubtful or len(readers) > _MOST_READERS:
        return frozenset()
    soft = set(partial)
    firm = adjacency(len(steps), index, [edge for edge in edges if edge not in soft])
    after = {reader: _reached(firm, index[reader]) for reader in readers}
    return frozenset(edge for edge in doubtful if index[edge.source] in after[edge.target])


def _reached(successors: Sequence[Sequence[int]], start: int) -> set[int]:
    found, rest = {start}, [start]
    while rest:
        new = [target for target in successors[rest.pop()] if target not in found]
        found.update(new)
        rest += new
    return found


def _is_new(edge: Edge) -> bool:
    """Whether each iteration has a folder of its own, so that none finds what the one before left."""
    return ITERATION in edge.via


def _stated(contract: Contract, steps: list[Step]) -> tuple[list[Edge], list[Edge], list[Edge]]:
    """Edges of one iteration, edges between iterations, and those of the former that are due to a folder."""
    direct: list[Edge] = []
    carried: list[Edge] = []
    partial: list[Edge] = []
    outputs = Outputs(steps)
    make = Edge._make
    for step in steps:
        name = step.id
        for path, source, earlier_round in step.needs:
            (carried if earlier_round else direct).append(make((source, name, "order", path, "")))
        for path, text in step.inputs:
            writers = outputs.writers(text)
            # A Step that rewrites its own input in place does not wait for itself, unless no iteration has
            # one before it does.
            if len(writers) > 1 or not (step.id in writers and of_own_iteration(step, text)):
                writers = [writer for writer in writers if writer != step.id]
            found = [Edge._make((writer, step.id, "data", path, text)) for writer in writers]
            direct += found
            whole = outputs.whole_writers(text) if found else ()
            partial += [edge for edge in found if edge.source not in whole]
            if previous(text):
                earlier = outputs.earlier_writers(text)
                carried += [Edge(writer, step.id, "data", path, text) for writer in earlier]
    for link in contract.communication:
        direct += [Edge(link.source, link.target, "communication", link.path, link.protocol or "")]
    links = contract.iterations.carried if contract.iterations is not None else ()
    carried += [Edge(link.source, link.target, "order", link.path) for link in links]
    return direct, carried, partial


def _cut(
    steps: list[Step], index: dict[str, int], edges: list[Edge]
) -> tuple[list[Edge], list[Edge], list[MisplacedCut]]:
    """Split `edges` into kept and cut ones as `break_cycle` and `break_point` ask."""
    asked = [step for step in steps if step.break_cycle or step.break_point is not None]
    if not asked:
        return edges, [], []
    successors = adjacency(len(steps), index, edges)
    home: dict[int, int] = {}
    for number, members in enumerate(components(range(len(steps)), successors)):
        home.update(dict.fromkeys(members, number))
    circling: dict[str, list[str]] = {step.id: [] for step in asked}
    waited: dict[str, set[str]] = {step.id: set() for step in asked}
    for edge in edges:
        if edge.target not in waited:
            continue
        if edge.source not in waited[edge.target] and _same_circle(home, index, edge):
            circling[edge.target].append(edge.source)
        waited[edge.target].add(edge.source)
    points: set[tuple[str, str]] = set()
    misplaced: list[MisplacedCut] = []
    for step in asked:
        choice = _break_point(step, index, waited[step.id], tuple(circling[step.id]))
        if isinstance(choice, MisplacedCut):
            misplaced.append(choice)
        else:
            points.add((choice, step.id))
    kept = [edge for edge in edges if (edge.source, edge.target) not in points]
    cuts = [edge for edge in edges if (edge.source, edge.target) in points]
    late = [edge for edge in cuts if reads_own_iteration(steps[index[edge.source]], edge)]
    others = {(edge.source, edge.target) for edge in cuts if edge not in late}
    misplaced += [_unwritten(edge, alone=(edge.source, edge.target) not in others) for edge in late]
    return kept, cuts, misplaced


def reads_own_iteration(source: Step, edge: Edge) -> bool:
    """Whether the edge is a file of the present iteration, that is not there before `source` has run."""
    return edge.kind == "data" and of_own_iteration(source, edge.via)


def _unwritten(edge: Edge, *, alone: bool) -> MisplacedCut:
    """A cut edge whose file is named after the iteration that reads it: it is written too late."""
    problem = say(
        "{target} reads {via} before {source} writes it: break_cycle changes no file name",
        "own-iteration",
        target=edge.target,
        via=edge.via,
        source=edge.source,
    )
    return MisplacedCut(edge.target, edge.path, problem, (), of_iteration_before(edge.via), alone)


def _same_circle(home: dict[int, int], index: dict[str, int], edge: Edge) -> bool:
    """Whether the edge lies on a cycle: both ends in one component."""
    circle = home.get(index[edge.source])
    return circle is not None and circle == home.get(index[edge.target])


def _break_point(
    step: Step, index: dict[str, int], waited: set[str], circling: tuple[str, ...]
) -> str | MisplacedCut:
    """The Step whose edge into `step` is cut, or why none can be."""
    at_cycle = (*step.path, "break_cycle")
    at_point = (*step.path, "break_point")
    point = step.break_point
    if not step.break_cycle:
        problem = say("break_point does nothing without break_cycle: true", "no-break-cycle")
        return MisplacedCut(step.id, at_point, problem, circling)
    if point is None:
        if not circling:
            problem = say("{step} is on no cycle: nothing to break", "no-cycle", step=step.id)
            return MisplacedCut(step.id, at_cycle, problem, ())
        if len(circling) > 1:
            problem = say(
                "{count} edges into {step} lie on a cycle ({many}): break_point must name one",
                "several",
                count=len(circling),
                step=step.id,
                many=", ".join(circling),
            )
            return MisplacedCut(step.id, at_cycle, problem, circling)
        return circling[0]
    if point not in index:
        problem = say("break_point {point} is no Step", "no-step", point=point)
        return MisplacedCut(step.id, at_point, problem, circling)
    if point not in waited:
        problem = say("{step} does not wait for break_point {point}", "no-wait", step=step.id, point=point)
        return MisplacedCut(step.id, at_point, problem, circling)
    if point not in circling:
        problem = say(
            "the edge {point} -> {step} lies on no cycle: nothing to break", "edge", step=step.id, point=point
        )
        return MisplacedCut(step.id, at_point, problem, circling)
    return point
