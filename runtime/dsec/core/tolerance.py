"""What a failure means: how long to wait before trying again, and which Steps the run can do without."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from dsec.plan import PlannedStep, Retries

LONGEST_DELAY_MS = 3_600_000


def backoff_ms(retries: Retries, failures: int) -> int:
    """Back-off before the next attempt: `backoff_ms`, times `factor` for each further failure."""
    delay = retries.backoff_ms
    for _ in range(failures - 1):
        delay = min(delay * retries.factor, LONGEST_DELAY_MS)
    return min(delay, LONGEST_DELAY_MS)


def droppable(steps: Sequence[PlannedStep], dependents: Callable[[int], Iterable[int]]) -> list[bool]:
    """Steps that are discardable and that only such Steps need, now and in later iterations."""
    allowed = [step.level == "discardable" for step in steps]
    changed = True
    while changed:
        changed = False
        for at in range(len(steps) - 1, -1, -1):
            if allowed[at] and not all(allowed[other] for other in dependents(at)):
                allowed[at] = False
                changed = True
    return allowed
