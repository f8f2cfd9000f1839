"""Whether Steps hold each other up without using what they wait for; looked at where the run has a probe."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from dsec.monitor.scene import Scene, Tell

_EVERY = 10
"""Scenes between two looks."""
_TELL_MS = 500
"""From so much on it is told, and again whenever it has doubled."""


class Check:
    """What was told of each pair of Steps."""

    def __init__(self) -> None:
        self._scenes = 0
        self._told: dict[tuple[str, ...], int] = {}

    def look(self, scene: Scene) -> Iterable[Tell]:
        """A notice for each pair of Steps whose account has doubled."""
        self._scenes += 1
        if self._scenes % _EVERY or not os.path.isdir(f"{scene.run_dir}/probe"):
            return ()
        return self._judged(scene.run_dir)

    def _judged(self, run_dir: str) -> Iterable[Tell]:
        from dsec.core.contention import sentence
        from dsec.probes import contention, device_name

        for one in contention(run_dir):
            key = one[:4]
            if one.ms < max(_TELL_MS, 2 * self._told.get(key, 0)):
                continue
            self._told[key] = one.ms
            detail = str(sentence(one._asdict() | {"device": device_name(one.device)}))
            yield {"tell": "notice", "kind": "blocked", "detail": detail}
