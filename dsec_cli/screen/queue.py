"""What waits, the hungriest first, and why."""

from __future__ import annotations

from collections import Counter

from dsec.core.hunger import hunger
from dsec.core.obstacle import Obstacles, appetite
from dsec.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dsec.plan import PlannedStep
    from dsec_cli.screen.watch import Watch

_LOOKED_AT = 4000
"""Instances that are looked at, so that a wide plan costs no more than this."""


class Waiting(Record):
    """One instance that has not begun."""

    step: str
    iteration: int
    ready_us: int | None
    """Since when nothing that it needs is missing; None: something is."""
    hunger_permille: int
    """Of its Step, as `dsec.core.hunger` has it; 0: it is not ready."""
    why: str


def waiting(watch: Watch, now_us: int, *, most: int, dead: bool = False) -> tuple[list[Waiting], int]:
    """The first `most` of what waits in the iterations in flight, and how many wait in all.

    `now_us`: from the start of the first executor. `dead`: the executor is gone without an end.
    """
    known = watch.seen_queue
    key = (watch.changes, most, dead)
    if known is None or known[:3] != key:
        # Nothing of it depends on the time: it is looked at anew when the journal has gained something.
        known = watch.seen_queue = (*key, *_looked(watch, now_us, most, dead=dead))
    return known[3], known[4]


def _looked(watch: Watch, now_us: int, most: int, *, dead: bool) -> tuple[list[Waiting], int]:
    obstacles = Obstacles(watch.plan, watch.fold, steps=watch.steps, dead=dead)
    found: list[tuple[PlannedStep, int, int]] = []
    behind: list[tuple[PlannedStep, int]] = []
    for step, iteration in _open(watch, obstacles):
        if all(obstacles.settled(*need) for need in obstacles.needs(step, iteration)):
            since = watch.ready.since(watch.number(step.id), iteration)
            found.append((step, iteration, min(since, now_us)))
        else:
            behind.append((step, iteration))
    scores = _hunger(watch, [step for step, _, _ in found])
    ready = [
        Waiting(step.id, iteration, since, scores[step.id], obstacles.of(step, iteration))
        for step, iteration, since in found
    ]
    ready.sort(key=lambda one: (-one.hunger_permille, one.iteration, watch.number(one.step)))
    rest = [
        Waiting(step.id, iteration, None, 0, obstacles.of(step, iteration))
        for step, iteration in behind[: max(0, most - len(ready))]
    ]
    return (ready + rest)[:most], len(ready) + len(behind)


def _hunger(watch: Watch, ready: Sequence[PlannedStep]) -> dict[str, int]:
    """Of each Step that has ready instances."""
    waits = Counter(step.id for step in ready)
    runs: dict[str, list[int]] = {}
    for (name, _), begun in watch.fold.running.items():
        if name in waits:
            runs.setdefault(name, []).append(len(begun.devices))
    return {
        name: hunger(appetite(watch.steps[name], waiting=many, running=runs.get(name, ())))
        for name, many in waits.items()
    }


def _open(watch: Watch, obstacles: Obstacles) -> Iterator[tuple[PlannedStep, int]]:
    """Instances of the iterations in flight that neither run nor are done."""
    plan, fold = watch.plan, watch.fold
    if fold.end is not None:
        return
    last = min(plan.iterations.count, watch.complete + max(1, plan.iterations.in_flight))
    looked = 0
    for iteration in range(watch.complete, last):
        for step in plan.steps:
            key = (step.id, iteration)
            looked += 1
            if looked > _LOOKED_AT:
                return
            if key not in fold.running and not watch.settled(*key) and not obstacles.lost(key):
                yield step, iteration
