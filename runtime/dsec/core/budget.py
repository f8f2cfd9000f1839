"""Whether a run that has used up its GPU-hours is ended: by its progress, not by its being alive.

Progress is the share of the work that is done, weighed by the plan's estimates, with what Steps
that run say of themselves (the metric `progress`, 0 to 1). From it follows what the run will take.

    used                                 by its progress               verdict
    below 80 % of max_gpu_hours          anything                      fine
    from 80 % on                         it will take more than that   warn
    from 100 % on                        at most 5 % more in all       nearly
    from 100 % on                        more than 5 % more            stop
    from 105 % on                        whatever it promises          stop
    from 100 % on                        not known                     unknown

A run of which nothing is known is warned of and goes on: it may be at 99 %.
"""

from __future__ import annotations

from dsec.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from dsec.plan import Plan

    Instance = tuple[str, int]

WARN_PERMILLE = 800
MOST_PERMILLE = 1050
WHOLE = 1_000_000
"""All of the work, in the unit of progress."""


class Verdict(Record):
    """What becomes of the run, and what it will take in all."""

    word: str
    """`fine`, `warn`, `nearly`, `unknown` or `stop`."""
    expected_us: int | None
    """GPU time at the end, if it goes on as so far; None: not known."""


def judge(used_us: int, most_us: int, progress: int | None) -> Verdict:
    """`progress` in millionths of all work; None: not known."""
    expected = used_us * WHOLE // progress if progress else None
    if used_us < most_us:
        near = used_us * 1000 >= most_us * WARN_PERMILLE
        return Verdict("warn" if near and expected is not None and expected > most_us else "fine", expected)
    if expected is None:
        return Verdict("unknown", None)
    allowed = most_us * MOST_PERMILLE // 1000
    return Verdict("nearly" if expected <= allowed and used_us < allowed else "stop", expected)


def progress(plan: Plan, done: Iterable[Instance], running: Mapping[Instance, int]) -> int | None:
    """Millionths of all work; `running`: what Steps that run say of themselves, in the same unit.

    None where nothing is finished and nothing was said.
    """
    estimates = {step.id: max(1, step.estimate_ms) for step in plan.steps}
    whole = sum(estimates.values()) * plan.iterations.count
    known = False
    total = 0
    for step, _ in done:
        known = True
        total += estimates.get(step, 0) * WHOLE
    for (step, _), part in running.items():
        known = True
        total += estimates.get(step, 0) * min(WHOLE, max(0, part))
    return min(WHOLE, total // whole) if known and whole else None
