"""A run on a simulated clock: the scheduler, the leases and the decisions are those of real runs.

Events of one time are taken together, ends before anything else, so that a fault never takes what
was done in time. Nothing is drawn here: the same scene gives the same history everywhere.
"""

from __future__ import annotations

from heapq import heappop, heappush

from dsec.core.attempt import Running
from dsec.core.cluster import Cluster
from dsec.core.pace import Paces
from dsec.core.placement import slots
from dsec.core.preemption import Tenant, gives_way, must_not_wait, victims
from dsec.core.readiness import Readiness
from dsec.core.reservation import Held
from dsec.core.residents import Resident, Residents
from dsec.core.scheduler import Scheduler
from dsec.core.simulated import Fault, History, Piece, Recovery
from dsec.core.starting import Starter, World, elastic_pool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from dsec.core.leases import Lease
    from dsec.core.simulated import Scene

_END, _OVER, _FAULT, _NOTICE, _LEAVE, _GONE, _ARRIVE = range(7)
_STOPS = {"discardable": "killed", "elastic": "shrunk", "pauseable": "paused"}


class _Trouble:
    """A fault in the making: who was hit, and since when they work again."""

    __slots__ = ("fault", "hit", "open", "slowed", "waits")

    def __init__(self, fault: Fault) -> None:
        self.fault = fault
        self.hit = 0
        self.slowed: set[tuple[int, int]] = set()
        """Who has run more slowly, whenever it began."""
        self.open: set[tuple[int, int]] = set()
        self.waits: list[int] = []

    def slow_down(self, attempts: Iterable[Running]) -> None:
        """Count those that run on a slowed device, each instance once."""
        for one in attempts:
            key = one.at, one.iteration
            if key not in self.slowed and not set(self.fault.devices).isdisjoint(one.devices):
                self.slowed.add(key)
                self.hit += 1


class Simulation:
    """One scene, played once."""

    def __init__(self, scene: Scene, watch: Callable[[int, Cluster], None] | None = None) -> None:
        """`watch` is called after each time at which something happened."""
        work = scene.work
        self._work, self._manners, self._watch = work, scene.manners, watch
        self._steps = work.steps
        self.room = Cluster(scene.machines)
        demands = [step.demand for step in work.steps]
        self._paces = Paces(demands, [slots(one) for one in scene.machines])
        workers = [step.command.worker if step.command.call else "" for step in work.steps]
        self._workers = workers if any(workers) else []
        self._residents = Residents(work.steps, self.room)
        self._called: set[str] = set()
        self._scheduler = Scheduler(
            work.steps,
            work.iterations,
            groups=[
                (demand, workers[at], work.spans.get(at), at in work.arrivals)
                for at, demand in enumerate(demands)
            ],
            classed=not work.arrivals,
        )
        manners = scene.manners
        self._quicks = [manners.quick] * len(demands) if manners.quicks is None else manners.quicks
        self._starter = Starter(
            self._scheduler,
            demands,
            World(
                self.room,
                self._grant,
                self._held,
                self._expected,
                busy=self._is_busy if self._workers else None,
            ),
            # A call may wait for its worker's GPUs rather than for room, so nothing is kept for it.
            queues=[not self._residents.serves(at) for at in range(len(demands))],
            planned=[step.placement.devices for step in work.steps],
            quick=self._quicks,
            spans=work.spans,
            pool=elastic_pool(sum(len(one.devices) for one in scene.machines)),
        )
        self._ready = Readiness(work)
        self._running: dict[tuple[int, int], Running] = {}
        self._kept: dict[tuple[int, int], int] = {}
        """Work of an instance that need not be done again, in parts of its length."""
        self._requeued: dict[tuple[int, int], int] = {}
        """Since when an instance waits again that was stopped."""
        self._attempts: dict[tuple[int, int], int] = {}
        self._factors: dict[str, int] = {}
        """What is left of a device's speed, in thousandths."""
        self._slowness: dict[int, int] = {}
        """What becomes of the work of a Step when it next starts, in thousandths."""
        self._troubles: list[_Trouble] = []
        self._slowed: dict[str, list[int]] = {}
        """Per device what each fault that lasts leaves of its speed."""
        self._away: dict[str, int] = {}
        """Per device that is lost, since when."""
        self._slow_now: list[_Trouble] = []
        """Faults that slow devices down at present."""
        self._next_slow: dict[int, _Trouble] = {}
        """Per Step that is to straggle when it next starts, by which fault."""
        self._takers: dict[str, int] = {}
        """Per device, how many of the faults that last have taken it."""
        self._gone: list[tuple[str, int, int]] = []
        self._pieces: list[Piece] = []
        self._events: list[tuple[int, int, int, object]] = []
        self._serial = 0
        self._now = 0
        for fault in scene.faults:
            self._post(fault.at_ms, _FAULT, fault)

    def play(self) -> History:
        """Until nothing is left to do, or nothing more can be done."""
        self._open_doors()
        self._start_all()
        events = self._events
        while events and not self._scheduler.complete:
            self._now = events[0][0]
            while events and events[0][0] == self._now:
                _, kind, _, what = heappop(events)
                self._happen(kind, what)
            self._start_all()
        end = max((piece.to_ms for piece in self._pieces), default=0)
        gone = [*self._gone, *((uuid, since, self._now) for uuid, since in self._away.items())]
        return History(
            tuple(self._pieces),
            end,
            tuple(Recovery(one.fault, one.hit, tuple(one.waits), len(one.open)) for one in self._troubles),
            tuple(sorted(gone, key=lambda one: (one[1], one[0]))),
            self._ready.never(),
            self._residents.close(end),
            tuple(self._residents.evicted),
        )

    def _post(self, when: int, kind: int, what: object) -> None:
        self._serial += 1
        heappush(self._events, (when, kind, self._serial, what))

    def _open_doors(self) -> None:
        """Arrivals are Steps that take nothing: they begin at once and end when their job arrives."""
        arrivals = self._work.arrivals
        while found := [one for one in self._scheduler.ready() if self._scheduler.locate(one)[0] in arrivals]:
            for entry in found:
                at, _ = self._scheduler.locate(entry)
                self._scheduler.start(entry)
                self._post(arrivals[at], _ARRIVE, at)
        while self._events and self._events[0][0] == 0 and self._events[0][1] == _ARRIVE:
            self._happen(_ARRIVE, heappop(self._events)[3])

    def _happen(self, kind: int, what: object) -> None:
        if isinstance(what, Running):
            self._of_attempt(kind, what)
        elif isinstance(what, Fault):
            self._fault(what)
        elif isinstance(what, _Trouble):
            self._over(what)
        elif isinstance(what, Resident):
            self._residents.gone(what, self._now)
        elif isinstance(what, int):
            self._ready.done(what, 0, self._now)
            self._scheduler.finish(what, 0)

    def _of_attempt(self, kind: int, running: Running) -> None:
        key = running.at, running.iteration
        if self._running.get(key) is not running:
            return
        if kind != _END:
            self._stop(running)
        elif not running.cause and running.end == self._now:
            self._end(running, "ok")
            self._ready.done(*key, self._now)
            self._scheduler.finish(*key)

    # Starting.

    def _start_all(self) -> None:
        while True:
            while (start := self._starter.next(self._now)) is not None:
                if start.lease is None:
                    raise AssertionError("nothing is dropped in a simulation")
                self._begin(start.at, start.iteration, start.lease)
            if not (self._manners.preempt and self._make_room()):
                break
        if self._watch is not None:
            self._watch(self._now, self.room)

    def _grant(self, at: int) -> Lease | None:
        step = self._steps[at]
        if self._residents.serves(at):
            lease = self._residents.grant(at)
        else:
            lease = self.room.grant(step.demand, step.placement.devices, quick=self._quicks[at])
        if lease is None and (step.demand.gpu_count or self._residents.lacks(at)):
            worker = self._residents.evict(self._now)
            if worker is not None:
                self._post(self._now, _GONE, worker)
        return lease

    def _is_busy(self, at: int) -> bool:
        return self._workers[at] in self._called or self._residents.is_busy(at)

    def _expected(self, at: int, lease: Lease) -> int:
        return self._paces.length(at, self._steps[at].estimate_ms, lease.devices)

    def _held(self, now: int) -> list[Held]:
        return [Held(max(now, one.expected), one.held) for one in self._running.values()]

    def _begin(self, at: int, iteration: int, lease: Lease) -> None:
        key = at, iteration
        length = self._work.lengths_ms[at]
        permille = self._slowness.pop(at, 1000)
        if permille != 1000:
            self._next_slow.pop(at).hit += 1
        length = -(-length * permille // 1000)
        kept = min(self._kept.get(key, 0), length)
        again = self._attempts.get(key, 0)
        self._attempts[key] = again + 1
        works_from = self._now + (self._manners.restore_ms if again else 0)
        ready = self._requeued.pop(key, None)
        times = (self._ready.since(*key) if ready is None else ready, self._now, works_from)
        devices = self._residents.begun(at, self._now) if self._residents.serves(at) else lease.devices
        running = Running(at, iteration, again + 1, held=lease, devices=devices, times=times)
        running.begin(self._paces, kept=kept, length=length, factors=self._factors)
        estimate = max(self._steps[at].estimate_ms - kept, 0)
        running.expected = works_from + self._paces.length(at, estimate, lease.devices)
        if self._workers and self._workers[at]:
            self._called.add(self._workers[at])
        self._running[key] = running
        for trouble in self._slow_now:
            trouble.slow_down([running])
        self._post(running.end, _END, running)
        for trouble in self._troubles:
            if key in trouble.open:
                trouble.open.discard(key)
                trouble.waits.append(works_from - trouble.fault.at_ms)

    # Ending.

    def _end(self, running: Running, cause: str, lost_ms: int = 0) -> None:
        key = running.at, running.iteration
        del self._running[key]
        if self._workers:
            self._called.discard(self._workers[running.at])
        machine = self.room.machine(running.held)
        self.room.release(running.held)
        self._starter.ended(running.held)
        if self._residents.serves(running.at):
            if cause == "ok":
                self._residents.answered(running.at, self._now)
            else:
                self._residents.lost(running.at)
        self._pieces.append(
            Piece(
                *key,
                running.attempt,
                running.ready,
                running.began,
                self._now,
                machine,
                running.devices,
                cause,
                lost_ms,
            )
        )

    def _stop(self, running: Running) -> None:
        """Its grace is over, or what hit it was noticed: it waits again, with what it saved."""
        key = running.at, running.iteration
        self._kept[key], lost_ms = running.saved
        self._requeued[key] = self._now
        self._end(running, running.cause, lost_ms)
        # Who was struck by a fault has waited once already.
        self._scheduler.put_back(*key, first=running.cause in ("gpu-lost", "node-lost"))

    def _make_room(self) -> bool:
        """Stop others for a Step that must not wait; whether something can start at once."""
        entry = self._starter.waiting
        if entry is None:
            return False
        key = self._scheduler.locate(entry)
        level, running = self._steps[key[0]].level, self._running.values()
        struck = level != "discardable" and any(key in trouble.open for trouble in self._troubles)
        if not (must_not_wait(level, hungry=False) or struck):
            return False
        leaving = [one.held for one in running if one.cause]
        tenants = [
            Tenant(one.at, one.iteration, self._level(one), one.began, one.held)
            for one in running
            # What has only just begun stays: stopping it again and again would lead nowhere.
            if not one.cause and one.began < self._now and self._gives_way(one, level, entry)
        ]
        at_once = False
        for tenant in victims(self.room, self._steps[key[0]].demand, tenants, leaving):
            victim = self._running[tenant.at, tenant.iteration]
            victim.cause = _STOPS[tenant.level]
            killed = tenant.level == "discardable"
            victim.freeze(self._now, saves=not killed, checkpoint=0)
            if killed:
                self._stop(victim)
                at_once = True
            else:
                victim.expected = self._now + self._steps[tenant.at].grace_ms
                self._post(victim.expected, _LEAVE, victim)
                self._starter.forget()
        return at_once

    def _gives_way(self, running: Running, to: str, entry: int) -> bool:
        earlier = self._scheduler.entry(running.at, running.iteration) <= entry
        if to == "critical":
            return gives_way(self._level(running), to, earlier=earlier)
        return not earlier and self._level(running) == "discardable"

    def _level(self, running: Running) -> str:
        return self._steps[running.at].level

    # Faults.

    def _fault(self, fault: Fault) -> None:
        trouble = _Trouble(fault)
        self._troubles.append(trouble)
        if fault.kind == "straggler":
            self._straggle(trouble)
        elif fault.kind == "slow":
            self._slow(trouble)
        else:
            self._lose(trouble)
        if fault.for_ms:
            self._post(self._now + fault.for_ms, _OVER, trouble)
        self._starter.forget()

    def _straggle(self, trouble: _Trouble) -> None:
        fault = trouble.fault
        struck = [one for key, one in self._running.items() if key[0] in fault.steps and not one.cause]
        for running in struck[:1]:
            trouble.hit += 1
            running.stretch(self._now, fault.permille)
            self._post(running.end, _END, running)
        if not struck:
            self._slowness.update(dict.fromkeys(fault.steps, fault.permille))
            self._next_slow.update(dict.fromkeys(fault.steps, trouble))

    def _slow(self, trouble: _Trouble) -> None:
        for uuid in trouble.fault.devices:
            self._slowed.setdefault(uuid, []).append(trouble.fault.permille)
        self._slow_now.append(trouble)
        trouble.slow_down(self._retime(trouble.fault.devices))

    def _retime(self, devices: tuple[str, ...]) -> list[Running]:
        """Running attempts on these devices, which go on at their new speed."""
        for uuid in devices:
            left = 1000
            for permille in self._slowed[uuid]:
                left = left * permille // 1000
            self._factors[uuid] = left
        struck = [one for one in self._running.values() if not set(devices).isdisjoint(one.devices)]
        for running in struck:
            if not running.cause:
                running.retime(self._now, self._paces, self._factors)
                self._post(running.end, _END, running)
        return struck

    def _lose(self, trouble: _Trouble) -> None:
        fault = trouble.fault
        whole = fault.kind == "node-lost"
        if whole:
            self.room.close(fault.machine)
        for uuid in fault.devices:
            self._away.setdefault(uuid, self._now)
            self._takers[uuid] = self._takers.get(uuid, 0) + 1
            self.room.lose(uuid)
        self._residents.leave(fault.devices, self._now)
        for key, running in self._running.items():
            here = whole and self.room.machine(running.held) == fault.machine
            if not here and set(fault.devices).isdisjoint(running.devices):
                continue
            trouble.hit += 1
            trouble.open.add(key)
            if running.cause not in ("gpu-lost", "node-lost"):
                running.cause = fault.kind
                forgets = self._steps[running.at].level == "discardable"
                checkpoint = 0 if forgets else self._work.checkpoints_ms[running.at]
                running.freeze(self._now, saves=False, checkpoint=checkpoint)
                running.expected = self._now + self._manners.detect_ms
                self._post(running.expected, _NOTICE, running)

    def _over(self, trouble: _Trouble) -> None:
        """A fault is over: what it took is there again, unless another one still has it."""
        fault = trouble.fault
        if fault.kind == "slow":
            for uuid in fault.devices:
                self._slowed[uuid].remove(fault.permille)
            self._slow_now.remove(trouble)
            self._retime(fault.devices)
        elif fault.kind != "straggler":
            if fault.kind == "node-lost":
                self.room.open(fault.machine)
            for uuid in fault.devices:
                self._takers[uuid] -= 1
                if not self._takers[uuid]:
                    self._gone.append((uuid, self._away.pop(uuid), self._now))
                    self.room.find(uuid)
        self._starter.forget()


def simulate(scene: Scene) -> History:
    """Play the scene."""
    return Simulation(scene).play()
