"""Between an editor's positions (line and column from 0) and offsets in code points."""

from __future__ import annotations

from dsec.record import Record
from dsec_cli.source.text import SourceText, Span

UTF8, UTF16, UTF32 = "utf-8", "utf-16", "utf-32"
"""Units in which an editor may count columns; the protocol's default is UTF-16."""


class Point(Record):
    """A place as editors count: line and column from 0."""

    line: int
    character: int


def offset_of(text: SourceText, line: int, character: int, *, unit: str = UTF16) -> int:
    """The code point at a position; what lies behind the end of a line or text is its end."""
    if line < 0:
        return 0
    if line >= text.line_count:
        return len(text.text)
    start, content = text.line_start(line + 1), text.line_text(line + 1)
    if content.isascii() or unit == UTF32:
        return start + min(max(character, 0), len(content))
    units = 0
    for at, char in enumerate(content):
        if units >= character:
            return start + at
        units += _width(char, unit)
    return start + len(content)


def point_of(text: SourceText, offset: int, *, unit: str = UTF16) -> Point:
    """The position of a code point."""
    line, column = text.position(offset)
    before = text.line_text(line)[: column - 1]
    # A place between CR and LF, or behind the line, is the line's end for every editor.
    width = len(before) if before.isascii() or unit == UTF32 else sum(_width(char, unit) for char in before)
    return Point(line - 1, width)


def range_of(text: SourceText, span: Span, *, unit: str = UTF16) -> tuple[Point, Point]:
    """Both ends of a span."""
    return point_of(text, span.start, unit=unit), point_of(text, span.end, unit=unit)


def _width(char: str, unit: str) -> int:
    if unit == UTF16:
        return 2 if ord(char) > 0xFFFF else 1
    return len(char.encode("utf-8", "surrogatepass"))
