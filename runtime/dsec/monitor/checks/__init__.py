"""Questions asked of every scene; each module here has a class `Check` and is found by being there."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Protocol

    from dsec.monitor.scene import Scene, Tell
else:
    Protocol = object


class Check(Protocol):
    """One question; it may remember what it saw."""

    def look(self, scene: Scene) -> Iterable[Tell]:
        """What the executor is to be told."""


def found() -> list[Check]:
    """One of each, by name."""
    import importlib

    names = sorted(
        name[:-3]
        for name in os.listdir(os.path.dirname(__file__))
        if name.endswith(".py") and not name.startswith("_")
    )
    return [importlib.import_module(f"{__name__}.{name}").Check() for name in names]
