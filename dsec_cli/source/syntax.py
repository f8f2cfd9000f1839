"""Syntax errors: which part of the text to blame, and which to leave out.

The parser stops at its first error. To find the others, and to keep the findings of the healthy
rest, the damaged part is blanked (offsets stay) and the text is read again. Imported only for texts
that have an error.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from dsec.record import Record
from dsec_cli.source.causes import (
    ITEM,
    OPEN_LIST,
    OPEN_MAPPING,
    UNCLOSED,
    Fault,
    cause,
    colon_of,
    indent,
    line_above,
    line_span,
    wide_at,
)
from dsec_cli.source.tabs import ends_block_text, misplaced
from dsec_cli.source.text import Span
from dsec_cli.source.tree import Problem, Scalar
from dsec_cli.words import message_id, say

_KEY = r"""[^\s#\[\]{},&*!|>'"%@`-][^\n#:]*|"[^"\n]*"[ ]*|'[^'\n]*'[ ]*"""
"""With the blanks behind it; only in one way, so that many of them do not take the square of their number."""
_ENTRY = re.compile(rf"[ \t]*(?:-[ ]+)*(?:{_KEY}):[ \t]+(?=\S)")
_ANY_ENTRY = re.compile(rf"[ \t]*(?:-[ ]+)*(?:{_KEY}):(?=\s|$)")
_TEMPLATE = re.compile(r"\{\{|\{%")
_MOST_RELATED = 8
_FURTHEST = 10_000
"""Characters that are looked at backwards."""


Covered = Sequence[tuple[int, int]]


class Part(Record):
    """A range to blank; a `value` leaves an unknown value in its place, so that its key stays."""

    span: Span
    value: bool
    text: str = ""
    """What is written into the range instead."""


class Damage(Record):
    """An explained fault, and what to blank before reading again."""

    problem: Problem
    parts: tuple[Part, ...]
    lost: bool
    """False: blanking only repairs, nothing of the content is missing afterwards."""


def explain(fault: Fault, text: str, covered: Covered) -> Damage:
    """Name the cause of `fault` and choose what to leave out; `covered` are the scalars read so far."""
    swallowing = _swallowing(fault, text)
    opened = _never_closed(fault, text)
    at = _culprit(fault, text) if swallowing is None else swallowing.span.start
    at = at if opened is None else opened
    start, end = line_span(text, at)
    line = text[start:end]
    if _TEMPLATE.search(line):
        return templates(text, at, covered)
    if _is_tab(fault, text, line):
        return _tabs(text, start, at)
    if ends_block_text(fault, text):
        return _tabs(text, line_span(text, fault.at)[0], fault.at)
    message, advice = UNCLOSED if swallowing else cause(fault, text, line)
    if opened is not None:
        message, advice = OPEN_LIST if text[at] == "[" else OPEN_MAPPING
    if message_id(message) in ("wide-colon", "glued"):
        return _with_colon(Problem("DS002", Span(at, at), message, advice), text, start, end)
    related: tuple[tuple[Span, str], ...] = ()
    if fault.at != at and fault.at < len(text):
        related = ((Span(fault.at, fault.at + 1), say("the parser noticed it here")),)
    said = message_id(message)
    place = _place(said, text, at)
    if said in ("no-colon-alone", "no-space"):
        # What hangs below belongs to a key or an item that nobody can see.
        below = Part(Span(start, _block_end(text, start)), value=False)
        return Damage(Problem("DS002", place, message, advice), (below,), lost=True)
    return Damage(Problem("DS002", place, message, advice, related), (_part(text, at),), lost=True)


def _place(said: str, text: str, at: int) -> Span:
    """Where the author looks: at the sign that is wrong, or at the word that stands wrong."""
    start, end = line_span(text, at)
    line = text[start:end]
    if said == "full-width":
        at = start + wide_at(line)
    elif said == "indented":
        at = start + indent(line)
    elif said == "unquoted":
        at = max(text.rfind("{", start, at), start)
    elif said == "no-space":
        at = line.index("-") + start
    return Span(at, min(at + 1, len(text)))


def _block_end(text: str, start: int) -> int:
    """End of the last line that is indented deeper than the one at `start`."""
    first, end = line_span(text, start)
    width = indent(text[first:end])
    at = end
    while at < len(text):
        at, last = line_span(text, at + 1)
        line = text[at:last]
        if line.strip() and indent(line) <= width:
            break
        if line.strip():
            end = last
        at = last
    return end


def _never_closed(fault: Fault, text: str) -> int | None:
    """The bracket behind which the text ends although an item is due; None where that is not the fault."""
    if "node content" not in fault.problem or "flow" not in fault.context or text[fault.at :].strip():
        return None
    depth = 0
    for at in range(min(fault.at, len(text)) - 1, max(fault.at - _FURTHEST, 0) - 1, -1):
        if text[at] in "]}":
            depth += 1
        elif text[at] in "[{":
            depth -= 1
            if depth < 0:
                return at
    return None


def _with_colon(problem: Problem, text: str, start: int, end: int) -> Damage:
    """A key whose colon is not read as one: it counts, and what is below it; a value beside it is lost."""
    at = start + colon_of(text[start:end])
    beside = text[at + 1 : at + 2].strip(" \r\n") != ""
    part = Part(Span(at, end if beside else at + 1), False, ":")
    return Damage(problem._replace(span=Span(at, at + 1)), (part,), lost=beside)


def templates(text: str, at: int, covered: Covered) -> Damage:
    """All lines that are Helm or Jinja syntax, of which the one at `at` was noticed."""
    if at and _TEMPLATE.match(text, at - 1):
        at -= 1
    wide = [(start, end) for start, end in covered if text.find("{", start, end) >= 0]
    parts = [_part(text, at)]
    places = [at]
    for match in _TEMPLATE.finditer(text):
        start, end = line_span(text, match.start())
        value = _ENTRY.match(text, start, end) or ITEM.match(text, start, end)
        begins = value.end() if value else start + indent(text[start:end])
        known = any(start <= match.start() < end for start, end in wide)
        known = known or any(part.span.start <= match.start() < part.span.end for part in parts)
        if begins == match.start() and not known:
            parts.append(Part(Span(begins, end), value is not None))
            places.append(begins)
    first = min(places)
    span = Span(first, min(first + 2, len(text)))
    count = say(" ({count} places)", count=len(places)) if len(places) > 1 else ""
    message = say(
        "`{{{{` or `{{%` is Helm or Jinja syntax: this is a template, not YAML yet{count}",
        "template",
        count=count,
    )
    advice = say("render the template and check its output, or put the placeholder in quotes")
    others = sorted(place for place in places if place != first)[:_MOST_RELATED]
    related = tuple((Span(place, min(place + 2, len(text))), say("also here")) for place in others)
    return Damage(Problem("DS009", span, message, advice, related), tuple(parts), lost=True)


def follows(text: str, gaps: list[Span], damage: Damage) -> bool:
    """True where a fault only continues a gap: the lines below a damaged line that belong to it."""
    start, end = line_span(text, damage.problem.span.start)
    told = message_id(damage.problem.message) == "tab"
    if damage.lost and not told and text[start:end].lstrip(" ").startswith("\t"):
        return True  # the tab was told and taken for a space, which was not what it stood for
    for gap in gaps:
        gap_start, _ = line_span(text, gap.start)
        if gap_start == start:
            return True
        if gap.end <= start and not text[gap.end : start].strip():
            return indent(text[start:end]) >= gap.start - gap_start or text[start:end].strip() in "]})"
    return False


def _swallowing(fault: Fault, text: str) -> Scalar | None:
    """A quoted scalar over several lines right before the fault: its quote was closed by a later one's."""
    previous = fault.previous
    if not isinstance(previous, Scalar) or previous.style not in ("single", "double"):
        return None
    start, end = previous.span
    near = not text[end : fault.at].strip(" \t")
    return previous if near and "\n" in text[start:end] else None


_OPENED = ("quoted scalar", "simple key", "alias", "anchor", "tag", "directive", "block scalar")
"""Contexts whose beginning is the place to point at."""


def _culprit(fault: Fault, text: str) -> int:
    """Offset to blame: where an unclosed thing opened, else where the parser stopped."""
    if fault.context_at is not None:
        if any(word in fault.context for word in _OPENED) and "escape" not in fault.problem:
            return fault.context_at
        if "flow" in fault.context and _left_open(fault, text):
            return fault.context_at
    above = line_above(fault, text)
    if above is not None and above.bare:
        return above.start
    return _last_ink(text, min(fault.at, len(text)))


def _left_open(fault: Fault, text: str) -> bool:
    """True where a bracket was meant to end on an earlier line: an entry follows, or nothing does."""
    opened, _ = line_span(text, fault.context_at or 0)
    start, end = line_span(text, fault.at)
    if not text[fault.at :].strip():
        return True
    outer = indent(text[start:end]) <= indent(text[opened:])
    return start > opened and outer and _ANY_ENTRY.match(text, start, end) is not None


def _last_ink(text: str, at: int) -> int:
    """The end of the text is no place to point at: step back to the last character."""
    if text[at : at + 1].strip(" \r\n"):
        return at
    return max(len(text[:at].rstrip()) - 1, 0)


def _part(text: str, at: int) -> Part:
    """The value of the entry on the line of `at`, or the whole line where there is no such thing."""
    start, end = line_span(text, at)
    entry = _ENTRY.match(text, start, end)
    if entry and entry.end() <= at:
        return Part(Span(entry.end(), end), value=True)
    return Part(Span(start, end), value=False)


def _is_tab(fault: Fault, text: str, line: str) -> bool:
    here = text[fault.at : fault.at + 1] == "\t" and "cannot start any token" in fault.problem
    return here or line.lstrip(" ").startswith("\t")


def _tabs(text: str, start: int, at: int) -> Damage:
    """Take each tab for a space, or leave out its line: see `tabs`."""
    first = text.find("\t", start)
    first = at if first < 0 else first
    tabs = [first]
    lines = 0
    for match in re.finditer(r"(?m)^\t+(?=[^\s#])", text):
        lines += 1
        tabs += [tab for tab in range(match.start(), match.end()) if tab != first]
    run = first + 1
    while text[run : run + 1] == "\t":
        tabs.append(run)
        run += 1
    count = say(" ({count} lines)", count=lines) if lines > 1 else ""
    message = say("a tab indents this line; YAML indents with spaces only{count}", "tab", count=count)
    advice = say("replace each tab by spaces")
    problem = Problem("DS002", Span(first, min(first + 1, len(text))), message, advice)
    parts = [Part(left.span, left.value) for left in misplaced(text)]
    lost = bool(parts)
    parts += [Part(Span(tab, tab + 1), value=False) for tab in sorted(set(tabs))]
    return Damage(problem, tuple(parts), lost=lost)
