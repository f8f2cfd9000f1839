"""From events to the state of a run: what the executor resumes from and `dsec status` shows."""

from __future__ import annotations

from dataclasses import dataclass

from dsec.events import Cancel, Drop, Event, Exit, Retry, RunEnd, RunStart, Spawn, WorkerStart, WorkerStop

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import TypeAlias

    Instance: TypeAlias = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Tally:
    """What the ended attempts of one Step add up to."""

    attempts: int
    failures: int
    retries: int
    dropped: int
    walls_us: tuple[int, ...]
    """Of the successful attempts, in order of their ends."""
    cpu_us: int
    rss_kb: int


@dataclass(frozen=True, slots=True)
class RunState:
    """A run as its journal tells it; any prefix of a journal gives one."""

    sessions: tuple[RunStart, ...]
    running: dict[Instance, Spawn]
    """Attempts with a beginning and no end; after a crash some of them may be dead."""
    finished: dict[Instance, Exit]
    failed: dict[Instance, Exit]
    """Instances whose latest attempt failed and that no later attempt redeemed."""
    dropped: dict[Instance, str]
    attempts: dict[Instance, int]
    """Attempts begun so far."""
    workers: dict[str, WorkerStart]
    tallies: dict[str, Tally]
    cancelled: str
    """Reason of an early end, or ""."""
    end: RunEnd | None
    """Set when the last executor closed the journal."""


class _Sum:
    """A tally in the making."""

    __slots__ = ("attempts", "cpu_us", "dropped", "failures", "retries", "rss_kb", "walls_us")

    def __init__(self) -> None:
        self.attempts = self.failures = self.retries = self.dropped = self.cpu_us = self.rss_kb = 0
        self.walls_us: list[int] = []

    def frozen(self) -> Tally:
        return Tally(
            attempts=self.attempts,
            failures=self.failures,
            retries=self.retries,
            dropped=self.dropped,
            walls_us=tuple(self.walls_us),
            cpu_us=self.cpu_us,
            rss_kb=self.rss_kb,
        )


class _Folding:
    """A state in the making: one method per kind of event that changes instances."""

    def __init__(self) -> None:
        self.sessions: list[RunStart] = []
        self.running: dict[Instance, Spawn] = {}
        self.finished: dict[Instance, Exit] = {}
        self.failed: dict[Instance, Exit] = {}
        self.dropped: dict[Instance, str] = {}
        self.attempts: dict[Instance, int] = {}
        self.workers: dict[str, WorkerStart] = {}
        self.sums: dict[str, _Sum] = {}
        self.cancelled = ""
        self.end: RunEnd | None = None

    def apply(self, event: Event) -> None:
        match event:
            case Spawn():
                self._spawned(event)
            case Exit():
                self._exited(event)
            case Retry():
                self._sum(event.step).retries += 1
            case Drop():
                self._dropped(event)
            case RunStart():
                self.sessions.append(event)
                self.cancelled = ""
                self.end = None
            case WorkerStart():
                self.workers[event.worker] = event
            case WorkerStop():
                self.workers.pop(event.worker, None)
            case Cancel():
                self.cancelled = event.reason
            case RunEnd():
                self.end = event

    def _sum(self, step: str) -> _Sum:
        found = self.sums.get(step)
        if found is None:
            found = self.sums[step] = _Sum()
        return found

    def _spawned(self, event: Spawn) -> None:
        instance = (event.step, event.iteration)
        self.running[instance] = event
        self.attempts[instance] = event.attempt

    def _exited(self, event: Exit) -> None:
        instance = (event.step, event.iteration)
        self.running.pop(instance, None)
        total = self._sum(event.step)
        total.attempts += 1
        total.cpu_us += event.cpu_us or 0
        total.rss_kb = max(total.rss_kb, event.rss_kb or 0)
        if event.cause == "ok":
            total.walls_us.append(event.wall_us)
            self.finished[instance] = event
            self.failed.pop(instance, None)
            self.dropped.pop(instance, None)
            return
        total.failures += event.cause != "interrupted"
        self.failed[instance] = event

    def _dropped(self, event: Drop) -> None:
        instance = (event.step, event.iteration)
        self.dropped[instance] = event.reason
        self.failed.pop(instance, None)
        self._sum(event.step).dropped += 1


def fold(events: Iterable[Event]) -> RunState:
    """The state after `events`, in journal order."""
    state = _Folding()
    for event in events:
        state.apply(event)
    return RunState(
        sessions=tuple(state.sessions),
        running=state.running,
        finished=state.finished,
        failed=state.failed,
        dropped=state.dropped,
        attempts=state.attempts,
        workers=state.workers,
        tallies={step: total.frozen() for step, total in sorted(state.sums.items())},
        cancelled=state.cancelled,
        end=state.end,
    )
