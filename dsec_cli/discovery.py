"""Finds parts because they are there: one value of a wanted type per module of a package.

Plain `os.listdir`: `pkgutil` and entry points would cost more than the lint of a small file.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import TypeVar

    T = TypeVar("T")


def module_names(package: str) -> tuple[str, ...]:
    """Dotted names of the modules of `package`, in alphabetical order."""
    folder = next(iter(_imported(package).__path__))
    stems = sorted(name[:-3] for name in os.listdir(folder) if name.endswith(".py") and name[0] != "_")
    return tuple(f"{package}.{stem}" for stem in stems)


def instances(package: str, wanted: type[T]) -> tuple[T, ...]:
    """Every value of type `wanted` that a module of `package` defines, by module name."""
    return tuple(
        value
        for name in module_names(package)
        for value in vars(_imported(name)).values()
        if type(value) is wanted
    )


def _imported(name: str) -> ModuleType:
    return __import__(name, fromlist=["*"])
