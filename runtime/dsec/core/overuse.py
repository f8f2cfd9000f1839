"""Whether an attempt took more main memory than its Step states, and whether it may be ended for that."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec.plan import PlannedStep

LOOKS = 2
"""Looks in a row that must find too much: a short peak may be a page cache or a fork about to exec."""


def stated(step: PlannedStep) -> int:
    """Main memory that the Step states for an attempt, in bytes; 0: nothing.

    Calls share a worker with others and with what it keeps loaded, so nothing is said of theirs.
    """
    return 0 if step.command.call else step.demand.memory_bytes


def enforced(step: PlannedStep) -> int:
    """The same where an attempt may be ended for it: a critical Step never is."""
    return 0 if step.level == "critical" else stated(step)


class Overuse:
    """One attempt, looked at again and again."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._looks = 0
        self._told = False

    def judge(self, held: int | None) -> bool:
        """Whether it holds too much now, said once; `held` None: unknown, which is never too much."""
        self._looks = self._looks + 1 if held is not None and held > self._limit else 0
        if self._looks < LOOKS or self._told:
            return False
        self._told = True
        return True
