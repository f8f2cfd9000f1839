"""Whether an attempt holds more main memory than its Step states, its whole tree counted."""

from __future__ import annotations

from dsec.core.overuse import Overuse, stated
from dsec.footprint import footprint

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from dsec.monitor.scene import Scene, Tell, Use


class Check:
    """Remembers how often in a row each attempt held too much."""

    def __init__(self) -> None:
        self._limits: dict[str, int] | None = None
        self._judged: dict[tuple[str, int, int], Overuse] = {}

    def look(self, scene: Scene) -> Iterable[Tell]:
        """Tells of attempts that hold too much."""
        limits = self._stated(scene)
        if not limits:
            return []
        running = [use for use in scene.uses if use.watched.step in limits]
        names = {_name(use) for use in running}
        self._judged = {name: one for name, one in self._judged.items() if name in names}
        return [told for use in running if (told := self._judge(use, limits[use.watched.step]))]

    def _stated(self, scene: Scene) -> dict[str, int]:
        if self._limits is None:
            plan = scene.plan()
            steps = () if plan is None else plan.steps
            self._limits = {step.id: limit for step in steps if (limit := stated(step))}
        return self._limits

    def _judge(self, use: Use, limit: int) -> Tell | None:
        held: int | None = use.usage.rss_bytes
        if held is not None and held > limit:
            held = footprint(use.usage.pids)
        judged = self._judged.setdefault(_name(use), Overuse(limit))
        if not judged.judge(held):
            return None
        step, iteration, attempt = _name(use)
        return {
            "tell": "over-memory",
            "step": step,
            "iteration": iteration,
            "attempt": attempt,
            "held": held,
            "limit": limit,
        }


def _name(use: Use) -> tuple[str, int, int]:
    return use.watched.step, use.watched.iteration, use.watched.attempt
