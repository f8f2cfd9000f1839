"""What follows when an attempt fails: another one, going on without the instance, or the end of the run."""

from __future__ import annotations

from dsec.core.tolerance import droppable
from dsec.events import Drop
from dsec.outcomes import RETRIABLE
from dsec.retrying import Retrying

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from dsec.attempts import Attempt
    from dsec.core.scheduler import Scheduler
    from dsec.loop import Loop
    from dsec.plan import Plan
    from dsec.recorder import Recorder


class Failing:
    """The failures of one executor."""

    def __init__(
        self,
        plan: Plan,
        *,
        scheduler: Scheduler,
        recorder: Recorder,
        loop: Loop,
        halt: Callable[[], None],
    ) -> None:
        """`halt` is called when nothing new is to start, because an instance failed for good."""
        self._steps = plan.steps
        self._scheduler, self._recorder = scheduler, recorder
        self._halt = halt
        self._retrying = Retrying(loop, recorder, scheduler)
        self._droppable = droppable(plan.steps, scheduler.dependents)
        self._failures: dict[tuple[int, int], int] = {}
        self.keep_going = False
        self.final: list[tuple[str, int]] = []
        """Instances that failed for good."""

    @property
    def delayed(self) -> bool:
        """Whether something waits to be tried again."""
        return bool(self._retrying.delayed)

    def prospects(self, attempt: Attempt) -> tuple[int, bool]:
        """How many retries it has left, and whether the run can do without it."""
        left = attempt.step.retries.max - self._failures.get((attempt.at, attempt.iteration), 0)
        return left, self._droppable[attempt.at]

    def failed(self, attempt: Attempt, cause: str) -> None:
        """Do what its Step's retries and level say."""
        at, step, iteration = attempt.at, attempt.step, attempt.iteration
        failures = self._failures[at, iteration] = self._failures.get((at, iteration), 0) + 1
        if cause in RETRIABLE and failures <= step.retries.max and not (self.final and not self.keep_going):
            self._retrying.retry(attempt, failures)
        elif self._droppable[at]:
            self.drop(at, iteration, f"it failed {failures} time{'s' * (failures > 1)} and is discardable")
        else:
            self._scheduler.fail(at, iteration)
            self.final.append((step.id, iteration))
            if not self.keep_going:
                self._halt()

    def drop(self, at: int, iteration: int, reason: str) -> None:
        """Give an instance up."""
        self._recorder.emit(Drop(self._recorder.at_us(), self._steps[at].id, iteration, reason))
        self._scheduler.drop(at, iteration)

    def cancel(self) -> None:
        """Nothing is tried again."""
        self._retrying.cancel()
