"""Which Steps write the file that an input names."""

from __future__ import annotations

from bisect import bisect_left

from dsec.core.paths import EVERYTHING, covers, normal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Protocol

    from dsec_cli.contract.values import Step

    class Writer(Protocol):
        """What writes: a Step of a contract or of a plan."""

        @property
        def id(self) -> str:
            """Its name."""

        @property
        def outputs(self) -> Sequence[tuple[object, str]]:
            """Places and texts of its declared paths."""


ITERATION, PREVIOUS = "{iteration}", "{previous}"


def previous(text: str) -> bool:
    """Whether the path is one of the iteration before."""
    return PREVIOUS in text


class Outputs:
    """Writers by path: of that path, of a folder around it, or of something in it."""

    __slots__ = ("_names", "_places")

    def __init__(self, steps: Iterable[Writer]) -> None:
        self._places: dict[str, dict[str, int]] = {}
        """Per output, who writes it, and where that Step stands in the document."""
        self._names: list[str] | None = None
        for at, step in enumerate(steps):
            for _, text in step.outputs:
                self._places.setdefault(normal(text), {})[step.id] = at

    def writers(self, text: str) -> list[str]:
        """Steps that write what `text` names in the same iteration, in document order.

        An input in a folder that is an output is read from it, and so is one in a file's place; an input
        that is a folder is what others write in it.
        """
        name = normal(text)
        found = dict(self._around(name))
        for inner in self._inside(name):
            found |= self._places[inner]
        return sorted(found, key=found.__getitem__) if len(found) > 1 else list(found)

    def whole_writers(self, text: str) -> frozenset[str]:
        """Those of the writers without whom nothing of the path is there: of it, or of a folder around it."""
        return frozenset(self._around(normal(text)))

    def _around(self, name: str) -> dict[str, int]:
        found = self._places.get(name, {})
        for end in range(1, name.count("/") + 1):
            folder = name.rsplit("/", end)[0]
            if folder not in EVERYTHING and folder in self._places:
                found = found | self._places[folder]
        return found

    def _inside(self, name: str) -> Iterator[str]:
        """Outputs in the folder of that name."""
        if name in EVERYTHING:
            return
        if self._names is None:
            self._names = sorted(self._places)
        first = f"{name}/"
        for at in range(bisect_left(self._names, first), len(self._names)):
            if not self._names[at].startswith(first):
                return
            yield self._names[at]

    def earlier_writers(self, text: str) -> list[str]:
        """Steps whose `{iteration}` output of the iteration before is the `{previous}` input `text`."""
        return self.writers(text.replace(PREVIOUS, ITERATION))


def of_own_iteration(step: Step, text: str) -> bool:
    """Whether the input `text` is a file of the iteration that reads it, and the Step writes one for each."""
    name = normal(text)
    return ITERATION in text and any(
        ITERATION in output and covers(output, name) for _, output in step.outputs
    )


def of_iteration_before(text: str) -> str:
    """The same file of the iteration before."""
    return text.replace(ITERATION, PREVIOUS)
