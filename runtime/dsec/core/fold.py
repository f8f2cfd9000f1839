"""From events to the state of a run: what the executor resumes from and `dsec status` shows."""

from __future__ import annotations

from dsec.core.calendar import apart_us
from dsec.events import (
    STANDING,
    Cancel,
    Continue,
    DeviceState,
    Drop,
    Event,
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
from dsec.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import TypeAlias

    Instance: TypeAlias = tuple[str, int]


class Tally(Record):
    """What the ended attempts of one Step add up to."""

    attempts: int
    failures: int
    retries: int
    dropped: int
    walls_us: tuple[int, ...]
    """Of the successful attempts, in order of their ends."""
    cpu_us: int | None
    """None: of no attempt it is known."""
    rss_kb: int
    gpu_us: int
    """Time on GPUs, times how many, of attempts in processes of their own."""


class RunState(Record):
    """A run as its journal tells it; any prefix of a journal gives one."""

    sessions: tuple[RunStart, ...]
    retrying: dict[Instance, Retry]
    """Failed instances that are to be tried again and were not yet."""
    running: dict[Instance, Spawn]
    """Attempts with a beginning and no end; after a crash some of them may be dead."""
    finished: dict[Instance, Exit]
    failed: dict[Instance, Exit]
    """Instances whose latest attempt failed and that no later attempt redeemed."""
    logs: dict[Instance, str]
    """Log of each failed instance's latest attempt, relative to the run's folder."""
    dropped: dict[Instance, str]
    spans_us: dict[Instance, tuple[int, int]]
    """Begin and end of each finished instance's last attempt, from the start of the first executor."""
    attempts: dict[Instance, int]
    """Attempts begun so far."""
    workers: dict[str, WorkerStart]
    worker_us: dict[str, tuple[int, int, int]]
    """Of the workers that ended: CPU, peak RSS in KiB, and GPU time held, by name."""
    call_us: int
    """CPU of calls to workers whose own total is not known: they live, or were lost."""
    tallies: dict[str, Tally]
    cancelled: str
    """Reason of an early end, or ""."""
    end: RunEnd | None
    """Set when the last executor closed the journal."""
    paused: dict[Instance, Pause]
    """Attempts that stand still, and instances that were made to give way and did not start again."""
    devices: dict[str, DeviceState]
    """What the last executor last said of each device, by UUID."""
    remarks: tuple[Pause | Continue | DeviceState | Notice, ...]
    """All of them, timed from the start of the first executor."""


class _Sum:
    """A tally in the making."""

    __slots__ = ("attempts", "cpu_us", "dropped", "failures", "gpu_us", "retries", "rss_kb", "walls_us")

    def __init__(self) -> None:
        self.attempts = self.failures = self.retries = self.dropped = self.rss_kb = self.gpu_us = 0
        self.cpu_us: int | None = None
        self.walls_us: list[int] = []

    def frozen(self) -> Tally:
        return Tally._make(
            (
                self.attempts,
                self.failures,
                self.retries,
                self.dropped,
                tuple(self.walls_us),
                self.cpu_us,
                self.rss_kb,
                self.gpu_us,
            )
        )


class Fold:
    """A state in the making: events go in one by one, `state` can be asked for at any time."""

    def __init__(self) -> None:
        self.sessions: list[RunStart] = []
        self.retrying: dict[Instance, Retry] = {}
        self.running: dict[Instance, Spawn] = {}
        self.finished: dict[Instance, Exit] = {}
        self.failed: dict[Instance, Exit] = {}
        self.logs: dict[Instance, str] = {}
        self.dropped: dict[Instance, str] = {}
        self.spans_us: dict[Instance, tuple[int, int]] = {}
        self.attempts: dict[Instance, int] = {}
        self.workers: dict[str, WorkerStart] = {}
        self.worker_us: dict[str, tuple[int, int, int]] = {}
        self._calls_us: dict[str, int] = {}
        """CPU of the calls to each worker since it was started."""
        self._lost_us = 0
        """The same of workers that were lost with their executor."""
        self._origin_us = 0
        self.sums: dict[str, _Sum] = {}
        self.cancelled = ""
        self.end: RunEnd | None = None
        self.paused: dict[Instance, Pause] = {}
        self.devices: dict[str, DeviceState] = {}
        self.remarks: list[Pause | Continue | DeviceState | Notice] = []

    def take(self, event: Event) -> None:
        """Add the next event, in journal order."""
        match event:
            case Spawn():
                self._spawned(event)
            case Exit():
                self._exited(event)
            case Retry() | Drop():
                self._given_up(event)
            case RunStart():
                self._took_over(event)
            case WorkerStart():
                self.workers[event.worker] = event
            case WorkerStop():
                self._worker_stopped(event)
            case Pause() | Continue() | DeviceState() | Notice():
                self._remarked(event)
            case Cancel() | RunEnd():
                self._ending(event)
            case Resize():
                self._resized(event)

    def _went_on(self, event: Continue) -> None:
        pause = self.paused.pop((event.step, event.iteration), None)
        begun = self.running.get((event.step, event.iteration))
        if pause is not None and pause.how == "suspended" and begun is not None:
            self._sum(event.step).gpu_us -= (event.at_us - pause.at_us) * len(begun.devices)

    def _resized(self, event: Resize) -> None:
        instance = (event.step, event.iteration)
        if (begun := self.running.get(instance)) is not None:
            more = len(begun.devices) - len(event.devices)
            self._sum(event.step).gpu_us += more * (event.at_us - begun.at_us)
            self.running[instance] = begun._replace(devices=event.devices)

    def _took_over(self, event: RunStart) -> None:
        self.sessions.append(event)
        self._origin_us = apart_us(self.sessions[0], event)
        self.cancelled = ""
        self.end = None
        # Whatever the executor before had running, it has been ended since.
        self.running.clear()
        self.retrying.clear()
        self.workers.clear()
        self.paused.clear()
        self.devices.clear()
        self._lost_us += sum(self._calls_us.values())
        self._calls_us.clear()

    def _remarked(self, event: Pause | Continue | DeviceState | Notice) -> None:
        self.remarks.append(event._replace(at_us=self._origin_us + event.at_us))
        match event:
            case Pause():
                self.paused[event.step, event.iteration] = event
            case Continue():
                self._went_on(event)
            case DeviceState():
                self.devices[event.device] = event
            case Notice():
                return

    def _ending(self, event: Cancel | RunEnd) -> None:
        self.retrying.clear()
        if isinstance(event, Cancel):
            self.cancelled = event.reason
        else:
            self.end = event

    def _worker_stopped(self, event: WorkerStop) -> None:
        start = self.workers.pop(event.worker, None)
        calls_us = self._calls_us.pop(event.worker, 0)
        held_us = (event.at_us - start.at_us) * len(start.devices) if start else 0
        cpu_us, rss_kb, gpu_us = self.worker_us.get(event.worker, (0, 0, 0))
        self.worker_us[event.worker] = (
            cpu_us + (calls_us if event.cpu_us is None else event.cpu_us),
            max(rss_kb, event.rss_kb or 0),
            gpu_us + held_us,
        )

    def _sum(self, step: str) -> _Sum:
        found = self.sums.get(step)
        if found is None:
            found = self.sums[step] = _Sum()
        return found

    def _spawned(self, event: Spawn) -> None:
        instance = (event.step, event.iteration)
        self.running[instance] = event
        self.attempts[instance] = event.attempt
        if self.retrying:
            self.retrying.pop(instance, None)
        if self.paused:
            self.paused.pop(instance, None)

    def _exited(self, event: Exit) -> None:
        instance = (event.step, event.iteration)
        begun = self.running.pop(instance, None)
        if self.paused:
            self._ended_in_pause(instance)
        total = self._sum(event.step)
        total.attempts += 1
        if event.cpu_us is not None:
            total.cpu_us = (total.cpu_us or 0) + event.cpu_us
            if begun is not None and begun.worker:
                self._calls_us[begun.worker] = self._calls_us.get(begun.worker, 0) + event.cpu_us
        if event.rss_kb is not None and event.rss_kb > total.rss_kb:
            total.rss_kb = event.rss_kb
        if begun is not None and begun.devices and not begun.worker:
            total.gpu_us += event.wall_us * len(begun.devices)
        if event.cause == "ok":
            total.walls_us.append(event.wall_us)
            self.finished[instance] = event
            end_us = self._origin_us + event.at_us
            self.spans_us[instance] = (end_us - event.wall_us, end_us)
            if self.failed:
                self.failed.pop(instance, None)
            return
        total.failures += event.cause not in ("interrupted", "gave-way")
        if event.cause == "gave-way":
            return
        self.failed[instance] = event
        self.logs[instance] = begun.log if begun is not None else ""

    def _ended_in_pause(self, instance: Instance) -> None:
        """What stood still and ended does not stand still; what gave way still waits to start again."""
        pause = self.paused.get(instance)
        if pause is not None and pause.how in STANDING:
            del self.paused[instance]

    def _given_up(self, event: Retry | Drop) -> None:
        """The attempt is over; the instance is tried again, or dropped."""
        instance = (event.step, event.iteration)
        if isinstance(event, Retry):
            self._sum(event.step).retries += 1
            self.retrying[instance] = event
            return
        self.dropped[instance] = event.reason
        self.failed.pop(instance, None)
        self._sum(event.step).dropped += 1

    def state(self) -> RunState:
        """The state after the events so far; later events do not change it."""
        return RunState(
            sessions=tuple(self.sessions),
            retrying=dict(self.retrying),
            running=dict(self.running),
            finished=dict(self.finished),
            failed=dict(self.failed),
            logs=dict(self.logs),
            dropped=dict(self.dropped),
            spans_us=dict(self.spans_us),
            attempts=dict(self.attempts),
            workers=dict(self.workers),
            worker_us=dict(self.worker_us),
            call_us=self._lost_us + sum(self._calls_us.values()),
            tallies={step: total.frozen() for step, total in sorted(self.sums.items())},
            cancelled=self.cancelled,
            end=self.end,
            paused=dict(self.paused),
            devices=dict(self.devices),
            remarks=tuple(self.remarks),
        )


def fold(events: Iterable[Event]) -> RunState:
    """The state after `events`, in journal order."""
    folding = Fold()
    for event in events:
        folding.take(event)
    return folding.state()
