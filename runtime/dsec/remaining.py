"""How long a run will still take, by what its Steps are planned to take and what they were seen to take."""

from __future__ import annotations

from dsec.events import Drop, Exit, RunStart, Spawn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec.events import Event
    from dsec.plan import Plan


class Remaining:
    """What is left of one run's work, kept current by `take`; times in microseconds."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._count = plan.iterations.count
        self._each = {
            step.id: None if step.estimate_source == "default" else step.estimate_ms * 1000
            for step in plan.steps
        }
        """What an instance takes; None: nobody knows."""
        self._left = dict.fromkeys(self._each, self._count)
        self._seen: dict[str, tuple[int, int]] = {}
        """Successful attempts of a Step, and what they took in all."""
        self._busy_us = 0
        self._unknown = self._count * sum(each is None for each in self._each.values())
        """Instances left of which nobody knows what they take."""
        self._work_us = self._count * sum(each or 0 for each in self._each.values())
        self._running: dict[tuple[str, int], int] = {}
        self._tails: dict[str, int] = {}
        """From a Step's start to the end, along the longest path; empty: not asked for so far."""
        self._order: list[str] = []
        """By tail, the longest last."""
        makespan_ms = plan.analysis.makespan_ms
        work_ms = sum(step.estimate_ms for step in plan.steps)
        self._planned = max(1.0, work_ms / makespan_ms) if makespan_ms else 1.0
        """How many Steps the plan has at work at a time."""

    def settle(self, step: str, times: int = 1) -> None:
        """So many more instances are done, or were given up."""
        times = min(times, self._left[step])
        self._left[step] -= times
        each = self._each[step]
        if each is None:
            self._unknown -= times
        else:
            self._work_us -= each * times

    def take(self, event: Event) -> None:
        """Add the next event."""
        if isinstance(event, Spawn):
            self._running[event.step, event.iteration] = event.at_us
        elif isinstance(event, Exit):
            self._running.pop((event.step, event.iteration), None)
            if event.cause == "ok":
                self._busy_us += event.wall_us
                self.settle(event.step)
                if self._left[event.step]:
                    self._learn(event.step, event.wall_us)
        elif isinstance(event, Drop):
            self.settle(event.step)
        elif isinstance(event, RunStart):  # what an earlier executor had running is not running
            self._running.clear()
            self._busy_us = 0

    def _learn(self, step: str, wall_us: int) -> None:
        """What an instance took says more than the plan about those that are left."""
        count, total = self._seen.get(step, (0, 0))
        self._seen[step] = count + 1, total + wall_us
        each, left = (total + wall_us) // (count + 1), self._left[step]
        before = self._each[step]
        if before is None:
            self._unknown -= left
        self._work_us += (each - (before or 0)) * left
        self._each[step] = each

    def left_us(self, now_us: int) -> int | None:
        """Until the end, `now_us` on the executor's clock; None: unknown, or later than planned already."""
        if self._unknown:
            return None
        spent = sum(self._spent_us(step, now_us - since) for (step, _), since in self._running.items())
        work_us = (self._work_us - spent) / self._side_by_side(now_us)
        found = round(work_us if self._count > 1 else max(work_us, self._path_us(now_us)))
        return found if found > 0 else None

    def _spent_us(self, step: str, elapsed_us: int) -> int:
        return max(0, min(elapsed_us, self._each[step] or 0))

    def _side_by_side(self, now_us: int) -> float:
        """How many Steps work at a time: as planned, or as seen where iterations overlap."""
        if self._count == 1 or now_us <= 0:
            return self._planned
        busy_us = self._busy_us + sum(max(0, now_us - since) for since in self._running.values())
        return max(1.0, busy_us / now_us) if busy_us else self._planned

    def _path_us(self, now_us: int) -> int:
        """The longest path through what is left of a single iteration."""
        if not self._tails:
            self._measure()
        while self._order and not self._left[self._order[-1]]:
            self._order.pop()
        longest = 0
        for step in reversed(self._order):
            tail = self._tails[step]
            if tail <= longest:
                break
            if self._left[step]:
                since = self._running.get((step, 0), now_us)
                longest = max(longest, tail - self._spent_us(step, now_us - since))
        return longest

    def _measure(self) -> None:
        """The longest path from each Step; a plan lists Steps after all that they need."""
        behind = dict.fromkeys(self._each, 0)
        for step in reversed(self._plan.steps):
            tail = self._tails[step.id] = behind[step.id] + (self._each[step.id] or 0)
            for need in step.needs:
                if need.kind != "carried":
                    behind[need.step] = max(behind[need.step], tail)
        self._order = sorted(self._tails, key=self._tails.__getitem__)
