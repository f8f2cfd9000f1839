"""Since when each instance could have started: the end of the last thing that it waited for."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec.core.simulated import Workload
    from dsec.plan import Plan


class Readiness:
    """Ends of instances, and what follows from them."""

    def __init__(self, work: Workload | Plan) -> None:
        number = {step.id: at for at, step in enumerate(work.steps)}
        self._before: list[list[int]] = []
        self._carried: list[list[tuple[int, int]]] = []
        for step in work.steps:
            carried = [edge for edge in step.needs if edge.kind == "carried"]
            self._before.append([number[edge.step] for edge in step.needs if edge.kind != "carried"])
            self._carried.append([(number[edge.step], 1 + edge.staleness) for edge in carried])
        self._count = work.iterations.count
        self._in_flight = max(1, work.iterations.in_flight)
        self._ends: dict[tuple[int, int], int] = {}
        self._left = {0: len(work.steps)}
        self._complete: list[int] = []
        """When each iteration, and all before it, was done."""

    def done(self, at: int, iteration: int, now: int) -> None:
        """The instance is done."""
        self._ends[at, iteration] = now
        left = self._left.get(iteration, len(self._before)) - 1
        self._left[iteration] = left
        while self._left.get(len(self._complete), 1) == 0:
            self._complete.append(now)

    def since(self, at: int, iteration: int) -> int:
        """Since when the instance, which has started, could have."""
        ends = self._ends
        times = [ends[need, iteration] for need in self._before[at]]
        times += [ends[need, iteration - lag] for need, lag in self._carried[at] if iteration >= lag]
        if iteration:
            times.append(ends[at, iteration - 1])
        if iteration >= self._in_flight:
            times.append(self._complete[iteration - self._in_flight])
        return max(times, default=0)

    def never(self) -> tuple[tuple[int, int], ...]:
        """Instances that are not done; of iterations that never began all Steps."""
        if len(self._complete) == self._count:
            return ()
        return tuple(
            (at, iteration)
            for iteration in range(len(self._complete), self._count)
            for at in range(len(self._before))
            if (at, iteration) not in self._ends
        )
