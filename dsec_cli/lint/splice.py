"""Edits put into the bytes of a file, and where everything around them is afterwards."""

from __future__ import annotations

from bisect import bisect_left
from itertools import pairwise

from dsec_cli.lint.edits import MARK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from dsec_cli.diagnostics import Edit
    from dsec_cli.source.text import SourceText, Span


def in_order(edits: Iterable[Edit]) -> list[Edit]:
    """The edits from left to right; insertions at one place keep their order, and equal ones are one."""
    ordered = sorted(edits, key=lambda edit: edit.span)
    return [edit for at, edit in enumerate(ordered) if not at or edit != ordered[at - 1]]


def disjoint(ordered: list[Edit]) -> bool:
    """Whether no two of the edits, from left to right, change the same place."""
    return all(left.span.end <= right.span.start for left, right in pairwise(ordered))


def spliced(source: SourceText, ordered: list[Edit]) -> bytes:
    """The file's bytes with the edits made; what is outside their spans is copied as it is."""
    pieces: list[bytes] = []
    copied, at, byte = 0, 0, source.byte_offset(0)
    for (start, end), new in ordered:
        if start == MARK.start:
            copied = byte
            continue
        byte += len(_encoded(source, source.text[at:start]))
        pieces += [source.data[copied:byte], _encoded(source, new)]
        byte += len(_encoded(source, source.text[start:end]))
        copied, at = byte, end
    return b"".join((*pieces, source.data[copied:]))


def text_with(text: str, ordered: list[Edit]) -> str:
    """What the edits make of the text, in code points."""
    pieces: list[str] = []
    at = 0
    for (start, end), new in ordered:
        pieces += [text[at : max(start, 0)], new]
        at = end
    return "".join((*pieces, text[at:]))


def _encoded(source: SourceText, text: str) -> bytes:
    return text.encode(source.encoding)


class Ranges:
    """Disjoint ranges from left to right, asked which spans they touch."""

    def __init__(self, ranges: list[tuple[int, int]]) -> None:
        self._ranges = ranges
        self._ends = [end for _, end in ranges]

    def touch(self, span: Span) -> bool:
        """Whether `span` shares a character with a range; an empty one, whether it stands in or at it."""
        start, end = span
        for at in range(bisect_left(self._ends, start), len(self._ranges)):
            low, high = self._ranges[at]
            if low > end:
                break
            if start == end or (start < high and low < end):
                return True
        return False


class Shift:
    """Where the edits are, in the old text and in the new one, and how far the rest has moved."""

    def __init__(self, ordered: list[Edit]) -> None:
        self._ends: list[int] = []
        self._moved = [0]
        before: list[tuple[int, int]] = []
        after: list[tuple[int, int]] = []
        for (start, end), new in ordered:
            moved = self._moved[-1]
            before.append((start, end))
            after.append((start + moved, start + moved + len(new)))
            self._ends.append(end)
            self._moved.append(moved + len(new) - (end - start if start >= 0 else 0))
        self.before, self.after = Ranges(before), Ranges(after)

    def __call__(self, offset: int, *, end: bool = False) -> int:
        """The new place of an offset; an `end` stays in front of what is inserted right there."""
        at = bisect_left(self._ends, offset if end else offset + 1)
        return offset + self._moved[at]
