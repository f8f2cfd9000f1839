"""Whether what Steps report of their training is a number, and their policy still learns."""

from __future__ import annotations

import os
import re

from dsec.core.learning import Learning
from dsec.metricsfile import read_told

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dsec.metricsfile import Told
    from dsec.monitor.scene import Scene, Tell

_EVERY = 2
"""Scenes between two looks into the folder."""
_MOST_FILES = 20_000
"""Of more only those are looked at that the folder lists first."""
_NAME = re.compile(r"(.+)@(\d+)\.(\d+)\.jsonl")


class Check:
    """How far each file was read, and what each Step reported."""

    def __init__(self) -> None:
        self._scenes = 0
        self._changed_ns = -1
        self._read: dict[str, int] = {}
        self._before: set[str] = set()
        """Attempts that ran at the look before: what they told last is still to be read."""
        self._steps: dict[str, Learning] = {}

    def look(self, scene: Scene) -> Iterable[Tell]:
        """A notice for each Step that began to go wrong."""
        self._scenes += 1
        if self._scenes % _EVERY:
            return []
        running = {
            f"{use.watched.step}@{use.watched.iteration}.{use.watched.attempt}.jsonl" for use in scene.uses
        }
        told = list(self._new(f"{scene.run_dir}/metrics", running | self._before))
        self._before = running
        told.sort(key=lambda one: one[2].mono_us or 0)
        return [tell for step, iteration, one in told for tell in self._judged(step, iteration, one)]

    def _new(self, folder: str, open_: set[str]) -> Iterator[tuple[str, int, Told]]:
        """Reports that were not read yet, of files that are new or whose attempt may have told more."""
        try:
            changed_ns = os.stat(folder).st_mtime_ns
            anew = changed_ns != self._changed_ns
            names = sorted(os.listdir(folder)[:_MOST_FILES] if anew else open_)
        except OSError:
            return
        self._changed_ns = changed_ns
        for name in names:
            match = _NAME.fullmatch(name)
            if match is None or (name in self._read and name not in open_):
                continue
            for one in self._more(folder, name):
                yield match[1], int(match[2]), one

    def _more(self, folder: str, name: str) -> Iterator[Told]:
        at = self._read.get(name, 0)
        while True:
            found, end = read_told(f"{folder}/{name}", at)
            yield from found
            if end == at:
                break
            at = end
        self._read[name] = at

    def _judged(self, step: str, iteration: int, told: Told) -> Iterator[Tell]:
        if not told.metrics:
            return
        for verdict in self._steps.setdefault(step, Learning()).take(told.metrics):
            yield {
                "tell": "notice",
                "kind": verdict.kind,
                "detail": verdict.detail,
                "step": step,
                "iteration": iteration,
            }
