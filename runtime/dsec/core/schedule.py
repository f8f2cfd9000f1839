"""How long a graph takes on given resources: a list schedule, and bounds no schedule can beat.

An estimate, not a promise: the runtime follows ranks and free resources, not these clock times.
It grants from the same ledger as the runtime does. Ready Steps are kept in buckets of equal
demand, so a decision costs the number of different demands, not the number of Steps.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dsec.core.leases import Lease, Ledger
    from dsec.core.order import Adjacency
    from dsec.inventory import Inventory
    from dsec.plan import Demand


class Work(NamedTuple):
    """One Step to be scheduled; durations are in any unit, the schedule is in the same."""

    demand: Demand
    duration: int
    rank: int
    """Higher goes first: the longest path from here to the end."""
    worker: str = ""
    """Resident worker that serves it, one call at a time; empty: a process of its own."""


class Slice(NamedTuple):
    """When a Step runs and on what."""

    start: int
    end: int
    devices: tuple[str, ...]


def list_schedule(successors: Adjacency, works: Sequence[Work], ledger: Ledger) -> list[Slice]:
    """Start whatever fits, highest rank first, lowest number on a tie.

    Every work must fit the empty ledger, and the graph must be acyclic.
    """
    waits = _waits(successors)
    ready = _Ready(works)
    for at, count in enumerate(waits):
        if not count:
            ready.add(at)
    slices: list[Slice | None] = [None] * len(works)
    running: list[tuple[int, int, Lease]] = []
    now = 0
    while True:
        for at, lease in ready.start_all(ledger):
            end = now + works[at].duration
            slices[at] = Slice(now, end, lease.devices)
            heappush(running, (end, at, lease))
        if not running:
            break
        now = running[0][0]
        while running and running[0][0] == now:
            _, at, lease = heappop(running)
            ledger.release(lease)
            ready.idle(works[at].worker)
            for target in successors[at]:
                waits[target] -= 1
                if not waits[target]:
                    ready.add(target)
    done = [part for part in slices if part is not None]
    if len(done) < len(works):
        raise AssertionError(
            "a Step fits no empty machine, or the graph has a circle: both are refused before"
        )
    return done


def makespan(slices: Sequence[Slice]) -> int:
    """When the last Step ends."""
    return max((part.end for part in slices), default=0)


def _waits(successors: Adjacency) -> list[int]:
    waits = [0] * len(successors)
    for targets in successors:
        for target in targets:
            waits[target] += 1
    return waits


class _Ready:
    """Ready Steps in buckets of equal demand and worker, best rank first."""

    __slots__ = ("_bucket_of", "_buckets", "_busy", "_works")

    def __init__(self, works: Sequence[Work]) -> None:
        numbers: dict[tuple[Demand, str], int] = {}
        self._works = works
        self._busy: set[str] = set()
        self._bucket_of = [numbers.setdefault((work.demand, work.worker), len(numbers)) for work in works]
        self._buckets: list[list[tuple[int, int]]] = [[] for _ in numbers]

    def add(self, at: int) -> None:
        """Queue a Step that waits for nothing any more."""
        heappush(self._buckets[self._bucket_of[at]], (-self._works[at].rank, at))

    def idle(self, worker: str) -> None:
        """The worker may serve its next call."""
        self._busy.discard(worker)

    def start_all(self, ledger: Ledger) -> list[tuple[int, Lease]]:
        """Take every Step that fits now, in order of rank."""
        heads = [bucket[0] for bucket in self._buckets if bucket]
        heads.sort()
        started: list[tuple[int, Lease]] = []
        while heads:
            at = heappop(heads)[1]
            work = self._works[at]
            lease = ledger.grant(work.demand) if work.worker not in self._busy else None
            if lease is None:
                continue
            if work.worker:
                self._busy.add(work.worker)
            started.append((at, lease))
            bucket = self._buckets[self._bucket_of[at]]
            heappop(bucket)
            if bucket:
                heappush(heads, bucket[0])
        return started


def lower_bounds(works: Sequence[Work], critical_path: int, inventory: Inventory) -> dict[str, int]:
    """Times below which no schedule can end, by what forbids it.

    `critical path`, and per resource the work to be done divided by what there is of it.
    """
    bounds = {"critical path": critical_path}
    if inventory.cpu_m:
        cores = inventory.cpu_m
        bounds["cpu"] = _share(sum(work.duration * min(work.demand.cpu_m, cores) for work in works), cores)
    if inventory.memory_bytes:
        area = sum(work.duration * work.demand.memory_bytes for work in works)
        bounds["memory"] = _share(area, inventory.memory_bytes)
    on_gpus = [work for work in works if work.demand.gpu_count]
    for types in sorted({work.demand.gpu_types for work in on_gpus}):
        inside = [work for work in on_gpus if _within(work.demand.gpu_types, types)]
        sizes = [d.memory_bytes for d in inventory.devices if not types or d.type in types]
        if sizes:
            bounds["gpu" if not types else f"gpu {' or '.join(types)}"] = _gpu_bound(inside, sizes)
    return bounds


def _within(types: tuple[str, ...], wider: tuple[str, ...]) -> bool:
    return not wider or (bool(types) and set(types) <= set(wider))


def _gpu_bound(works: Sequence[Work], sizes: Sequence[int | None]) -> int:
    """Device time over devices; a Step that shares counts its part of the largest device."""
    known = [size for size in sizes if size]
    if len(known) < len(sizes):
        whole = [work for work in works if not work.demand.gpu_memory_bytes]
        return _share(sum(work.duration * work.demand.gpu_count for work in whole), len(sizes))
    largest = max(known)
    area = sum(
        work.duration * work.demand.gpu_count * (work.demand.gpu_memory_bytes or largest) for work in works
    )
    return _share(area, largest * len(sizes))


def _share(area: int, capacity: int) -> int:
    return -(-area // capacity)
