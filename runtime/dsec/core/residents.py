"""Resident workers on a simulated clock: GPUs are held from a worker's first call until it makes room.

What `dsec.workers` does with processes: a call holds processors and memory, its worker the GPUs; when
another Step lacks GPUs, the worker that idles longest leaves.
"""

from __future__ import annotations

from dsec.callparts import only_gpus, size_of, without_gpus
from dsec.core.simulated import Kept

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dsec.core.cluster import Cluster
    from dsec.core.leases import Lease
    from dsec.plan import Demand, PlannedStep


class Resident:
    """One worker that holds GPUs while it lives."""

    __slots__ = ("demand", "idle_since", "is_called", "is_leaving", "lease", "name")

    def __init__(self, name: str, demand: Demand) -> None:
        self.name = name
        self.demand = demand
        """Its GPUs; nothing else."""
        self.lease: Lease | None = None
        self.is_called = self.is_leaving = False
        self.idle_since = 0


class Residents:
    """The workers of one simulation that take GPUs."""

    def __init__(self, steps: Sequence[PlannedStep], room: Cluster) -> None:
        self._room = room
        self._steps = steps
        self.kept: list[Kept] = []
        """When a worker held its devices without a call."""
        self.evicted: list[tuple[str, int]] = []
        """Who made room, and when."""
        calls = {at: step for at, step in enumerate(steps) if step.command.call}
        named: dict[str, Resident] = {}
        for step in calls.values():
            name, demand = step.command.worker or step.id, only_gpus(step.demand)
            known = named.setdefault(name, Resident(name, demand))
            if size_of(demand) > size_of(known.demand):
                known.demand = demand
        self._all = [one for one in named.values() if one.demand.gpu_count]
        homes = {at: named[step.command.worker or step.id] for at, step in calls.items()}
        self._of = {at: one for at, one in homes.items() if one.demand.gpu_count}

    def serves(self, at: int) -> bool:
        """Whether a Step is a call whose worker holds GPUs."""
        return at in self._of

    def is_busy(self, at: int) -> bool:
        """Whether a call of the Step would wait for its worker."""
        worker = self._of.get(at)
        return worker is not None and (worker.is_called or worker.is_leaving)

    def lacks(self, at: int) -> bool:
        """Whether the Step is a call whose worker has yet to get its GPUs."""
        return at in self._of and self._of[at].lease is None

    def grant(self, at: int) -> Lease | None:
        """Hold what a call takes, and its worker's GPUs unless it has them; None: not now."""
        worker, step = self._of[at], self._steps[at]
        wished = step.placement.devices if worker.lease is None else worker.lease.devices
        lease = self._room.grant(without_gpus(step.demand), wished)
        if lease is None or worker.lease is not None:
            return lease
        worker.lease = self._room.grant(worker.demand, wished)
        if worker.lease is None:
            self._room.release(lease)
            return None
        return lease

    def begun(self, at: int, now: int) -> tuple[str, ...]:
        """A call of the Step begins; the devices that it runs on."""
        worker = self._of[at]
        if worker.lease is None:
            raise AssertionError(f"worker {worker.name} is called without the GPUs that were granted")
        self._note(worker, now)
        worker.is_called = True
        return worker.lease.devices

    def answered(self, at: int, now: int) -> None:
        """The call of the Step is done: its worker idles."""
        worker = self._of[at]
        worker.is_called, worker.idle_since = False, now

    def lost(self, at: int) -> None:
        """The call of the Step was ended, and its worker with it."""
        worker = self._of[at]
        worker.is_called = False
        self._release(worker)

    def evict(self, now: int) -> Resident | None:
        """Who is to make room: the one that idles longest; None: somebody leaves already, or nobody idles."""
        if any(one.is_leaving for one in self._all):
            return None
        idle = [one for one in self._all if one.lease is not None and not one.is_called]
        if not idle:
            return None
        longest = min(idle, key=lambda one: one.idle_since)
        longest.is_leaving = True
        self.evicted.append((longest.name, now))
        return longest

    def gone(self, worker: Resident, now: int) -> None:
        """It has left: its GPUs are free."""
        if worker.lease is not None:
            self._note(worker, now)
            self._release(worker)
        worker.is_leaving = False

    def leave(self, devices: Iterable[str], now: int) -> None:
        """Workers that idle on these devices end: the next call gets another one."""
        struck = set(devices)
        for worker in self._all:
            if worker.lease is not None and not worker.is_called and struck & set(worker.lease.devices):
                self.gone(worker, now)

    def close(self, now: int) -> tuple[Kept, ...]:
        """All is done; when workers held devices for themselves."""
        for worker in self._all:
            if worker.lease is not None and not worker.is_called:
                self._note(worker, now)
        return tuple(self.kept)

    def _note(self, worker: Resident, now: int) -> None:
        if (
            worker.lease is not None
            and not worker.is_called
            and now > worker.idle_since
            and worker.idle_since
        ):
            self.kept.append(Kept(worker.name, worker.lease.devices, worker.idle_since, now))

    def _release(self, worker: Resident) -> None:
        if worker.lease is not None:
            self._room.release(worker.lease)
        worker.lease, worker.idle_since = None, 0
