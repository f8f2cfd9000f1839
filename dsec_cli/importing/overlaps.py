"""Which Steps write what a path names: the same path, a folder above it or a file below it."""

from __future__ import annotations

from dsec.core.paths import normal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


class Writers:
    """Writers by path; the same for a file and for the folders that hold it."""

    def __init__(self) -> None:
        self._exact: dict[str, list[str]] = {}
        self._below: dict[str, list[str]] = {}

    def add(self, path: str, id_: str) -> None:
        """The Step `id_` writes `path`."""
        name = normal(path)
        self._exact.setdefault(name, []).append(id_)
        for folder in _above(name):
            self._below.setdefault(folder, []).append(id_)

    def apart(self, path: str) -> tuple[str, ...]:
        """Who writes something in `path`, or a folder that it lies in, but not the very path."""
        name = normal(path)
        found = list(self._below.get(name, ()))
        for folder in _above(name):
            found += self._exact.get(folder, ())
        return tuple(dict.fromkeys(found))

    def several(self) -> Iterable[str]:
        """Paths that more than one Step writes."""
        return [path for path, ids in self._exact.items() if len(set(ids)) > 1]


def _above(name: str) -> Iterable[str]:
    at = name.rfind("/")
    while at > 0:
        yield name[:at]
        at = name.rfind("/", 0, at)
