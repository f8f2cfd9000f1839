"""Trying an order of Steps out: the list schedule that it leads to on a machine.

Where all demands are equal and need no device, counting slots is enough; `machine` does justice to
the rest.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush

from dsec.core.order import waiting
from dsec.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Protocol

    from dsec.core.grants import Group
    from dsec.core.order import Adjacency
    from dsec.core.schedule import Work
    from dsec.inventory import Inventory

    class Bench(Protocol):
        """A machine on which orders are tried out."""

        mixed: bool

        def run(self, graph: Graph, order: Sequence[int], manner: Manner) -> Run | None:
            """The schedule that `order` leads to; None as soon as it must end after the limit."""


NEVER = 2**62


class Graph(Record):
    """Who waits for whom, in one direction of time."""

    successors: Adjacency
    waits: tuple[int, ...]
    """How many Steps each one waits for."""
    tails: tuple[int, ...]
    """Per Step, the least time from its start to the end of all."""


class Manner(Record):
    """How an order is tried."""

    limit: int = NEVER
    """Given up when the schedule must end after this."""
    quick: bool = False
    """Whether the quickest free devices are taken before those that fit best."""
    queued: bool = False
    """Whether the Step that became ready first goes first, whatever the order."""
    choices: Sequence[bool] | None = None
    """Per Step, what `quick` is for it; None: for all the same."""


class Run(Record):
    """A schedule: when each Step starts and ends, and what it holds."""

    makespan: int
    starts: list[int]
    ends: list[int]
    groups: list[Group | None]
    """Devices; None: the Step needs none."""
    arrived: list[int]
    """Where Steps queue: how many had become ready before each one."""


def graph_of(successors: Adjacency, tails: Sequence[int]) -> Graph:
    """The graph with what each Step waits for counted."""
    return Graph(successors, tuple(waiting(successors)), tuple(tails))


def equal_slots(works: Sequence[Work], inventory: Inventory) -> int | None:
    """How many works run at a time, when they all need the same and no device; else None."""
    if not works:
        return 1
    first = works[0].demand
    if (
        first.gpu_count
        or first.terms is not None
        or any(work.demand != first or work.worker for work in works)
    ):
        return None
    many = len(works)
    if first.cpu_m and inventory.cpu_m:
        many = min(many, inventory.cpu_m // min(first.cpu_m, inventory.cpu_m))
    if first.memory_bytes and inventory.memory_bytes is not None:
        many = min(many, inventory.memory_bytes // first.memory_bytes)
    return many or None


def places(order: Sequence[int]) -> list[int]:
    """Where each Step is in the order."""
    place = [0] * len(order)
    for at, step in enumerate(order):
        place[step] = at
    return place


class Slots:
    """A number of equal slots, one for each Step."""

    def __init__(self, durations: Sequence[int], slots: int) -> None:
        self._durations = durations
        self._slots = slots
        self.mixed = False

    def run(self, graph: Graph, order: Sequence[int], manner: Manner) -> Run | None:
        """The schedule that `order` leads to; None as soon as it must end after the limit."""
        durations, tails, successors = self._durations, graph.tails, graph.successors
        n, waits, place, free = len(order), list(graph.waits), places(order), self._slots
        limit, queued = manner.limit, manner.queued
        first = [step for step in range(n) if not waits[step]]
        ready = [at * n * queued + place[step] for at, step in enumerate(first)]
        heapify(ready)
        arrived = list(first) if queued else []
        running: list[int] = []
        starts = [0] * n
        now = 0
        while True:
            while free and ready:
                step = order[heappop(ready) % n]
                if now + tails[step] > limit:
                    return None
                starts[step] = now
                heappush(running, (now + durations[step]) * n + step)
                free -= 1
            if not running:
                break
            now = running[0] // n
            after = (now + 1) * n
            while running and running[0] < after:
                free += 1
                for target in successors[heappop(running) % n]:
                    waits[target] -= 1
                    if not waits[target]:
                        heappush(ready, len(arrived) * n + place[target])
                        if queued:
                            arrived.append(target)
        ends = [start + length for start, length in zip(starts, durations, strict=True)]
        return Run(now, starts, ends, [None] * n, places(arrived))
