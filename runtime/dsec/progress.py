"""How far a run is, counted event by event, and each event as a line for people."""

from __future__ import annotations

from dsec.events import (
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
from dsec.outcomes import PAUSES, length, recorded, state, why
from dsec.remaining import Remaining
from dsec.words import joined, say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec.events import Event
    from dsec.plan import Plan

_NAMED = 3
"""Steps that are told by their names; more are counted."""
MANY = 200
"""Runs of more instances are told in a line a second, not in lines per Step."""


def span(seconds: float) -> str:
    """A length of time for people: `0.42s`, `12.3s`, `4m07s`, `2h05m`."""
    if seconds < 10:
        return f"{seconds:.2f}s"
    if seconds < 60:
        return f"{seconds:.1f}s"
    if seconds < 3600:
        return f"{int(seconds) // 60}m{int(seconds) % 60:02d}s"
    return f"{int(seconds) // 3600}h{int(seconds) % 3600 // 60:02d}m"


class StepProgress:
    """One Step's row."""

    __slots__ = (
        "attempt",
        "done",
        "dropped",
        "failed",
        "iteration",
        "running",
        "since_us",
        "state",
        "wall_us",
    )

    def __init__(self) -> None:
        self.state = "waiting"
        self.iteration = 0
        self.attempt = 0
        self.done = self.failed = self.dropped = self.running = 0
        self.since_us = 0
        self.wall_us = 0


class Progress:
    """Counts of one run, kept current by `take`."""

    def __init__(self, plan: Plan) -> None:
        self.steps = {step.id: StepProgress() for step in plan.steps}
        self._timeouts_ms = {step.id: step.timeout_ms for step in plan.steps}
        self._graces_ms = {step.id: step.grace_ms for step in plan.steps}
        self._remaining = Remaining(plan)
        self.total = len(plan.steps) * plan.iterations.count
        self.iterations = plan.iterations.count
        self.done = self.failed = self.stopped = self.dropped = self.retries = self.running = 0
        self._ending = False
        """Nothing new starts: the run is asked to end, or has ended."""
        self._over = False

    def skip(self, step: str, times: int) -> None:
        """Count instances that an earlier executor finished."""
        row = self.steps[step]
        row.done += times
        if row.done == self.iterations:
            row.state = "done"
        self.done += times
        self._remaining.settle(step, times)

    def leave_out(self, step: str, times: int) -> None:
        """Count instances that an earlier executor gave up."""
        row = self.steps[step]
        row.dropped += times
        row.state = "dropped"
        self.dropped += times
        self._remaining.settle(step, times)

    def take(self, event: Event) -> None:
        """Count an event."""
        self._remaining.take(event)
        match event:
            case Spawn():
                self._spawned(event)
            case Exit():
                self._exited(event)
            case Retry():
                self.retries += 1
                self.steps[event.step].state = "waiting to retry"
            case Drop():
                self.dropped += 1
                row = self.steps[event.step]
                row.dropped += 1
                row.state = "dropped"
            case Pause():
                self.steps[event.step].state = "paused"
            case Continue():
                self.steps[event.step].state = "running"
            case RunStart() | RunEnd() | Cancel():
                self._over = isinstance(event, RunEnd)
                self._ending = not isinstance(event, RunStart)
            case WorkerStart() | WorkerStop() | DeviceState() | Notice() | Resize():
                return

    def _spawned(self, event: Spawn) -> None:
        self.running += 1
        row = self.steps[event.step]
        row.running += 1
        row.state, row.iteration, row.attempt = "running", event.iteration, event.attempt
        row.since_us = event.at_us

    def _exited(self, event: Exit) -> None:
        row = self.steps[event.step]
        if row.running:
            row.running -= 1
            self.running -= 1
        row.wall_us = event.wall_us
        if event.cause == "ok":
            self.done += 1
            row.done += 1
            row.state = "done" if row.done == self.iterations else "waiting"
            return
        if event.cause == "interrupted":
            self.stopped += 1
            row.state = "stopped"
            return
        if event.cause == "gave-way":
            row.state = "paused"
            return
        row.failed += 1
        self.failed += 1
        row.state = "failed"

    def eta_s(self, now_s: float) -> float | None:
        """Seconds until the end by what is planned and was seen; None: nothing to judge by."""
        if self._ending or self.total == self.done + self.dropped:
            return None
        left_us = self._remaining.left_us(round(now_s * 1e6))
        return None if left_us is None else left_us / 1e6

    def summary(self, now_s: float, *, dead: bool = False) -> str:
        """One line: `312 of 1000 done, 2 running, 1 failed attempt, 12.3s elapsed, about 30s left`.

        `dead`: the executor is gone without an end: what was running was cut off, and nothing goes on.
        """
        parts: list[str] = [say("{done} of {total} done", done=self.done, total=self.total)]
        if not self._over:
            parts.append(say("{count} cut off" if dead else "{count} running", count=self.running))
        if self.failed:
            parts.append(
                say("1 failed attempt")
                if self.failed == 1
                else say("{count} failed attempts", count=self.failed)
            )
        if self.retries:
            parts.append(say("1 retry") if self.retries == 1 else say("{count} retries", count=self.retries))
        if self.stopped:
            parts.append(say("{count} stopped", count=self.stopped))
        if self.dropped:
            parts.append(say("{count} dropped", count=self.dropped))
        parts.append(say("{time} elapsed", time=span(now_s)))
        eta = None if dead else self.eta_s(now_s)
        if eta is not None:
            parts.append(say("about {time} left", time=span(eta)))
        return joined(", ", parts)

    def line(self, event: Event) -> str | None:
        """An event as a line for people; None where it is of no interest to them."""
        match event:
            case Spawn():
                return self._began(event)
            case Exit():
                return self._ended(event)
            case Retry() | Drop():
                return self._given_up(event)
            case Pause() | Continue() | DeviceState() | Notice():
                return self._remarked(event)
            case WorkerStop():
                if event.cause in ("done", "evicted"):
                    return None
                return say("worker {worker} {cause}", worker=event.worker, cause=state(event.cause))
            case Cancel():
                return self._cancelled(event)
            case RunStart() | WorkerStart() | RunEnd() | Resize():
                return None  # a notice says it of the last

    def _began(self, event: Spawn) -> str | None:
        if self.iterations > 1 and event.attempt == 1:
            return None
        again = say(" attempt {number}", number=event.attempt) if event.attempt > 1 else ""
        devices = say(" on {devices}", devices=", ".join(event.devices)) if event.devices else ""
        return say("{step} started{again}{devices}", step=self._called(event), again=again, devices=devices)

    def _cancelled(self, event: Cancel) -> str:
        """That the run is ending, and for whom it waits how long."""
        reason = recorded(event.reason)
        waits = [step for step, row in self.steps.items() if row.running]
        if not waits:
            return say("ending early: {reason}", reason=reason)
        longest = length(max(self._graces_ms[step] for step in waits))
        who = ", ".join(waits) if len(waits) <= _NAMED else say("{count} Steps", count=len(waits))
        if event.reason != "interrupted":
            return say(
                "ending early: {reason}; waits up to {time} for {who}", reason=reason, time=longest, who=who
            )
        return say(
            "ending early: {reason}; waits up to {time} for {who} (Ctrl-C again: 1s, a third time: at once)",
            reason=reason,
            time=longest,
            who=who,
        )

    def _given_up(self, event: Retry | Drop) -> str:
        step = self._called(event)
        if isinstance(event, Drop):
            return say("{step} dropped: {reason}", step=step, reason=recorded(event.reason))
        return say(
            "{step} will be tried again in {time} (attempt {number})",
            step=step,
            time=span(event.delay_ms / 1000),
            number=event.attempt,
        )

    def _remarked(self, event: Pause | Continue | DeviceState | Notice) -> str:
        match event:
            case Pause():
                return say(PAUSES[event.how], step=self._called(event), reason=recorded(event.reason))
            case Continue():
                return say("{step} goes on", step=self._called(event))
            case DeviceState():
                what = {"device": event.device, "state": state(event.state), "reason": recorded(event.reason)}
                return say("GPU {device} is {state}: {reason}", **what)
            case Notice():
                return self._noticed(event)

    def _ended(self, event: Exit) -> str:
        """How an attempt ended, in words."""
        step = self._called(event)
        if event.cause == "ok":
            return say("{step} done in {time}", step=step, time=span(event.wall_us / 1e6))
        return say("{step} {why}", step=step, why=why(event, self._timeouts_ms[event.step]))

    def _noticed(self, event: Notice) -> str:
        """Whom a notice is about, and what it says."""
        told = recorded(event.detail)
        if event.step:
            return say("{step}: {detail}", step=self._called(event), detail=told)
        if event.device:
            return say("GPU {device}: {detail}", device=event.device, detail=told)
        return told

    def _called(self, event: Spawn | Exit | Retry | Drop | Pause | Continue | Notice) -> str:
        return instance(event.step, event.iteration, of=self.iterations)


def instance(step: str, iteration: int, *, of: int) -> str:
    """What an instance is called: `train@3`, or `train` where there is but one iteration."""
    return step if of == 1 else f"{step}@{iteration}"
