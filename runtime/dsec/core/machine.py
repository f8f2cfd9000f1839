"""The list schedule on a machine with processors, memory, devices and resident workers.

Whatever fits is started, the first of the order first. Once a Step does not fit, it has a
reservation: the first time at which what runs now will have left it enough. A Step behind it starts
only when it ends before that time, or holds nothing that is then needed. So small Steps fill gaps
and cannot starve a large one.

Ready Steps are kept in buckets of equal demand, so a decision costs the number of different demands,
not the number of Steps.
"""

from __future__ import annotations

from heapq import heappop, heappush

from dsec.core.grants import Grants
from dsec.core.lean import lean_run
from dsec.core.pace import slowed
from dsec.core.trial import NEVER, Run, places

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dsec.core.grants import Group, State
    from dsec.core.schedule import Work
    from dsec.core.trial import Graph, Manner
    from dsec.inventory import Inventory

_AMPLE = 2**63


class Machine:
    """What works take and what there is, granted as the runtime's ledger grants it."""

    def __init__(self, works: Sequence[Work], inventory: Inventory) -> None:
        numbers: dict[object, int] = {}
        self.bucket_of = [numbers.setdefault((work.demand, work.worker), len(numbers)) for work in works]
        firsts = dict(zip(reversed(self.bucket_of), reversed(works), strict=True))
        kinds = [firsts[number] for number in range(len(numbers))]
        self.workers = [work.worker for work in kinds]
        self.durations = [work.duration for work in works]
        self.cpu = inventory.cpu_m
        self.memory = _AMPLE if inventory.memory_bytes is None else inventory.memory_bytes
        self.cpus = [min(work.demand.cpu_m, inventory.cpu_m) for work in kinds]
        self.least = min(self.cpus, default=0)
        """With less than this free nothing starts."""
        self.memories = [work.demand.memory_bytes for work in kinds]
        self.grants = Grants(inventory, [work.demand for work in kinds])
        self.devices = self.grants.kinds
        """Per bucket, what it asks of devices and tokens; -1: nothing."""
        some = max(self.devices, default=-1) >= 0
        self.mixed = self.grants.mixed and some
        self.lean = not some and not any(self.workers)
        """Whether Steps take processors and memory alone."""

    def run(self, graph: Graph, order: Sequence[int], manner: Manner) -> Run | None:
        """The schedule that `order` leads to; None as soon as it must end after the limit."""
        if self.lean:
            return lean_run(self, graph, order, manner)
        return _Course(self, graph, order, manner).to_the_end()


class _Reservation:
    """When the first Step that does not fit will, and what the machine then has beside it."""

    __slots__ = ("cpu", "memory", "state", "time")

    def __init__(self, time: int, cpu: int, memory: int, state: State) -> None:
        self.time = time
        self.cpu = cpu
        self.memory = memory
        self.state = state


class _Course:
    """One schedule in the making."""

    def __init__(self, machine: Machine, graph: Graph, order: Sequence[int], manner: Manner) -> None:
        self._machine = machine
        self._graph = graph
        self._order = order
        self._limit, self._quick, self._queued = manner
        self._place = places(order)
        self._waits = list(graph.waits)
        self._buckets: list[list[int]] = [[] for _ in machine.workers]
        self._kinds = list(zip(self._buckets, machine.cpus, machine.memories, machine.workers, strict=True))
        self._refused: set[int] = set()
        """What cannot be had of devices until a Step ends."""
        self._arrived: list[int] = []
        for step, count in enumerate(self._waits):
            if not count:
                self._arrive(step)
        self._busy: set[str] = set()
        self._running: list[int] = []
        self._now = 0
        self._cpu, self._memory, self._state = machine.cpu, machine.memory, machine.grants.empty
        n = len(order)
        self._starts, self._ends = [-1] * n, [0] * n
        self._groups: list[Group | None] = [None] * n
        self._waiting = -1
        """The first Step that did not fit when it was last looked; -1: all fitted."""
        self._reserved: _Reservation | None = None
        """Its reservation, once something behind it could start."""

    def to_the_end(self) -> Run | None:
        """Start and end Steps until none is left."""
        while True:
            if not self._start_all():
                return None
            if not self._running:
                break
            self._end_next()
        if -1 in self._starts:
            raise AssertionError(
                "a Step fits no empty machine, or the graph has a circle: both are refused before"
            )
        return Run(self._now, self._starts, self._ends, self._groups, places(self._arrived))

    def _start_all(self) -> bool:
        """Start what may start now; False when the schedule must then end after the limit."""
        machine, order, buckets, tails = self._machine, self._order, self._buckets, self._graph.tails
        latest, n = self._limit - self._now, len(self._order)
        cpus, memories, devices, bucket_of = (
            machine.cpus,
            machine.memories,
            machine.devices,
            machine.bucket_of,
        )
        self._refused.clear()
        heads, first = self._fitting()
        waiting, promised = -1, self._waiting
        while heads and (self._cpu >= machine.least or waiting < 0):
            place = heappop(heads)
            if waiting < 0 and place > first:
                waiting = self._wait_for(order[first % n], promised)
            step = order[place % n]
            number = bucket_of[step]
            if machine.workers[number] in self._busy:
                continue
            enough = cpus[number] <= self._cpu and memories[number] <= self._memory
            if not (enough and devices[number] not in self._refused and self._begin(step, number, waiting)):
                if waiting < 0:
                    waiting = self._wait_for(step, promised)
                continue
            if waiting < 0:
                promised = -1
            if tails[step] > latest:
                return False
            bucket = buckets[number]
            heappop(bucket)
            if bucket:
                heappush(heads, bucket[0])
        if waiting < 0 and first < NEVER:
            waiting = self._wait_for(order[first % n], promised)
        self._waiting = waiting
        return True

    def _fitting(self) -> tuple[list[int], int]:
        """The heads of the buckets that find processors and memory enough, and the first of the others."""
        cpu, memory, busy = self._cpu, self._memory, self._busy
        heads, first = [], NEVER
        for bucket, needed, more, worker in self._kinds:
            if bucket:
                if needed <= cpu and more <= memory:
                    heads.append(bucket[0])
                elif bucket[0] < first and worker not in busy:
                    first = bucket[0]
        heads.sort()
        return heads, first

    def _wait_for(self, step: int, promised: int) -> int:
        """The first Step that does not fit; another one than was promised gets a reservation of its own."""
        if step != promised:
            self._reserved = None
        return step

    def _begin(self, step: int, number: int, waiting: int) -> bool:
        """Start a Step if there are devices for it, and it delays no Step that waits before it."""
        machine = self._machine
        if waiting >= 0 and self._reserved is not None and self._delays(step, number, self._reserved):
            return False
        group, state = None, self._state
        if machine.devices[number] >= 0:
            answer = machine.grants.grant(state, number, quick=self._quick)
            if answer is None:
                self._refused.add(machine.devices[number])
                return False
            state, group = answer
        if waiting >= 0:
            return self._begin_behind(step, number, waiting, group, state)
        self._hold(step, number, group, state)
        return True

    def _hold(self, step: int, number: int, group: Group | None, state: State) -> None:
        machine = self._machine
        self._starts[step] = self._now
        self._ends[step] = end = self._now + self._length(step, number, group)
        self._groups[step] = group
        self._state = state
        self._cpu -= machine.cpus[number]
        self._memory -= machine.memories[number]
        if machine.workers[number]:
            self._busy.add(machine.workers[number])
        heappush(self._running, end * len(self._order) + step)

    def _length(self, step: int, number: int, group: Group | None) -> int:
        """How long the Step takes there: what is expected of it, it takes on the quickest devices."""
        length = self._machine.durations[step]
        if group is None:
            return length
        return slowed(length, self._machine.grants.best_speeds[number], group.speed)

    def _end_next(self) -> None:
        """Let time pass until a Step ends; take back what all that end then hold."""
        machine, running, n, waits = self._machine, self._running, len(self._order), self._waits
        self._now = running[0] // n
        after = (self._now + 1) * n
        while running and running[0] < after:
            step = heappop(running) % n
            number, group = machine.bucket_of[step], self._groups[step]
            self._cpu += machine.cpus[number]
            self._memory += machine.memories[number]
            if group is not None:
                self._state = machine.grants.release(self._state, number, group)
            if machine.workers[number]:
                self._busy.discard(machine.workers[number])
            for target in self._graph.successors[step]:
                waits[target] = left = waits[target] - 1
                if not left:
                    self._arrive(target)

    def _arrive(self, step: int) -> None:
        """Put a Step that waits for nothing any more into its bucket."""
        before = len(self._arrived) * len(self._order)
        heappush(self._buckets[self._machine.bucket_of[step]], before + self._place[step])
        if self._queued:
            self._arrived.append(step)

    def _reserve(self, step: int) -> _Reservation:
        """When the Step will fit, as far as what runs now decides it."""
        machine, n, waiting = self._machine, len(self._order), self._machine.bucket_of[step]
        cpus, memories, grants = machine.cpus, machine.memories, machine.grants
        cpu, memory, state = self._cpu - cpus[waiting], self._memory - memories[waiting], self._state
        ends, back = sorted(self._running), []
        last = len(ends) - 1
        for at, entry in enumerate(ends):
            number, group = machine.bucket_of[entry % n], self._groups[entry % n]
            cpu += cpus[number]
            memory += memories[number]
            if group is not None:
                back.append((number, group))
            time = entry // n
            if cpu < 0 or memory < 0 or (at < last and ends[at + 1] // n == time):
                continue
            state = grants.release_all(state, back)
            back.clear()
            if machine.devices[waiting] >= 0:
                answer = grants.grant(state, waiting, quick=self._quick)
                if answer is None:
                    continue
                state = answer[0]
            return _Reservation(time, cpu, memory, state)
        raise AssertionError("a Step fits no empty machine: this is refused before")

    def _delays(self, step: int, number: int, reserved: _Reservation) -> bool:
        """Whether the Step would, whatever its devices, take what is reserved."""
        if self._now + self._machine.durations[step] <= reserved.time:
            return False
        return self._machine.cpus[number] > reserved.cpu or self._machine.memories[number] > reserved.memory

    def _begin_behind(self, step: int, number: int, waiting: int, group: Group | None, state: State) -> bool:
        """Start a Step on these devices, or others, if it does not delay the one that waits before it."""
        machine = self._machine
        # Kept while the Step waits: until it starts, only what delays nothing starts, too.
        reserved = self._reserved = self._reserved or self._reserve(waiting)
        if self._now + self._length(step, number, group) > reserved.time:
            if machine.cpus[number] > reserved.cpu or machine.memories[number] > reserved.memory:
                return False
            if group is not None:
                beside = self._beside(number, group, reserved)
                if beside is None:
                    return False
                group, state = beside
            reserved.cpu -= machine.cpus[number]
            reserved.memory -= machine.memories[number]
        self._hold(step, number, group, state)
        return True

    def _beside(self, number: int, group: Group, reserved: _Reservation) -> tuple[Group, State] | None:
        """Devices that are free now and not needed by the reservation, and the state with them held."""
        grants = self._machine.grants
        later = grants.take(reserved.state, number, group)
        if later is None:
            answer = grants.grant(reserved.state, number, quick=self._quick)
            if answer is None:
                return None
            later, group = answer
        now = grants.take(self._state, number, group)
        if now is None:
            return None
        reserved.state = later
        return group, now
