"""What an order means in time: levels, critical path, slack, width, bounds and idle GPUs of one iteration."""

from __future__ import annotations

from dsec.core.contest import Contest
from dsec.core.measures import measure
from dsec.core.overlap import Rounds, idle, overlap
from dsec.core.precedence import precedence
from dsec.core.schedule import Slice, Work, slices_of
from dsec.core.search import best_order
from dsec.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dsec.core.order import Adjacency
    from dsec.core.overlap import Overlap
    from dsec.core.search import Found
    from dsec.inventory import Inventory
    from dsec.plan import Demand
    from dsec_cli.contract.values import Contract
    from dsec_cli.dag.cycles import Order
    from dsec_cli.dag.estimates import Estimate
    from dsec_cli.dag.graph import StepGraph


class Analysis(Record):
    """Times are milliseconds; sequences run along the graph's Steps unless said otherwise."""

    levels: tuple[tuple[int, ...], ...]
    """Steps by the length of the longest chain of needs above them."""
    estimates: tuple[Estimate, ...]
    demands: tuple[Demand, ...]
    ranks_ms: tuple[int, ...]
    """Of the order that was chosen: the higher goes first, the earlier in topological order on a tie."""
    upward_ms: tuple[int, ...]
    """The longest path from a Step's start to the end of all that waits for it: its upward rank."""
    starts_ms: tuple[int, ...]
    """When a Step could start if nothing but its needs held it up."""
    slacks_ms: tuple[int, ...]
    """How much later a Step could start without lengthening the critical path."""
    critical_path: tuple[int, ...]
    critical_path_ms: int
    bounds_ms: tuple[tuple[str, int], ...]
    """By name: no schedule on the inventory can be shorter."""
    slices: tuple[Slice, ...]
    """The best schedule found on the inventory."""
    makespan_ms: int
    gpus: int
    gpu_idle_permille: int | None
    """Of the GPUs' time until the makespan, in that schedule; None without GPUs or time."""
    overlap: Overlap | None
    """All iterations; None when there is one."""
    order: str
    """The order that the schedule follows: `fifo`, `lpt`, `rank`, `rank+fbi` or `search`."""
    quick: bool
    """Whether Steps were given the quickest free devices rather than those that fit best."""
    choices: Sequence[bool] | None
    """The same per Step; None: for all the same."""
    makespans_ms: tuple[tuple[str, int], ...]
    """Of every order that was tried."""
    trials: int
    """Changes that were tried in the search."""

    @property
    def lower_bound_ms(self) -> int:
        """The highest of the bounds."""
        return max(bound for _, bound in self.bounds_ms)


def analyze(
    order: Order,
    estimates: Sequence[Estimate],
    *,
    demands: Sequence[Demand],
    inventory: Inventory,
    rounds: Rounds,
    tolerances: Sequence[str] = (),
) -> Analysis:
    """Analyse the graph on `inventory`, on which every demand must fit.

    `tolerances`: the tolerance level of each Step; (): all have the same.
    """
    graph = order.graph
    successors = graph.successors
    weights = [one.ms for one in estimates]
    measures = measure(successors, weights)
    if measures is None:
        raise AssertionError("a graph with an order has no cycle")
    nodes = measures.nodes
    workers = [
        worker_of(step.worker, step.run.call, step.id) if step.run is not None and step.run.call else ""
        for step in graph.steps
    ]
    works = list(map(Work._make, zip(demands, weights, nodes.ranks, workers, strict=True)))
    found = best_order(
        Contest(
            successors,
            order.sequence,
            works,
            inventory,
            starts=nodes.starts,
            classes=_classes(successors, rounds, tolerances),
        )
    )
    best = found.best
    slices = slices_of(best.run)
    return Analysis(
        levels=tuple(map(tuple, nodes.levels)),
        estimates=tuple(estimates),
        demands=tuple(demands),
        ranks_ms=tuple(best.priorities),
        upward_ms=tuple(nodes.ranks),
        starts_ms=tuple(nodes.starts),
        slacks_ms=tuple(nodes.slacks),
        critical_path=tuple(measures.critical_path),
        critical_path_ms=measures.length,
        bounds_ms=found.bounds,
        slices=tuple(slices),
        makespan_ms=best.run.makespan,
        gpus=len(inventory.devices),
        gpu_idle_permille=idle(slices, len(inventory.devices), 0, best.run.makespan),
        overlap=_repeated(successors, works, found, rounds=rounds, inventory=inventory),
        order=best.order,
        quick=best.quick,
        choices=best.choices,
        makespans_ms=found.makespans,
        trials=found.trials,
    )


def _classes(successors: Adjacency, rounds: Rounds, tolerances: Sequence[str]) -> list[int]:
    """Which Steps go first where they compete."""
    if len(set(tolerances)) < 2:
        return []
    later: dict[int, list[int]] = {}
    for source, target, _ in rounds.carried:
        later.setdefault(source, []).append(target)
    return precedence(tolerances, lambda at: (*successors[at], *later.get(at, ())))


def _repeated(
    successors: Adjacency, works: Sequence[Work], found: Found, *, rounds: Rounds, inventory: Inventory
) -> Overlap | None:
    if rounds.iterations < 2:
        return None
    best = found.best
    ordered = [work._replace(rank=rank) for work, rank in zip(works, best.priorities, strict=True)]
    choices = [best.quick] * len(ordered) if best.choices is None else best.choices
    return overlap(successors, ordered, rounds=rounds, inventory=inventory, choices=choices)


def rounds_of(graph: StepGraph, contract: Contract) -> Rounds:
    """How the contract repeats its graph."""
    stated = contract.iterations
    lag = 1 + (stated.max_staleness if stated is not None else 0)
    pairs = {(graph.numbers[edge.source], graph.numbers[edge.target]) for edge in graph.carried}
    return Rounds(
        iterations=stated.count if stated is not None else 1,
        in_flight=stated.in_flight if stated is not None else 1,
        carried=tuple((source, target, lag) for source, target in sorted(pairs)),
    )


def worker_of(worker: str | None, call: str | None, step_id: str) -> str:
    """The resident worker that serves a `call`; a `run` has none."""
    if not call:
        return ""
    return worker or step_id
