"""How long a graph takes on given resources: a list schedule.

An estimate, not a promise: the runtime follows ranks and free resources, not these clock times.
"""

from __future__ import annotations

from dsec.core.machine import Machine
from dsec.core.trial import Manner, Slots, equal_slots, graph_of
from dsec.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dsec.core.leases import Ledger
    from dsec.core.order import Adjacency
    from dsec.core.trial import Run
    from dsec.plan import Demand


class Work(Record):
    """One Step to be scheduled; durations are in any unit, the schedule is in the same."""

    demand: Demand
    duration: int
    """On the quickest devices that it may have; others take longer in proportion to their speed."""
    rank: int
    """Higher goes first: the longest path from here to the end."""
    worker: str = ""
    """Resident worker that serves it, one call at a time; empty: a process of its own."""


class Slice(Record):
    """When a Step runs and on what."""

    start: int
    end: int
    devices: tuple[str, ...]


def list_schedule(
    successors: Adjacency,
    works: Sequence[Work],
    ledger: Ledger,
    *,
    quick: bool = False,
    choices: Sequence[bool] | None = None,
) -> list[Slice]:
    """Start whatever fits, highest rank first, lowest number on a tie; see `machine` for gaps.

    `quick`: whether the quickest free devices are taken, and `choices` the same per Step.
    Every work must fit the empty ledger, and the graph must be acyclic.
    """
    slots = equal_slots(works, ledger.inventory)
    durations = [work.duration for work in works]
    bench = Machine(works, ledger.inventory) if slots is None else Slots(durations, slots)
    order = sorted(range(len(works)), key=[work.rank for work in works].__getitem__, reverse=True)
    run = bench.run(graph_of(successors, durations), order, Manner(quick=quick, choices=choices))
    if run is None:
        raise AssertionError("a run without a limit is never given up")
    return slices_of(run)


def slices_of(run: Run) -> list[Slice]:
    """The run, Step by Step."""
    held = [group.uuids if group is not None else () for group in run.groups]
    return list(map(Slice._make, zip(run.starts, run.ends, held, strict=True)))


def makespan(slices: Sequence[Slice]) -> int:
    """When the last Step ends."""
    return max((part.end for part in slices), default=0)
