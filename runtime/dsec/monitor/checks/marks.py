"""Do elastic Steps need more GPUs, or fewer? By the memory that their executions take."""

from __future__ import annotations

from dsec.core.elasticity import Bounds, Elasticity
from dsec.core.starting import elastic_pool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec.core.elasticity import Change
    from dsec.monitor.scene import Scene, Tell, Use
    from dsec.plan import Plan


class Check:
    """Follows the elastic Steps whose contract bounds memory."""

    def __init__(self) -> None:
        self._sizes: Elasticity | None = None
        self._names: dict[str, int] = {}
        """Number of each Step that is followed."""
        self._steps: tuple[str, ...] = ()
        self._begun = False
        self._peaks: dict[tuple[str, int], int] = {}
        """The most that a running attempt held on one GPU."""

    def look(self, scene: Scene) -> Iterator[Tell]:
        """Steps that are to have another number of GPUs from their next start on."""
        if not self._begun:
            self._begin(scene.plan())
        sizes = self._sizes
        if sizes is None:
            return
        for use in scene.uses:
            at, held = self._names.get(use.watched.step), _fullest(use)
            if at is None or held is None:
                continue
            key = (use.watched.step, use.watched.iteration)
            self._peaks[key] = max(held, self._peaks.get(key, 0))
            yield from self._told(sizes.held(at, scene.at_us, held, len(use.watched.devices)))
        for key, end in scene.ended.items():
            peak = self._peaks.pop(key, None)
            at = self._names.get(key[0])
            if at is not None and end.get("cause") == "ok":
                yield from self._told(sizes.executed(at, peak))

    def _begin(self, plan: Plan | None) -> None:
        self._begun = True
        if plan is None or not plan.elastic:
            return
        numbers = {step.id: at for at, step in enumerate(plan.steps)}
        self._steps = tuple(numbers)
        bounds: dict[int, Bounds] = {}
        for one in plan.elastic:
            if one.high_bytes is not None and one.low_bytes is not None:
                at = self._names[one.step] = numbers[one.step]
                base = plan.steps[at].demand.gpu_count
                bounds[at] = Bounds(one.least, base, one.most, one.high_bytes, one.low_bytes)
        if bounds:
            self._sizes = Elasticity(bounds, elastic_pool(len(plan.inventory.devices)))

    def _told(self, change: Change | None) -> Iterator[Tell]:
        if change is not None:
            step, size = self._steps[change.at], change.size
            yield {"tell": "resize", "step": step, "firm": size.firm, "most": size.most, "why": change.why}


def _fullest(use: Use) -> int | None:
    """The most that it holds on one GPU; None: not known, or nothing."""
    known = [held for held in use.devices.values() if held is not None]
    return max(known, default=None)
