"""Looks now and then who has waited hungrily for long, and lets that Step go first."""

from __future__ import annotations

from dsec.core.hunger import HUNGRY, LONG_US, Appetite, Hunger, hunger
from dsec.events import Notice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec.floor import Floor
    from dsec.runner import Runner

LOOK_S = 10.0
_MOST = 10_000
"""Ready instances beyond which nobody is looked at: there is always more to do than room."""


class Appetites:
    """The hunger of one run's Steps."""

    def __init__(self, runner: Runner) -> None:
        self._runner = runner
        self._hunger = Hunger()

    def look(self, now_us: int) -> None:
        """Steps above the mark for long enough go first from now on, and others make room for them."""
        floor = self._runner.floor
        waiting = floor.scheduler.waiting()
        first: dict[int, int] = {}
        for at, iteration in waiting:
            first.setdefault(at, iteration)
        scores = _scores(floor, waiting) if len(waiting) <= _MOST else {}
        for at in self._hunger.look(now_us, scores):
            key = (at, first[at])
            yielding = self._runner.yields()
            if key in yielding.hungry:
                continue
            yielding.hungry.add(key)
            floor.scheduler.promote(*key)
            floor.starter.forget()
            detail = (
                f"hunger {scores[at] / 1000:.3f}, above {HUNGRY / 1000:g} for {LONG_US // 60_000_000} minutes"
            )
            floor.recorder.emit(
                Notice(now_us, "hungry", floor.steps[at].id, first[at], "", f"{detail}: it goes first")
            )


def _scores(floor: Floor, waiting: list[tuple[int, int]]) -> dict[int, int]:
    counts: dict[int, int] = {}
    for at, _ in waiting:
        counts[at] = counts.get(at, 0) + 1
    running: dict[int, list[int]] = {}
    for one in floor.running:
        if one.at in counts:
            running.setdefault(one.at, []).append(len(one.lease.devices))
    scores = {}
    for at, many in counts.items():
        demand, beside = floor.steps[at].demand, running.get(at, [])
        each = demand.gpu_count or max(1, demand.cpu_m)
        granted = sum(min(one, each) for one in beside) if demand.gpu_count else each * len(beside)
        needs = len(floor.steps[at].needs)  # all done: it is ready
        scores[at] = hunger(Appetite(many, len(beside), needs, needs, each * (many + len(beside)), granted))
    return scores
