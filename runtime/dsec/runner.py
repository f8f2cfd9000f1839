"""The executor: starts what is ready, records what ends, decides what a failure means."""

from __future__ import annotations

from functools import partial

from dsec.attempts import Attempt, Past
from dsec.core.pace import Paces, spans_of
from dsec.core.placement import slots
from dsec.core.reservation import Held
from dsec.core.scheduler import Scheduler
from dsec.core.starting import Starter, World, elastic_pool
from dsec.deadlines import Deadlines
from dsec.events import Cancel, Exit, Spawn
from dsec.failing import Failing
from dsec.floor import Floor
from dsec.launch import log_name, why_no_worker, why_none_starts, why_not_started
from dsec.outcomes import UNCLEAR
from dsec.workers import Workers, group_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dsec.answers import Answer
    from dsec.attention import Attention
    from dsec.confines import Confines
    from dsec.core.leases import Lease, Ledger
    from dsec.launch import Launcher
    from dsec.plan import Plan, PlannedStep
    from dsec.processes import Child, Children, Ended, Launch
    from dsec.recorder import Recorder
    from dsec.sharing import Sharing
    from dsec.workers import Worker
    from dsec.yielding import Yielding

_RETURNS_S = 3.0
"""For so long an elastic Step waits for devices that it had, rather than start with fewer."""
_LONG_US = 250_000
"""The end of an attempt this long is made durable before anything starts because of it."""


class Runner:
    """One executor's work on one run."""

    def __init__(
        self,
        plan: Plan,
        *,
        children: Children,
        launcher: Launcher,
        ledger: Ledger,
        recorder: Recorder,
        past: Past,
        why_cancelled: Callable[[int], str],
    ) -> None:
        """`why_cancelled`: reason of an early end that a signal asks for."""
        self._why_cancelled, self._presses = why_cancelled, 0
        self._loop, self._children = children.loop, children
        self._launcher, self.remedies = launcher, launcher.remedies
        self._ledger, self._recorder = ledger, recorder
        self._plan, self._steps = plan, plan.steps
        spans = spans_of(plan)
        self._groups = [
            (step.demand, group_of(step) if step.command.call else "", spans.get(at))
            for at, step in enumerate(plan.steps)
        ]
        self._scheduler = Scheduler(
            plan.steps, plan.iterations, groups=self._groups, finished=past.finished, dropped=past.dropped
        )
        calls = [step for step in plan.steps if step.command.call]
        self._workers = Workers(calls, children=children, launcher=launcher, ledger=ledger, recorder=recorder)
        self.ask_worker = self._workers.ask
        # Where GPUs are asked for, a Step that must wait for processors may still send idle workers away.
        demands = [step.demand for step in plan.steps]
        modest = not any(one.gpu_count for one in demands)
        self._least_cpu_m = min(ledger.cpu_free_m, *(one.cpu_m for one in demands)) if modest else 0
        self._paces = Paces(demands, [slots(ledger.inventory)])
        self._quicks = plan.quicks
        self._starter = Starter(
            self._scheduler,
            demands,
            World(ledger, self._grant, self._held, self._expected_us, self._returning),
            # A call may wait for its worker rather than for room, so nothing is kept for it.
            queues=[not step.command.call for step in plan.steps],
            planned=[step.placement.devices for step in plan.steps],
            quick=self._quicks,
            spans=spans,
            pool=elastic_pool(len(ledger.inventory.devices)),
        )
        self._attempts = past.attempts
        self.failing = Failing(
            plan, scheduler=self._scheduler, recorder=recorder, loop=self._loop, halt=self._halt
        )
        self._running: dict[Attempt, None] = {}
        """In the order in which they began."""
        self._set_timeout = Deadlines(self._loop, self._running, lambda one: self.stop(one, "timeout")).set
        self.cancelled = 0
        """Signal that asked the run to end; 0: none."""
        self.trouble = ""
        """Why the run was ended that cannot, or must not, go on."""
        self.attention: Attention | None = None
        """What hears the monitor; None: nothing is watched."""
        self.confines: Confines | None = None
        """What keeps processes within what their Steps state; None: no Step needs that."""
        self.why: Callable[[Attempt, Ended | None, Answer | None], tuple[str, str] | None] | None = None
        """Says cause and detail of an attempt that ended in an unclear way."""
        self.sharing: Sharing | None = None
        """What shares the GPUs with other runs; None: they are all this run's."""
        self.yielding: Yielding | None = None
        """What makes attempts give way; None: nothing can be urgent enough."""
        if 0 < sum(step.level == "critical" for step in plan.steps) < len(plan.steps):
            self.yields()

    @property
    def floor(self) -> Floor:
        """What others need to decide what becomes of attempts."""
        decides = (self._scheduler, self._starter, self._ledger, self._workers)
        does = (self._children, self._launcher, self._recorder, self._running, self._steps)
        return Floor._make((*decides, *does))

    def yields(self) -> Yielding:
        """What makes attempts give way, from now on."""
        if self.yielding is None:
            from dsec.yielding import Yielding

            self.yielding, self._least_cpu_m = Yielding(self, self._plan, self.floor), 0
        return self.yielding

    def work(self) -> None:
        """Run until nothing is left to do, or to wait for."""
        journal = self._recorder.journal
        if self._recorder.observer.interval_s is not None:
            self._tick()
        while True:
            self._start_ready()
            self._recorder.tell()
            kept = self.attention is not None and self.attention.any_waiting
            kept = (self.sharing is not None and self.sharing.settle()) or kept
            if not (self._running or self.failing.delayed or self._workers.any_leaving or kept):
                break
            self._loop.step(journal.sync_due, spin_s=self._workers.spin_s)
            journal.settle()
            if journal.full and not self.trouble:
                self.give_up(self._recorder.journal.trouble or "the disk is full")
        self._workers.retire_all()
        while self._workers.any_running:
            self._loop.step()
        self._recorder.tell_all()

    def heed(self, attention: Attention) -> None:
        """Give devices back only when the monitor says that they are clear."""
        self.attention, attention.running = attention, self._running
        self._workers.release = lambda lease, pid: attention.release(lease, pid, self._give_back)

    @property
    def complete(self) -> bool:
        """Whether every instance is done or dropped."""
        return self._scheduler.complete

    def _tick(self) -> None:
        observer = self._recorder.observer
        observer.tick(self._recorder.at_us() / 1e6)
        if observer.interval_s is not None:
            self._loop.at(self._loop.now() + observer.interval_s, self._tick)

    def _start_ready(self) -> None:
        if self.yielding is not None:
            self.yielding.go_on()
        while self._ledger.cpu_free_m >= self._least_cpu_m:
            if (start := self._starter.next(self._recorder.at_us())) is None:
                if self.yielding is not None and self._helps_itself() and self.yielding.make_room():
                    continue
                return
            at, iteration, lease, need = start
            if need is not None:
                self.failing.drop(
                    at, iteration, f"it needs {self._steps[need[0]].id}@{need[1]}, which was dropped"
                )
            elif lease is not None:
                self._begin(at, iteration, lease)

    def _held(self, now: int) -> list[Held]:
        """What runs, and when each is expected to end."""
        return [
            Held(max(now, one.began_us + self._expected_us(one.at, one.lease)), one.lease)
            for one in self._running
        ]

    def _returning(self) -> Sequence[Lease]:
        """What is over but for its devices, and not for long."""
        if self.attention is None or not (found := self.attention.returning(_RETURNS_S)):
            return ()
        self._loop.at(
            self._loop.now() + _RETURNS_S, self._starter.forget
        )  # then nobody waits for it any more
        return found

    def _expected_us(self, at: int, lease: Lease) -> int:
        return self._paces.length(at, self._steps[at].estimate_ms * 1000, lease.devices)

    def _grant(self, at: int) -> Lease | None:
        step = self._steps[at]
        if step.command.call:
            lease = self._workers.grant(step)
        else:
            lease = self._ledger.grant(step.demand, step.placement.devices, quick=self._quicks[at])
        if lease is None and self._takes_gpus(step) and self._helps_itself():
            self._workers.evict()
        return lease

    def _takes_gpus(self, step: PlannedStep) -> bool:
        """A call that needs none may still be the first of a worker that does."""
        return step.demand.gpu_count > 0 or (
            bool(step.command.call) and self._workers.lacks(step) is not None
        )

    def _helps_itself(self) -> bool:
        return self.sharing is None or self.sharing.helps_itself

    def _begin(self, at: int, iteration: int, lease: Lease) -> None:
        step = self._steps[at]
        number = 1 + (self._attempts.get((step.id, iteration), 0) if self._attempts else 0)
        if number > 1 or step.retries.max:
            self._attempts[step.id, iteration] = number
        attempt = Attempt(at, step, iteration, number=number, lease=lease)
        if number > 1 and self.yielding is not None and self.yielding.sends_again(attempt):
            self._give_back(lease)
            return
        attempt.began_us = self._recorder.at_us()
        self._running[attempt] = None
        if step.command.call:
            self._begin_call(attempt)
        else:
            self._begin_process(attempt)
        if self.yielding is not None:
            self.yielding.begun(attempt)

    def _begin_process(self, attempt: Attempt) -> None:
        step, iteration, number = attempt.step, attempt.iteration, attempt.number
        devices = attempt.lease.devices
        log = log_name(step.id, iteration=iteration, attempt=number)
        launch: Launch | None = None
        try:
            launch = self._launcher.launch(
                step, iteration=iteration, attempt=number, devices=devices, log=log
            )
            gone = partial(self._process_gone, attempt)
            if self.confines is None:
                child = self._children.start(launch, on_gone=gone)
            else:
                child = self.confines.start(step, launch, on_gone=gone)
        except OSError as problem:
            self._not_started(attempt, problem, launch)
            return
        attempt.child = child
        pid, ticks, by = child.pid, child.ticks, child.ticks_by
        self._recorder.emit(
            Spawn._make((attempt.began_us, step.id, iteration, number, pid, ticks, by, devices, log, ""))
        )
        self._set_timeout(attempt)

    def _begin_call(self, attempt: Attempt) -> None:
        step = attempt.step
        try:
            worker = self._workers.call(
                step,
                iteration=attempt.iteration,
                attempt=attempt.number,
                on_answer=lambda answer: self._answered(attempt, answer),
                record=lambda worker: self._record_call(attempt, worker),
            )
        except OSError as problem:
            self._not_started(attempt, problem, None)
            return
        attempt.worker = worker
        self._set_timeout(attempt)

    def _record_call(self, attempt: Attempt, worker: Worker) -> None:
        """Before it is sent: killed in between, another executor gives the next call another number."""
        if (child := worker.child) is None:
            raise AssertionError(f"worker {worker.name} takes a call and is not running")
        devices = worker.lease.devices if worker.lease else ()
        pid, ticks, by = child.pid, child.ticks, child.ticks_by
        named = (attempt.began_us, attempt.step.id, attempt.iteration, attempt.number)
        self._recorder.emit(Spawn._make((*named, pid, ticks, by, devices, worker.log, worker.name)))

    def _not_started(self, attempt: Attempt, problem: OSError, launch: Launch | None) -> None:
        if why := why_none_starts(problem, self._launcher.run):
            del self._running[attempt]
            self._give_back(attempt.lease)
            self._scheduler.fail(attempt.at, attempt.iteration)
            self.give_up(self._recorder.journal.trouble or why)
            return
        cause, detail = why_not_started(problem, launch)
        if attempt.step.command.call:
            cause, detail = why_no_worker(problem)
        # Ended from the loop, not from here: a retry without delay must not recurse.
        self._loop.at(0.0, lambda: self._end(attempt, cause, detail=detail))

    def find(self, step: str, iteration: int, number: int) -> Attempt | None:
        """The attempt of that name, as long as it runs."""
        return next((one for one in self._running if one.has_name(step, iteration, number)), None)

    def stop(self, attempt: Attempt, cause: str, *, grace_s: float | None = None) -> None:
        """End an attempt: TERM, then KILL after its grace; again and sooner when asked again."""
        attempt.stopped = attempt.stopped or cause
        if self.yielding is not None:
            self.yielding.stopping(attempt)
        grace = attempt.step.grace_ms / 1000 if grace_s is None else grace_s
        if attempt.child is not None:
            self._children.stop(attempt.child, grace_s=grace)
        elif attempt.worker is not None:
            self._workers.stop(attempt.worker, cause=f"was stopped ({cause})", grace_s=grace)

    def _process_gone(self, attempt: Attempt, child: Child) -> None:
        if (ended := child.ended) is None:
            raise AssertionError(f"{attempt.step.id} is gone and has no status")
        plain = "signal" if ended.signal is not None else "exit" if ended.code else "ok"
        self._end(attempt, attempt.stopped or plain, detail=attempt.why, ended=ended)

    def _answered(self, attempt: Attempt, answer: Answer) -> None:
        cause = attempt.stopped if attempt.stopped and answer.cause != "ok" else answer.cause
        detail = answer.detail if cause == answer.cause else attempt.why
        self._end(attempt, cause, detail=detail, answer=answer)

    def _end(
        self,
        attempt: Attempt,
        cause: str,
        *,
        detail: str = "",
        ended: Ended | None = None,
        answer: Answer | None = None,
    ) -> None:
        """Record the end of an attempt, then act on it."""
        step, iteration = attempt.step, attempt.iteration
        if self.yielding is not None:
            cause = self.yielding.ended(attempt, cause)
        if cause == "ok":
            if step.outputs and (missing := self._launcher.missing_output(step, iteration)):
                cause, detail = "missing-output", missing
        elif cause in UNCLEAR and self.why is not None:
            cause, detail = self.why(attempt, ended, answer) or (cause, detail)
        now_us = self._recorder.at_us()
        code = number = cpu_us = rss_kb = log_from = log_to = result = None
        wall_us = now_us - attempt.began_us
        if ended is not None:
            code, number, wall_us, cpu_us, rss_kb = ended
        elif answer is not None:
            cpu_us, log_from, log_to = answer.cpu_us, answer.log_from, answer.log_to
            result = answer.result if cause == "ok" else None
        measured = (wall_us, cpu_us, rss_kb, log_from, log_to, result)
        self._recorder.emit(
            Exit._make((now_us, step.id, iteration, attempt.number, cause, code, number, detail, *measured)),
            long=wall_us >= _LONG_US,
        )
        del self._running[attempt]
        if self.attention is None or attempt.child is None:
            self._give_back(attempt.lease)
        else:
            self._starter.ended(attempt.lease)
            self.attention.release(attempt.lease, attempt.child.pid, self._give_back)
        if cause == "ok":
            self._scheduler.finish(attempt.at, iteration)
        else:
            self._failed(attempt, cause)

    def _give_back(self, lease: Lease) -> None:
        self._ledger.release(lease)
        self._starter.ended(lease)

    def _failed(self, attempt: Attempt, cause: str) -> None:
        if self.cancelled or self.trouble:
            self._scheduler.fail(attempt.at, attempt.iteration)
            return
        if cause == "gave-way" and self.yielding is not None:
            self._attempts[attempt.step.id, attempt.iteration] = attempt.number
            self.yielding.again(attempt)
            return
        self.failing.failed(attempt, cause)

    def _halt(self) -> None:
        """Nothing new starts; what is running goes on."""
        self._scheduler.halt()
        self.failing.cancel()

    def give_up(self, why: str) -> None:
        """End the run in order: it cannot, or must not, go on."""
        self.trouble = why
        self._halt()
        for attempt in list(self._running):
            self.stop(attempt, "interrupted")

    def cancel(self, number: int) -> None:
        """A signal asks the run to end: in order, sooner when asked again, at once the third time."""
        if not self.cancelled:
            self.cancelled = number
            self._halt()
            self._recorder.emit(Cancel(self._recorder.at_us(), self._why_cancelled(number)))
        self._presses += 1
        grace = {1: None, 2: 1.0}.get(self._presses, 0.0)
        for attempt in list(self._running):
            self.stop(attempt, "interrupted", grace_s=grace)
        self._workers.retire_all()
        if grace is not None:
            self._workers.hasten(grace_s=grace)
