"""Failed attempts that are followed by another one once their back-off is over."""

from __future__ import annotations

from dsec.core.tolerance import backoff_ms
from dsec.events import Retry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec.attempts import Attempt
    from dsec.core.scheduler import Scheduler
    from dsec.loop import Loop, Timer
    from dsec.recorder import Recorder


class Retrying:
    """What waits to be tried again."""

    def __init__(self, loop: Loop, recorder: Recorder, scheduler: Scheduler) -> None:
        self._loop = loop
        self._recorder = recorder
        self._scheduler = scheduler
        self.delayed: dict[tuple[int, int], Timer] = {}

    def retry(self, attempt: Attempt, failures: int) -> None:
        """Try the instance again, after the delay that so many failures ask for."""
        at, step, iteration = attempt.at, attempt.step, attempt.iteration
        delay_ms = backoff_ms(step.retries, failures)
        self._recorder.emit(Retry(self._recorder.at_us(), step.id, iteration, attempt.number + 1, delay_ms))

        def again() -> None:
            del self.delayed[at, iteration]
            self._scheduler.put_back(at, iteration)

        self.delayed[at, iteration] = self._loop.at(self._loop.now() + delay_ms / 1000, again)

    def cancel(self) -> None:
        """Nothing is tried again."""
        for timer in self.delayed.values():
            timer.cancel()
        self.delayed.clear()
