"""What Steps without a finding state, by what is written: for a text that is read again at every key."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from dsec_cli.contract.values import Step
    from dsec_cli.diagnostics import Finding
    from dsec_cli.source.tree import Node, Path

    Key = tuple[str, int, str]
    Values = dict[str, object]

_ELSEWHERE = "&*!"
"""With these, what is written here may mean what is written elsewhere."""


class Memory:
    """What was read of the text before; what it knows no more of is forgotten with the next text.

    A Step is the same when all is the same from its first letter to the next Step's, in the same
    column. One with a finding is read again each time: findings say where they stand, and that moves.
    """

    def __init__(self) -> None:
        self._text = ""
        self._values: dict[Key, Values] = {}
        self._steps: dict[tuple[int, Path], tuple[Values, Step | None]] = {}
        self._before = self._values, self._steps

    def turn_to(self, text: str) -> None:
        """The text that is read next."""
        self._text = text
        self._before = self._values, self._steps
        self._values, self._steps = {}, {}

    def values(
        self,
        items: Sequence[Node],
        kind: str,
        read: Callable[[Node, int], object],
        findings: list[Finding],
    ) -> list[object]:
        """What each item states; `read` is asked for those that are new."""
        found: list[object] = []
        for index, item in enumerate(items):
            end = items[index + 1].span[0] if index + 1 < len(items) else len(self._text)
            key = self._key(kind, item.span[0], end)
            values: object = self._before[0].get(key)
            if values is None:
                count = len(findings)
                values = read(item, index)
                if len(findings) > count or not isinstance(values, dict):
                    key = None
            if key is not None:
                self._values[key] = values  # type: ignore[assignment] # it is a section's
            found.append(values)
        return found

    def _key(self, kind: str, start: int, end: int) -> Any:
        text = self._text
        written = text[start:end]
        if any(map(written.__contains__, _ELSEWHERE)):
            return None
        return kind, start - text.rfind("\n", 0, start), written

    def step(
        self, stated: Values, at: Path, make: Callable[[Values, Path], Step | None], findings: list[Finding]
    ) -> Step | None:
        """The Step that `stated` makes at a path; `make` is asked for those that are new."""
        known = self._before[1].get((id(stated), at))
        if known is None or known[0] is not stated:
            count = len(findings)
            known = stated, make(stated, at)
            if len(findings) > count:
                return known[1]
        self._steps[id(stated), at] = known
        return known[1]
