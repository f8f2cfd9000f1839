"""What repeating a graph costs: iterations overlap as far as carried edges and the window let them."""

from __future__ import annotations

from dsec.core.leases import Ledger
from dsec.core.order import topological
from dsec.core.schedule import Work, list_schedule
from dsec.plan import Demand
from dsec.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dsec.core.order import Adjacency
    from dsec.core.schedule import Slice
    from dsec.inventory import Inventory

_MOST_NODES = 20_000
"""Instances that are simulated; more iterations are extrapolated from the last ones."""
_NOTHING = Demand(0, 0, 0, 0, (), 0, 0)


class Rounds(Record):
    """How a graph repeats."""

    iterations: int
    in_flight: int
    carried: tuple[tuple[int, int, int], ...]
    """(source, target, lag): iteration i of the target reads iteration i - lag of the source."""


class Loop(Record):
    """A carried edge and the longest path that it closes: no schedule is faster than one round of it."""

    path: tuple[int, ...]
    lag: int
    period: int
    """Rounded up: the path's time over the iterations it spans."""


class Overlap(Record):
    """Repeated execution, in the unit of the works' durations."""

    total: int
    period: int
    """Between the ends of two iterations once they overlap."""
    loop: Loop | None
    """The loop that allows no shorter period; None without carried edges."""
    gpu_idle_permille: int | None
    """Once iterations overlap; None without GPUs."""


def overlap(
    successors: Adjacency,
    works: Sequence[Work],
    *,
    rounds: Rounds,
    inventory: Inventory,
    choices: Sequence[bool] | None = None,
) -> Overlap | None:
    """Simulate enough iterations to see the rhythm; None when there is one iteration or too many Steps.

    `choices`: per Step, whether it takes the quickest free devices rather than what fits best.
    """
    size = len(works) + 1
    most = max(_MOST_NODES // size, 0)
    simulated = min(rounds.iterations, most, 2 * rounds.in_flight + 6)
    if rounds.iterations < 2 or simulated < min(rounds.iterations, 4):
        return None
    graph = _unrolled(successors, rounds, simulated)
    each = None if choices is None else [*choices, False] * simulated
    slices = list_schedule(graph, _repeated(works, simulated), Ledger(inventory), choices=each)
    ends = [slices[at * size + size - 1].end for at in range(simulated)]
    middle = simulated // 2 - 1
    window, laps = ends[-1] - ends[middle], simulated - 1 - middle
    period = -(-window // laps)
    return Overlap(
        total=ends[-1] + (rounds.iterations - simulated) * period,
        period=period,
        loop=_tightest(successors, works, rounds),
        gpu_idle_permille=idle(slices, len(inventory.devices), ends[middle], ends[-1]),
    )


def _unrolled(successors: Adjacency, rounds: Rounds, simulated: int) -> list[list[int]]:
    """One graph of all iterations: after each iteration's Steps comes a node that marks its end."""
    n = len(successors)
    size = n + 1
    awaited = {target for targets in successors for target in targets}
    roots = [node for node in range(n) if node not in awaited]
    graph: list[list[int]] = []
    for at in range(simulated):
        base, last = at * size, at + 1 == simulated
        for node in range(n):
            targets = [base + target for target in successors[node]] or [base + n]
            # An iteration of a Step comes after the one before.
            graph.append(targets if last else [*targets, base + size + node])
        begins = at + rounds.in_flight
        graph.append([begins * size + root for root in roots] if begins < simulated else [])
    for source, target, lag in rounds.carried:
        for at in range(simulated - lag):
            graph[at * size + source].append((at + lag) * size + target)
    return [sorted(set(targets)) for targets in graph]


def _repeated(works: Sequence[Work], simulated: int) -> list[Work]:
    """The works of every iteration; an earlier iteration goes first."""
    high = max((work.rank for work in works), default=0) + 1
    end = Work(_NOTHING, 0, 0)
    return [
        work._replace(rank=(simulated - at) * high + work.rank)
        for at in range(simulated)
        for work in (*works, end)
    ]


def _tightest(successors: Adjacency, works: Sequence[Work], rounds: Rounds) -> Loop | None:
    """Among loops with one carried edge, the one with the longest period."""
    order = topological(successors)
    best: Loop | None = None
    for source, target, lag in sorted(set(rounds.carried)):
        path = _longest(order, successors, works, target, source)
        if path is None:
            continue
        period = -(-sum(works[node].duration for node in path) // lag)
        if best is None or period > best.period:
            best = Loop(path, lag, period)
    return best


def _longest(
    order: Sequence[int], successors: Adjacency, works: Sequence[Work], start: int, end: int
) -> tuple[int, ...] | None:
    """The longest path between two nodes; None when there is none."""
    best: dict[int, int] = {start: works[start].duration}
    came: dict[int, int] = {}
    for node in order:
        if node not in best or node == end:
            continue
        for target in successors[node]:
            length = best[node] + works[target].duration
            if length > best.get(target, -1):
                best[target], came[target] = length, node
    if end not in best:
        return None
    path = [end]
    while path[-1] != start:
        path.append(came[path[-1]])
    return tuple(reversed(path))


def idle(slices: Sequence[Slice], gpus: int, start: int, end: int) -> int | None:
    """Thousandths of GPU time between two times in which no Step held the device; None without any."""
    if not gpus or end <= start:
        return None
    by_device: dict[str, list[tuple[int, int]]] = {}
    for began, ended, devices in slices:
        for uuid in devices:
            by_device.setdefault(uuid, []).append(
                (
                    began if began > start else start,
                    ended if ended < end else end,
                )  # `max` takes three times as long
            )
    busy = sum(covered(intervals) for intervals in by_device.values())
    return thousandths(gpus * (end - start) - busy, gpus * (end - start))


def thousandths(part: int, whole: int) -> int:
    """The share that `part` is of `whole`, to the nearest thousandth."""
    return (part * 1000 + whole // 2) // whole


def covered(intervals: list[tuple[int, int]]) -> int:
    """Length of the union of intervals; empty and inverted ones count nothing."""
    total, until = 0, -(2**63)
    for start, end in sorted(intervals):
        if end > start and end > until:
            total += end - (start if start > until else until)
            until = end
    return total
