"""A run as its journal tells it, event by event: what the screen shows is asked from here."""

from __future__ import annotations

from collections import deque

from dsec.core.fold import Fold
from dsec.core.holdings import HeldTime, Holdings
from dsec.core.readiness import Readiness
from dsec.events import Drop, Exit, Notice, RunStart, Spawn
from dsec.progress import Progress
from dsec.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from dsec.events import Event
    from dsec.plan import Plan
    from dsec_cli.screen.queue import Waiting

_KEPT = 200
"""Remarks that are kept to be shown."""


class Standing(Record):
    """What a Step is doing, as the table of Steps shows it."""

    step: str
    state: str
    iteration: int | None
    """Of what runs, else of what ran last; None: it has not begun."""
    attempt: int
    done: int
    elapsed_us: int | None
    """Of what runs; else what the last attempt took."""
    estimate_us: int
    running: Spawn | None


class Watch:
    """Takes every event of a run; answers in the time that its answer is long."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.steps = {step.id: step for step in plan.steps}
        self._number = {step.id: at for at, step in enumerate(plan.steps)}
        self.gpus = any(step.demand.gpu_count for step in plan.steps)
        self.fold = Fold()
        self.progress = Progress(plan)
        self.ready = Readiness(plan)
        self.holdings = Holdings()
        self._held = HeldTime(self.holdings)
        self.logs: dict[str, str] = {}
        """Of each Step's latest attempt, relative to the run's folder."""
        self.notices: deque[Notice] = deque(maxlen=_KEPT)
        self.complete = 0
        """Iterations that are done, one after the other."""
        self._left: dict[int, int] = {}
        self.changes = 0
        """Events so far."""
        self.seen_queue: tuple[int, int, bool, list[Waiting], int] | None = None
        """What waited when it was looked at last, after how many events, and how many were wished for."""

    def take(self, events: Iterable[Event]) -> None:
        """Add what the journal has gained."""
        for event in events:
            self.changes += 1
            if isinstance(event, RunStart) and self.fold.sessions:
                self._taken_over()
            self.fold.take(event)
            self.progress.take(event)
            self.holdings.take(event)
            if isinstance(event, Spawn):
                self.logs[event.step] = event.log
            elif isinstance(event, Notice):
                self.notices.append(event)
            elif isinstance(event, Drop) or (isinstance(event, Exit) and event.cause == "ok"):
                self._settled(event)

    def _taken_over(self) -> None:
        """What an executor that was lost had running is not running."""
        for step, _ in self.fold.running:
            row = self.progress.steps[step]
            if row.running:
                row.running -= 1
                row.state = "waiting"
                self.progress.running -= 1

    def _settled(self, event: Exit | Drop) -> None:
        key = event.iteration
        known = self._left.get(key, len(self.plan.steps))
        self._left[key] = known - 1
        self.ready.done(self._number[event.step], event.iteration, self.holdings.last_us)
        while self._left.get(self.complete) == 0:
            del self._left[self.complete]
            self.complete += 1

    def number(self, step: str) -> int:
        """The Step's place in the plan."""
        return self._number[step]

    def settled(self, step: str, iteration: int) -> bool:
        """Whether the instance is done, or was given up."""
        return (step, iteration) in self.fold.finished or (step, iteration) in self.fold.dropped

    def standings(self, now_us: int, chosen: Iterable[str], *, dead: bool = False) -> list[Standing]:
        """The rows of these Steps; `dead`: the executor is gone, and nothing of the run is running."""
        if dead:
            rows = [self._standing(step, now_us, None, paused=False) for step in chosen]
            cut = {step for step, _ in self.fold.running}
            return [one._replace(state="cut off") if one.step in cut else one for one in rows]
        running: dict[str, Spawn] = {}
        for (step, _), begun in self.fold.running.items():
            running.setdefault(step, begun)
        paused = {step: pause for (step, _), pause in self.fold.paused.items()}
        return [self._standing(step, now_us, running.get(step), paused=step in paused) for step in chosen]

    def _standing(self, step: str, now_us: int, begun: Spawn | None, *, paused: bool) -> Standing:
        row = self.progress.steps[step]
        state = "paused" if paused else row.state if begun is None or row.running else "running"
        if begun is None and state == "running":
            state = "waiting"
        elapsed = max(0, now_us - begun.at_us) if begun is not None else row.wall_us or None
        fresh = begun is None and not row.done and not row.failed and not row.dropped
        return Standing(
            step=step,
            state=state,
            iteration=None if fresh else begun.iteration if begun is not None else row.iteration,
            attempt=begun.attempt if begun is not None else row.attempt,
            done=row.done,
            elapsed_us=elapsed,
            estimate_us=self.steps[step].estimate_ms * 1000,
            running=begun,
        )

    def usable(self, device: str) -> bool:
        """Whether the executor would give the device to a Step."""
        told = self.fold.devices.get(device)
        return told is None or told.state == "ok"

    def held_by(self) -> dict[str, list[str]]:
        """By device who holds it: `train@3`, or a worker that serves no call."""
        found: dict[str, list[str]] = {}
        busy = set()
        many = self.plan.iterations.count
        for (step, iteration), begun in self.fold.running.items():
            busy.add(begun.worker)
            pause = self.fold.paused.get((step, iteration))
            for device in begun.devices if pause is None or pause.how != "suspended" else ():
                found.setdefault(device, []).append(step if many == 1 else f"{step}@{iteration}")
        for name, worker in self.fold.workers.items():
            for device in worker.devices if name not in busy else ():
                found.setdefault(device, []).append(f"({name})")
        return found

    def gpu_us(self, now_us: int) -> int | None:
        """GPU time held so far; None: the run asks for none."""
        if not self.gpus:
            return None
        return self._held.until(self.holdings.time(now_us))
