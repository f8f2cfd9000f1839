"""Syntax errors: what the author most likely did, and which part of the text to leave out.

The parser stops at its first error. To find the others, and to keep the findings of the healthy
rest, the damaged part is blanked (offsets stay) and the text is read again. Imported only for texts
that have an error.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from dsec.record import Record
from dsec_cli.source.text import Span
from dsec_cli.source.tree import Alias, Problem, Scalar

_KEY = r"""[^\s#\[\]{},&*!|>'"%@`-][^\n#:]*|"[^"\n]*"|'[^'\n]*'"""
_ENTRY = re.compile(rf"[ \t]*(?:-[ ]+)*(?:{_KEY})[ ]*:[ \t]+(?=\S)")
_ITEM = re.compile(r"[ \t]*(?:-[ ]+)+(?=\S)")
_ANY_ENTRY = re.compile(rf"[ \t]*(?:-[ ]+)*(?:{_KEY})[ ]*:(?=\s|$)")
_GLUED = re.compile(r"[ \t]*(?:-[ ]+)*([A-Za-z_][\w.-]*):(?=[^\s/:])")
_TEMPLATE = re.compile(r"\{\{|\{%")
_ODD_SPACE = re.compile(r"(?:^[ ]*|:)[\xa0\u3000]")
_WIDE = "：“”‘’，｛｝［］"
_MOST_RELATED = 8


Covered = Sequence[tuple[int, int]]


class Fault(Record):
    """What the parser said, in our own terms; both places are offsets."""

    context: str
    context_at: int | None
    problem: str
    at: int
    previous: Scalar | Alias | None
    """The last scalar that was read."""


class Part(Record):
    """A range to blank; a `value` leaves an unknown value in its place, so that its key stays."""

    span: Span
    value: bool


class Damage(Record):
    """An explained fault, and what to blank before reading again."""

    problem: Problem
    parts: tuple[Part, ...]
    lost: bool
    """False: blanking only repairs, nothing of the content is missing afterwards."""


def explain(fault: Fault, text: str, covered: Covered) -> Damage:
    """Name the cause of `fault` and choose what to leave out; `covered` are the scalars read so far."""
    swallowing = _swallowing(fault, text)
    at = _culprit(fault, text) if swallowing is None else swallowing.span.start
    start, end = line_span(text, at)
    line = text[start:end]
    if _TEMPLATE.search(line):
        return templates(text, at, covered)
    if _is_tab(fault, text, line):
        return _tabs(text, start, at)
    message, advice = _UNCLOSED if swallowing else _cause(fault, text, line)
    related: tuple[tuple[Span, str], ...] = ()
    if fault.at != at and fault.at < len(text):
        related = ((Span(fault.at, fault.at + 1), "the parser noticed it here"),)
    place = Span(at, min(at + 1, len(text)))
    return Damage(Problem("DS002", place, message, advice, related), (_part(text, at),), lost=True)


def templates(text: str, at: int, covered: Covered) -> Damage:
    """All lines that are Helm or Jinja syntax, of which the one at `at` was noticed."""
    if at and _TEMPLATE.match(text, at - 1):
        at -= 1
    wide = [(start, end) for start, end in covered if text.find("{", start, end) >= 0]
    parts = [_part(text, at)]
    places = [at]
    for match in _TEMPLATE.finditer(text):
        start, end = line_span(text, match.start())
        value = _ENTRY.match(text, start, end) or _ITEM.match(text, start, end)
        begins = value.end() if value else start + _indent(text[start:end])
        known = any(start <= match.start() < end for start, end in wide)
        known = known or any(part.span.start <= match.start() < part.span.end for part in parts)
        if begins == match.start() and not known:
            parts.append(Part(Span(begins, end), value is not None))
            places.append(begins)
    first = min(places)
    span = Span(first, min(first + 2, len(text)))
    count = f" ({len(places)} places)" if len(places) > 1 else ""
    message = f"`{{{{` or `{{%` is Helm or Jinja syntax: this is a template, not YAML yet{count}"
    advice = "render the template and check its output, or put the placeholder in quotes"
    others = sorted(place for place in places if place != first)[:_MOST_RELATED]
    related = tuple((Span(place, min(place + 2, len(text))), "also here") for place in others)
    return Damage(Problem("DS009", span, message, advice, related), tuple(parts), lost=True)


def line_span(text: str, at: int) -> tuple[int, int]:
    """Start and end (without its line end) of the line that holds `at`."""
    start = max(text.rfind("\n", 0, at), text.rfind("\r", 0, at)) + 1
    ends = [end for end in (text.find("\n", at), text.find("\r", at)) if end >= 0]
    return start, min(ends, default=len(text))


def follows(text: str, gaps: list[Span], damage: Damage) -> bool:
    """True where a fault only continues a gap: the lines below a damaged line that belong to it."""
    start, end = line_span(text, damage.problem.span.start)
    if damage.lost and text[start:end].lstrip(" ").startswith("\t"):
        return True  # the tab was told and taken for a space, which was not what it stood for
    for gap in gaps:
        gap_start, _ = line_span(text, gap.start)
        if gap_start == start:
            return True
        if gap.end <= start and not text[gap.end : start].strip():
            return _indent(text[start:end]) >= gap.start - gap_start or text[start:end].strip() in "]})"
    return False


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" \t"))


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
    above = _line_above(fault, text)
    if above is not None and above.bare:
        return above.start
    return _last_ink(text, min(fault.at, len(text)))


class _Above(Record):
    """The beginning of a plain scalar that goes on into the line where a colon was not allowed."""

    start: int
    bare: bool
    """It stands where a key would: that line has no colon of its own."""


def _line_above(fault: Fault, text: str) -> _Above | None:
    if "mapping values" not in fault.problem or fault.previous is None:
        return None
    at = fault.previous.span.start
    start, end = line_span(text, at)
    if end >= fault.at:
        return None
    item = _ITEM.match(text, start, end)
    lead = item.end() if item else start + _indent(text[start:end])
    return _Above(at, lead == at)


def _left_open(fault: Fault, text: str) -> bool:
    """True where a bracket was meant to end on an earlier line: an entry follows, or nothing does."""
    opened, _ = line_span(text, fault.context_at or 0)
    start, end = line_span(text, fault.at)
    if not text[fault.at :].strip():
        return True
    outer = _indent(text[start:end]) <= _indent(text[opened:])
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
    """Take each tab for one level of one space, which keeps what tabs alone indent."""
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
    count = f" ({lines} lines)" if lines > 1 else ""
    message = f"a tab indents this line; YAML indents with spaces only{count}"
    problem = Problem("DS002", Span(first, min(first + 1, len(text))), message, "replace each tab by spaces")
    parts = tuple(Part(Span(tab, tab + 1), value=False) for tab in sorted(set(tabs)))
    return Damage(problem, parts, lost=False)


def _cause(fault: Fault, text: str, line: str) -> tuple[str, str]:
    """Message and help for the most likely cause."""
    specific = _by_line(fault, text, line) or _by_words(fault)
    if specific:
        return specific
    return f"invalid YAML: {fault.problem or fault.context}", "the rest of this line is not read"


def _by_line(fault: Fault, text: str, line: str) -> tuple[str, str] | None:
    """Causes that the line itself shows."""
    limit = _limitation(fault, text)
    if limit:
        return f"parser limitation: {limit[0]}", limit[1]
    if "cannot start any token" in fault.problem:
        char = text[fault.at : fault.at + 1]
        return f"a plain value cannot start with `{char}`", f"put the value in quotes: '{char}...'"
    wide = next((char for char in line if char in _WIDE), "")
    if wide and ("quoted" in fault.context or ":" not in line or wide in _WIDE[1:]):
        return f"full-width `{wide}` is ordinary text in YAML", "type it as an ASCII character"
    glued = _GLUED.match(line)
    if glued and "quoted" not in fault.context:
        return f"no space after the colon of `{glued[1]}`", f"write `{glued[1]}: ...`"
    return _by_layout(fault, text, line)


def _names_an_anchor(fault: Fault, text: str) -> bool:
    """True for `&a.b`, and for `*a.b` if that is anchored; `*.log` only lacks its quotes."""
    here, start = text[fault.at : fault.at + 1], fault.context_at
    if not here or here.isspace() or not fault.context.endswith(("an anchor", "an alias")):
        return False
    if start is None or text[start : start + 1] != "*":
        return True
    name = re.match(r"[^\s,\[\]{}]*", text[start + 1 :])
    return name is not None and f"&{name[0]}" in text


def _limitation(fault: Fault, text: str) -> tuple[str, str] | None:
    """Legal YAML that the C parser cannot read; each case is in the yaml-test-suite."""
    here = text[fault.at : fault.at + 1]
    if "directive" in fault.problem + fault.context:
        return "only the directives %YAML and %TAG can be read", "remove the line"
    if "incompatible YAML document" in fault.problem:
        return "only YAML 1.1 and 1.2 can be read", "remove the %YAML directive, or state 1.2"
    if _names_an_anchor(fault, text):
        return "names of anchors hold ASCII letters, digits, `-` and `_` only", "rename the anchor"
    leads = not text[line_span(text, fault.at)[0] : fault.at].strip()
    if here == ":" and leads and "expected ',' or" in fault.problem:
        return "in brackets a key and its colon must be on one line", "join the two lines"
    if here == ":" and ("expected key" in fault.problem or "node content" in fault.problem):
        return "a key is missing before this colon", 'write the key, or `""` for an empty one'
    if "unexpected ':'" in fault.problem:
        return "in brackets a colon needs a space behind it", "add the space, or put the text in quotes"
    if "tab character" in fault.problem:
        return "a tab stands where this text's indentation is looked for", "replace it by spaces"
    if here == "?" and "flow" in fault.context:
        return "`?` inside brackets starts a complex key", "put the value in quotes"
    return None


def _by_layout(fault: Fault, text: str, line: str) -> tuple[str, str] | None:
    """Causes that the line shows together with the one above."""
    if _ODD_SPACE.search(line):
        return "a no-break or full-width space stands where YAML needs an ordinary one", "type a space"
    above = _line_above(fault, text)
    if above is None:
        return None
    if above.bare:
        return _NO_COLON
    return (
        "this key is indented as if it continued the value above",
        "align it with the key above, or make that one's value empty",
    )


_NO_COLON = (
    "this line is neither `key: value` nor a list item",
    "add `: ` after the key, or indent the line below its key",
)
_UNCLOSED = ("this quote is never closed", "close it on the same line")

_WORDS = (
    ("quoted scalar", "unexpected", *_UNCLOSED),
    (
        "quoted scalar",
        "escape",
        "unknown escape in double quotes",
        "double the backslash, or use single quotes",
    ),
    ("simple key", "", *_NO_COLON),
    ("alias", "", "`*` starts an alias, and no name follows", "put text that begins with `*` in quotes"),
    ("anchor", "", "`&` starts an anchor, and no name follows", "put text that begins with `&` in quotes"),
    (
        "",
        "undefined tag handle",
        "this tag handle is not declared",
        "remove the tag, or put text that begins with `!` in quotes",
    ),
    (
        "",
        "mapping values are not allowed",
        "a second `: ` on this line",
        "put a value that contains `: ` in quotes",
    ),
    (
        "",
        "block sequence entries are not allowed",
        "a list cannot start on the line of its key",
        "start the list on the next line, or write `[a, b]`",
    ),
    (
        "flow sequence",
        "",
        "this `[` list is not closed, or lacks a `,`",
        "separate items by `,` and close it with `]`",
    ),
    (
        "flow mapping",
        "",
        "this `{` mapping is not closed, or lacks a `,`",
        "separate entries by `,` and close it with `}`",
    ),
    (
        "block mapping",
        "expected key",
        "this fits into no mapping around it",
        "align it with the keys of its mapping; after a quoted value nothing may follow",
    ),
    (
        "block collection",
        "expected '-'",
        "this fits into no list around it",
        "align the `-` of all items, and indent what belongs to an item",
    ),
    (
        "",
        "expected <document start>",
        "something follows the end of the document",
        "separate documents by a line `---`, and align keys with the first one",
    ),
    (
        "block scalar",
        "",
        "the header or the indentation of this block text is wrong",
        "write `|` or `>` alone, and indent all lines of the text",
    ),
    ("", "expected node content", "a value is expected here", "write the value, or remove the indicator"),
)
"""What the parser's context and problem contain, and what that means to the author."""


def _by_words(fault: Fault) -> tuple[str, str] | None:
    """Causes known from the parser's own words."""
    for context, problem, message, advice in _WORDS:
        if context in fault.context and problem in fault.problem:
            return message, advice
    return None
