"""One try of a Step instance, and what earlier executors of the run did."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from dsec.core.leases import Lease
    from dsec.plan import PlannedStep
    from dsec.processes import Child
    from dsec.workers import Worker


class Attempt:
    """One try of an instance, from its lease to its end."""

    __slots__ = (
        "at",
        "began_us",
        "child",
        "deadline",
        "iteration",
        "lease",
        "number",
        "step",
        "stopped",
        "why",
        "worker",
    )

    def __init__(self, at: int, step: PlannedStep, iteration: int, *, number: int, lease: Lease) -> None:
        self.at = at
        self.step = step
        self.iteration = iteration
        self.number = number
        self.lease = lease
        self.began_us = 0
        self.child: Child | None = None
        self.worker: Worker | None = None
        self.deadline: float | None = None
        """When it has run too long, by the loop's clock."""
        self.stopped = ""
        """Cause, when it was us who ended it."""
        self.why = ""
        """What there is to say about that, in one line."""

    def has_name(self, step: str, iteration: int, number: int) -> bool:
        """Whether this is the attempt that events of that name are about."""
        return (self.step.id, self.iteration, self.number) == (step, iteration, number)


class Past:
    """What earlier executors of the run did."""

    def __init__(
        self,
        *,
        finished: Mapping[int, frozenset[int]] | None = None,
        dropped: Mapping[int, frozenset[int]] | None = None,
        attempts: Mapping[tuple[str, int], int] | None = None,
    ) -> None:
        self.finished = finished or {}
        self.dropped = dropped or {}
        self.attempts = dict(attempts or {})
