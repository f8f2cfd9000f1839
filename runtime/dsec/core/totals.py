"""What a run adds up to for who watches it from outside: counters, kept event by event."""

from __future__ import annotations

from dsec.events import (
    STANDING,
    Cancel,
    Continue,
    DeviceState,
    Drop,
    Exit,
    Notice,
    Pause,
    Resize,
    Retry,
    RunEnd,
    RunStart,
    Spawn,
    WorkerStart,
    WorkerStop,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec.events import Event
    from dsec.plan import Plan

STATES = ("waiting", "running", "done", "failed", "dropped", "paused")
"""What an instance of a Step may be."""
_WAITING, _RUNNING, _DONE, _FAILED, _DROPPED, _PAUSED = range(6)
ALL_REDUCE = "dsec.allreduce:all_reduce"
MELTDOWN = "melt-down"
"""The kind of a notice that a breaker opened."""


class StepTotals:
    """One Step's, or those of all Steps that have no line of their own."""

    __slots__ = ("cpu_us", "done", "failures", "gave_way", "gpu_us", "retries", "rss_kb", "wall_us")

    def __init__(self) -> None:
        self.done = self.retries = self.wall_us = self.gpu_us = self.gave_way = 0
        self.cpu_us: int | None = None
        self.rss_kb: int | None = None
        self.failures: dict[str, int] = {}
        """By cause."""


class Totals:
    """Takes the events of a run in order; each costs the same, however long the run."""

    def __init__(self, plan: Plan) -> None:
        self.steps: dict[str, StepTotals] = {}
        self.running: dict[tuple[str, int], Spawn] = {}
        self.session: RunStart | None = None
        self.end: RunEnd | None = None
        self.notices: dict[str, int] = {}
        self.pauses: dict[str, int] = {}
        """By how."""
        self.devices: dict[str, str] = {}
        """Latest state of each device that something was said of, by UUID."""
        self.syncs = self.good_syncs = 0
        """AllReduce attempts that ended, and those that succeeded."""
        self.recovery_us: int | None = None
        """From the start of the latest executor that took the run over to its first attempt."""
        self.meltdowns: int | None = None
        """None: no breaker has said anything."""
        self._taken_over = False
        self._count = plan.iterations.count
        self._states: dict[str, bytearray] = {}
        self._syncing = frozenset(step.id for step in plan.steps if step.command.call == ALL_REDUCE)

    def take(self, event: Event) -> None:  # noqa: C901 - an arm for each kind of event
        """Add the next event."""
        match event:
            case Spawn():
                self._spawned(event)
            case Exit():
                self._exited(event)
            case RunStart():
                self._took_over(event)
            case Retry():
                self.of(event.step).retries += 1
                self._set(event.step, event.iteration, _WAITING)
            case Drop():
                self._set(event.step, event.iteration, _DROPPED)
            case Pause():
                self.pauses[event.how] = self.pauses.get(event.how, 0) + 1
                if event.how in STANDING:
                    self._set(event.step, event.iteration, _PAUSED)
            case Continue():
                self._set(event.step, event.iteration, _RUNNING)
            case Resize():
                return
            case DeviceState():
                self.devices[event.device] = event.state
            case Notice():
                self.notices[event.kind] = self.notices.get(event.kind, 0) + 1
                if event.kind == MELTDOWN:
                    self.meltdowns = (self.meltdowns or 0) + 1
            case RunEnd():
                self.end = event
            case WorkerStart() | WorkerStop() | Cancel():
                pass

    def of(self, step: str) -> StepTotals:
        """The totals of a Step."""
        found = self.steps.get(step)
        if found is None:
            found = self.steps[step] = StepTotals()
        return found

    def states(self, step: str) -> tuple[int, ...]:
        """How many instances of the Step are in each of STATES."""
        marks = self._states.get(step)
        if marks is None:
            return (self._count, *(0,) * (len(STATES) - 1))
        return tuple(marks.count(state) for state in range(len(STATES)))

    def _set(self, step: str, iteration: int, state: int) -> None:
        marks = self._states.get(step)
        if marks is None:
            marks = self._states[step] = bytearray(self._count)
        if 0 <= iteration < self._count:
            marks[iteration] = state

    def _took_over(self, event: RunStart) -> None:
        self._taken_over = self.session is not None
        self.session, self.end = event, None
        self.devices.clear()
        for step, iteration in self.running:
            self._set(step, iteration, _WAITING)
        self.running.clear()

    def _spawned(self, event: Spawn) -> None:
        self.running[event.step, event.iteration] = event
        self._set(event.step, event.iteration, _RUNNING)
        if self._taken_over:
            self.recovery_us, self._taken_over = event.at_us, False

    def _exited(self, event: Exit) -> None:
        begun = self.running.pop((event.step, event.iteration), None)
        total = self.of(event.step)
        if event.cpu_us is not None:
            total.cpu_us = (total.cpu_us or 0) + event.cpu_us
        if event.rss_kb is not None:
            total.rss_kb = max(event.rss_kb, total.rss_kb or 0)
        if begun is not None:
            total.gpu_us += event.wall_us * len(begun.devices)
        if event.step in self._syncing and event.cause != "interrupted":
            self.syncs += 1
            self.good_syncs += event.cause == "ok"
        if event.cause == "ok":
            total.done += 1
            total.wall_us += event.wall_us
            self._set(event.step, event.iteration, _DONE)
        elif event.cause == "gave-way":
            total.gave_way += 1
            self._set(event.step, event.iteration, _WAITING)
        elif event.cause == "interrupted":  # with its run, which may go on
            self._set(event.step, event.iteration, _WAITING)
        else:
            total.failures[event.cause] = total.failures.get(event.cause, 0) + 1
            self._set(event.step, event.iteration, _FAILED)
