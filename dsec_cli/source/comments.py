"""Comments, found in the gaps between scalars: no parser event carries them."""

from __future__ import annotations

from _operator import attrgetter  # `operator` itself is an import more
from bisect import bisect_right

from dsec_cli.source.text import Span
from dsec_cli.source.tree import Comment, TooMany

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.source.tree import Scalar

_MAY_PRECEDE = frozenset(" \t\r\n,[]{}\"'")
_BLOCK = ("literal", "folded")
_start = attrgetter("start")


def scan(text: str, scalars: list[Scalar], end: int, *, most: int) -> tuple[Comment, ...]:
    """Comments of `text[:end]` that are in none of the `scalars`, which are in order.

    Raises TooMany where there are more than `most`.
    """
    found: list[Comment] = []
    at = text.find("#", 0, end)
    while at >= 0:
        before = bisect_right(scalars, at, key=_start) - 1
        if before >= 0 and at < scalars[before].end and not _in_header(text, scalars[before], at):
            at = text.find("#", scalars[before].end, end)
            continue
        if at and text[at - 1] not in _MAY_PRECEDE:
            at = text.find("#", at + 1, end)
            continue
        last = _line_end(text, at)
        found.append(Comment(Span(at, last), text[at:last]))
        if len(found) > most:
            raise TooMany
        at = text.find("#", last, end)
    return tuple(found)


def _in_header(text: str, scalar: Scalar, at: int) -> bool:
    """Whether the `#` at `at` stands behind the `|` or `>` that begins a block scalar."""
    return scalar.style in _BLOCK and at < _line_end(text, scalar.start)


def covered(text: str, scalar: Scalar) -> tuple[tuple[int, int], ...]:
    """Ranges of a scalar in which a `#` is no comment."""
    if scalar.style not in _BLOCK:
        return ((scalar.start, scalar.end),)
    header = min(_line_end(text, scalar.start), scalar.end)
    comment = text.find("#", scalar.start, header)
    return ((scalar.start, comment if comment >= 0 else header), (header, scalar.end))


def _line_end(text: str, at: int) -> int:
    newline = text.find("\n", at)
    newline = len(text) if newline < 0 else newline
    carriage = text.find("\r", at, newline)
    return newline if carriage < 0 else carriage
