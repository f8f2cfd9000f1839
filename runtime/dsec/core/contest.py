"""A graph on a machine, where orders of its Steps are tried against each other.

An order is a number per Step, its priority: the higher goes first, the earlier in topological order
on a tie. That is how the runtime orders Steps, so it can follow any order that is tried here.
"""

from __future__ import annotations

from dsec.core.machine import Machine
from dsec.core.order import earliest_starts, upward_ranks
from dsec.core.trial import Slots, equal_slots, graph_of
from dsec.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dsec.core.order import Adjacency
    from dsec.core.schedule import Work
    from dsec.core.trial import Bench, Graph, Manner, Run
    from dsec.inventory import Inventory


class Candidate(Record):
    """An order, and the schedule that it leads to."""

    order: str
    priorities: Sequence[int]
    quick: bool
    """Whether Steps take the quickest free devices rather than those that fit best."""
    run: Run
    choices: Sequence[bool] | None = None
    """The same per Step; None: for all the same."""


class Contest:
    """Priorities in, schedule out, forwards and backwards in time."""

    def __init__(
        self,
        successors: Adjacency,
        sequence: Sequence[int],
        works: Sequence[Work],
        inventory: Inventory,
        *,
        starts: Sequence[int] | None = None,
        classes: Sequence[int] = (),
    ) -> None:
        """`sequence` is a topological order; `classes`: per Step, the lower goes first whatever its priority.

        With `starts`, the least time before each Step, it is known already, and the works' ranks are
        their upward ranks; else ranks of the works are not looked at.
        """
        self.works = works
        self.inventory = inventory
        self.durations = [work.duration for work in works]
        slots = equal_slots(works, inventory)
        self.bench: Bench = Machine(works, inventory) if slots is None else Slots(self.durations, slots)
        self.ranks = (
            upward_ranks(sequence, successors, self.durations)
            if starts is None
            else [work.rank for work in works]
        )
        """Upward ranks: the least time from a Step's start to the end of all."""
        self.heads = earliest_starts(sequence, successors, self.durations) if starts is None else starts
        """The least time before a Step's start."""
        self.classes = classes if len(set(classes)) > 1 else ()
        self._sequence = sequence
        self._successors = successors
        self._graph = graph_of(successors, self.ranks)
        self._mirror: Graph | None = None

    def forward(self, priorities: Sequence[int], manner: Manner) -> Run | None:
        """The schedule of the priorities; None as soon as it must end after the manner's limit."""
        order = sorted(self._sequence, key=priorities.__getitem__, reverse=True)
        if self.classes:
            order.sort(key=self.classes.__getitem__)
        return self.bench.run(self._graph, order, manner)

    def backward(self, priorities: Sequence[int], manner: Manner) -> Run | None:
        """The same with time running from the end to the start."""
        if self._mirror is None:
            self._mirror = self._mirrored()
        order = sorted(self._sequence, key=priorities.__getitem__, reverse=True)
        return self.bench.run(self._mirror, order, manner)

    def _mirrored(self) -> Graph:
        before: list[list[int]] = [[] for _ in self.durations]
        for step, targets in enumerate(self._successors):
            for target in targets:
                before[target].append(step)
        return graph_of(before, [head + own for head, own in zip(self.heads, self.durations, strict=True)])
