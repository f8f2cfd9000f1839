"""What to leave out of a text in which tabs indent lines.

A tab counts as one space, which is right where tabs alone indent a block. Among lines that spaces
indent, such a line belongs nowhere, and what is below it would be told as wrong, too; there the line
goes with all that is below it. Imported only for texts that have an error.
"""

from __future__ import annotations

import re

from dsec.record import Record
from dsec_cli.source.causes import Fault, indent, line_span
from dsec_cli.source.text import Span

_TABBED = re.compile(r"(?m)^ *\t[ \t]*(?=[^\s#])")
_OPENS = re.compile(r"[^\n#]*:(?=(?:[ ]+[|>][-+0-9]*)?[ ]*(?:[ ]#[^\n]*)?$)")
_MARK = re.compile(r"(?:-[ ]+)*")
_SPACED = re.compile(r"(?m)^ *(?=[^\s#])")
_CONTENT = re.compile(r"(?m)^[ \t]*(?=[^\s#])")
_NEAR = 1_000
"""Lines that are looked at backwards."""
_MOST = 20
"""Of so many places the lines around are looked at: each may be looked through to the end of the text."""


class Left(Record):
    """What to leave out; `value` tells that it is the whole value of a key, which stands before it."""

    span: Span
    value: bool


class _Line(Record):
    """A line with content; `width` is the indentation of its first key, `outer` that of its `-`."""

    start: int
    end: int
    outer: int
    width: int
    opener: int | None
    """Behind the colon, where the value is in the lines below."""

    @property
    def item(self) -> bool:
        """True where a `-` begins the line."""
        return self.width > self.outer


def ends_block_text(fault: Fault, text: str) -> bool:
    """True where the parser missed the indentation of a block text because a tab stands for it.

    A tab behind spaces enough belongs to the text, which only this parser cannot read.
    """
    if "tab character" not in fault.problem or fault.context_at is None:
        return False
    start, end = line_span(text, fault.at)
    spaces = len(text[start:end]) - len(text[start:end].lstrip(" "))
    first, last = line_span(text, fault.context_at)
    return spaces <= indent(text[first:last])


def misplaced(text: str) -> list[Left]:
    """The lines that are indented by tabs among others, with what is below them."""
    found: list[Left] = []
    at = 0
    for _ in range(_MOST):
        match = _TABBED.search(text, at)
        if match is None:
            break
        spaced = _SPACED.search(text, match.end())
        if spaced is None:
            break
        following = _line(text, spaced.start())
        last = _above(text, following.start)
        if last is None:
            break
        left = _around(text, _line(text, match.start()), last, following)
        if left is not None:
            found.append(left)
        at = last.end if left is None else max(last.end, left.span.end)
    return found


def _around(text: str, first: _Line, last: _Line, following: _Line) -> Left | None:
    """What to leave out of the lines from `first` to `last`, all of them tabbed, and below them."""
    above = _above(text, first.start)
    if above is None:
        return None
    if above.opener is not None:
        return _under_key(text, above, first, last, following)
    item = _item_above(text, first.start)
    if following.item:
        belongs = last.opener is not None and (item is None or following.outer > item.outer)
    elif item is not None and (first.item or last.item):
        belongs = following.outer > item.outer
    else:
        belongs = last.opener is not None and following.outer > 0
    end = _end_of(text, following, following.outer)
    return Left(Span(first.start, end), value=False) if belongs else None


def _under_key(text: str, above: _Line, first: _Line, last: _Line, following: _Line) -> Left | None:
    """As `_around`, for a line that begins the value of the key before it."""
    end = last.end
    if text[above.opener or 0 : above.end].lstrip()[:1] in ("|", ">"):
        end = max(end, _end_of(text, following, above.width + 1))
        return Left(Span(above.opener or 0, end), value=True)
    if not _inside(above, following):
        return None
    goes_on: _Line | None = following
    if last.opener is not None or (last.item and not following.item):
        end = _end_of(text, following, following.outer)
        goes_on = _below(text, end)
    if goes_on is not None and _inside(above, goes_on):
        return Left(Span(first.start, end), value=False)
    return Left(Span(above.opener or 0, end), value=True)


def _inside(key: _Line, line: _Line) -> bool:
    """Whether `line` is part of the value of `key`."""
    return line.outer > key.width or (line.item and line.outer == key.width)


def _end_of(text: str, line: _Line, width: int) -> int:
    """End of the lines that are indented by `width` at least, from `line` on; -1 where it is not."""
    if line.outer < width:
        return -1
    outside = re.compile(rf"(?m)^[ \t]{{0,{width - 1}}}(?=[^\s#])") if width else None
    found = None if outside is None else outside.search(text, line.end)
    return len(text.rstrip()) if found is None else found.start() - 1


def _line(text: str, at: int) -> _Line:
    start, end = line_span(text, at)
    outer = indent(text[start:end])
    mark = _MARK.match(text, start + outer, end)
    width = outer + (len(mark[0]) if mark else 0)
    opens = _OPENS.match(text, start, end)
    return _Line(start, end, outer, width, None if opens is None else opens.end())


def _below(text: str, at: int) -> _Line | None:
    """The next line with content behind the one that ends at `at`."""
    found = _CONTENT.search(text, at)
    return None if found is None else _line(text, found.start())


def _above(text: str, start: int) -> _Line | None:
    """The last line with content before the one that starts at `start`, if it is near."""
    for _ in range(_NEAR):
        if start <= 0:
            break
        before = text.rfind("\n", 0, start - 1) + 1
        if _CONTENT.match(text, before, start):
            return _line(text, before)
        start = before
    return None


def _item_above(text: str, start: int) -> _Line | None:
    """The nearest line above that begins with a `-`."""
    line = _above(text, start)
    for _ in range(_NEAR):
        if line is None or line.item:
            return line
        line = _above(text, line.start)
    return None
