"""Source lines with marks under the places that a diagnostic speaks about."""

from __future__ import annotations

from bisect import bisect_left, bisect_right

from dsec.record import Record
from dsec_cli.cells import cells, shown, window, wrap
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from dsec_cli.diagnostics import Place
    from dsec_cli.report.format import Tell
    from dsec_cli.report.terminal import Paint
    from dsec_cli.source.text import SourceText, Span

MOST = 12
"""Places shown of one diagnostic; a cycle can have hundreds."""
FAR = 4000
"""Characters looked at on each side of a place: more than any line of a terminal holds."""


class Mark(Record):
    """A place to mark, with what to write beside the mark."""

    place: Place
    label: str
    ansi: str
    sign: str
    """`^` for what is wrong, `-` for what belongs to it."""


def excerpt(
    marks: list[Mark],
    texts: Mapping[str, SourceText],
    *,
    hidden: Mapping[str, list[Span]],
    width: int,
    paint: Paint,
    tell: Tell,
) -> list[str]:
    """Lines of source, by file and line, each followed by its marks; `hidden` spans are starred out."""
    kept = [mark for mark in marks if mark.place.file in texts][:MOST]
    if not kept:
        return []
    digits = len(str(max(mark.place.start.line for mark in kept)))
    frame = _Frame(
        " " * (digits + 1) + paint("|", GUTTER) + " ", digits, max(width - digits - 3, 20), paint, hidden
    )
    files = dict.fromkeys(mark.place.file for mark in kept)
    lines: list[str] = []
    for at, file in enumerate(files):
        inside = sorted((mark for mark in kept if mark.place.file == file), key=_by_place)
        if at:
            lines.append(f"{paint('::: ' + shown(file), GUTTER)}:{inside[0].place.start.line}")
        lines += _file_lines(inside, texts[file], frame)
    if len(marks) > MOST:
        more = tell(say("... and {count} more places", count=len(marks) - MOST))
        lines.append(paint(f"{' ' * digits} {more}", GUTTER))
    return lines


GUTTER = "2"


class _Frame(Record):
    blank: str
    digits: int
    width: int
    paint: Paint
    hidden: Mapping[str, list[Span]]


def _by_place(mark: Mark) -> tuple[int, int]:
    return (mark.place.start.line, mark.place.span.start)


def _file_lines(marks: Iterable[Mark], text: SourceText, frame: _Frame) -> list[str]:
    lines: list[str] = []
    last = 0
    for mark in marks:
        number = mark.place.start.line
        again = number == last
        if last and number > last + 1:
            lines.append(frame.paint(" " * frame.digits + " ...", GUTTER))
        lines += _marked(mark, text, frame, again=again)
        last = number
    return lines


def _marked(mark: Mark, text: SourceText, frame: _Frame, *, again: bool) -> list[str]:
    """The line of a mark (unless it was just shown) with the mark below it."""
    line = text.line_span(mark.place.start.line)
    start, end = _within(mark.place, line)
    # A line may be megabytes long and have a mark in each word; what is far away is never looked at.
    stop = min(end, start + FAR)
    first = max(start - FAR, line.start)
    near = _starred(
        text.text[first : min(stop + FAR, line.end)], first, frame.hidden.get(mark.place.file, [])
    )
    before, inside = shown(near[: start - first]), shown(near[start - first : stop - first])
    whole = before + inside + shown(near[stop - first :])
    cut, left, right = window(whole, len(before), len(before) + len(inside), width=frame.width)
    sign = mark.sign * max(right - left, 1)
    rows = (
        []
        if again
        else [frame.paint(f"{mark.place.start.line:>{frame.digits}} |", GUTTER) + f" {cut}".rstrip()]
    )
    return rows + _under(left, sign, mark, frame)


def _under(left: int, sign: str, mark: Mark, frame: _Frame) -> list[str]:
    """The mark with its label beside it, or below it where the line is too short for both."""
    pad = " " * left
    row = frame.blank + pad + frame.paint(sign, mark.ansi)
    if not mark.label:
        return [row]
    label = shown(mark.label)
    if left + len(sign) + 1 + cells(label) <= frame.width:
        return [f"{row} {frame.paint(label, mark.ansi)}"]
    indent = min(left, max(frame.width - min(cells(label), 40), 0))
    folded = wrap(label, frame.width - indent)
    return [row, *(frame.blank + " " * indent + frame.paint(part, mark.ansi) for part in folded)]


def _within(place: Place, line: Span) -> tuple[int, int]:
    """The marked range within the line that `place` begins on."""
    start = line.start + place.start.column - 1
    end = line.start + place.end.column - 1 if place.end.line == place.start.line else line.end
    return start, max(min(end, line.end), start)


def _starred(line: str, offset: int, hidden: list[Span]) -> str:
    """`line`, which begins at `offset`, with a star for each character in one of the sorted spans."""
    first = bisect_right(hidden, offset, key=lambda span: span.end)
    for at in range(first, bisect_left(hidden, offset + len(line), key=lambda span: span.start)):
        span = hidden[at]
        start, end = max(span.start - offset, 0), min(span.end - offset, len(line))
        if start < end:
            line = line[:start] + "*" * (end - start) + line[end:]
    return line
