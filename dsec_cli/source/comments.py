"""Comments, found in the gaps between scalars: no parser event carries them."""

from __future__ import annotations

from dsec_cli.source.text import Span
from dsec_cli.source.tree import Comment

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_MAY_PRECEDE = frozenset(" \t\r\n,[]{}\"'")


def scan(text: str, covered: Iterable[tuple[int, int]], end: int) -> tuple[Comment, ...]:
    """Comments of `text[:end]` that lie in none of the `covered` ranges, which are in order."""
    ranges = iter(covered)
    start, stop = next(ranges, (end, end))
    found: list[Comment] = []
    at = text.find("#", 0, end)
    while at >= 0:
        while stop <= at and start < end:
            start, stop = next(ranges, (end, end))
        if start <= at < stop:
            at = text.find("#", stop, end)
            continue
        if at and text[at - 1] not in _MAY_PRECEDE:
            at = text.find("#", at + 1, end)
            continue
        last = _line_end(text, at)
        found.append(Comment(Span(at, last), text[at:last]))
        at = text.find("#", last, end)
    return tuple(found)


def _line_end(text: str, at: int) -> int:
    newline = text.find("\n", at)
    newline = len(text) if newline < 0 else newline
    carriage = text.find("\r", at, newline)
    return newline if carriage < 0 else carriage
