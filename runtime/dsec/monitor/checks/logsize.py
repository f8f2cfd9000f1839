"""Whether a log takes more of the disk than it may; its middle is then given back, its ends are kept."""

from __future__ import annotations

import os

from dsec.easing import size
from dsec.holes import on_disk, punch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dsec.monitor.scene import Scene, Tell, Use

MOST_BYTES = 1 << 30
"""Of one log; DSEC_LOG_MAX, in the Step's own environment or the run's, says another size."""
_LEAST_BYTES = 1 << 20


class Check:
    """What was told of each log."""

    def __init__(self) -> None:
        self._told: dict[str, int] = {}
        """Bytes taken out when it was told of last; -1: that it cannot be done."""
        self._limits: dict[str, int] = {}
        self._odd: dict[str, str] = {}

    def look(self, scene: Scene) -> Iterator[Tell]:
        """Notices of logs that were cut."""
        for use in scene.uses:
            log = use.watched.log
            if use.log_bytes is None or use.log_bytes <= _LEAST_BYTES or self._told.get(log) == -1:
                continue
            most = self._limit(scene, use.watched.step)
            if use.log_bytes > most:
                yield from self._cut(use, f"{scene.run_dir}/{log}", most)
        for step, text in self._odd.items():
            yield _notice(
                step, -1, f"DSEC_LOG_MAX {text!r} is no size such as 256MiB: {size(MOST_BYTES)} it is"
            )
        self._odd.clear()

    def _limit(self, scene: Scene, step: str) -> int:
        if step not in self._limits:
            plan = scene.plan()
            own = next((dict(one.env) for one in plan.steps if one.id == step), {}) if plan else {}
            self._limits[step] = self._stated((own, os.environ), step)
        return self._limits[step]

    def _stated(self, environments: tuple[Mapping[str, str], ...], step: str) -> int:
        from dsec.units import Bytes, UnitProblem, parse

        for env in environments:
            if text := env.get("DSEC_LOG_MAX", ""):
                try:
                    return max(_LEAST_BYTES, int(parse(Bytes, text)))
                except UnitProblem:
                    self._odd[step] = text
                    break
        return MOST_BYTES

    def _cut(self, use: Use, path: str, most: int) -> Iterator[Tell]:
        """Keep the first eighth of what is allowed, and the newest half."""
        log, step, iteration = use.watched.log, use.watched.step, use.watched.iteration
        head = most // 8
        try:
            if on_disk(path) <= most:
                return
            end = os.stat(path).st_size - most // 2
            punch(path, head, end)
            out = end - head
        except OSError as problem:
            self._told[log] = -1
            detail = f"{log} is over {size(most)} and cannot be cut: {problem.strerror}"
            yield _notice(step, iteration, detail)
            return
        before = self._told.get(log, 0)
        if out >= 2 * before:
            self._told[log] = out
            yield _notice(
                step,
                iteration,
                f"{log} is over {size(most)}: {size(out)} of its middle were given back so far, the first "
                f"{size(head)} and the newest {size(most // 2)} are kept",
            )


def _notice(step: str, iteration: int, detail: str) -> Tell:
    told: Tell = {"tell": "notice", "kind": "log", "detail": detail}
    return told | {"step": step, "iteration": iteration if step else -1}
