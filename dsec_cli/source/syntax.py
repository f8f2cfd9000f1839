"""Syntax errors: what the author most likely did, and which part of the text to leave out.

The parser stops at its first error. To find the others, and to keep the findings of the healthy
rest, the damaged part is blanked (offsets stay) and the text is read again.
"""

from __future__ import annotations

import re

from dsec.record import Record
from dsec_cli.source.text import Span
from dsec_cli.source.tree import Node, Problem, Scalar

_KEY = r"""[^\s#\[\]{},&*!|>'"%@`-][^\n#:]*|"[^"\n]*"|'[^'\n]*'"""
_KEY = r"""[^\s#\[\]{},&*!|>'"%@`-][^\n#:]*|"[^"\n]*"|'[^'\n]*'"""
_ENTRY = re.compile(rf"[ ]*(?:-[ ]+)*(?:{_KEY})[ ]*:[ \t]+(?=\S)")
_GLUED = re.compile(r"[ ]*(?:-[ ]+)*([A-Za-z_][\w.-]*):(?=[^\s/:])")
_TEMPLATE = re.compile(r"\{\{|\{%")


class Fault(Record):
    """What the parser said, in our own terms; both places are offsets."""

    context: str
    context_at: int | None
    problem: str
    at: int
    previous: Node | None
    """The last scalar that was read."""


class Damage(Record):
    """An explained fault and the part of the text to blank before reading again."""

    problem: Problem
    part: Span
    keeps_key: bool
    """The part is a value: its key stays, and the value counts as unknown."""


def explain(fault: Fault, text: str) -> Damage:
    """Name the cause of `fault` and choose what to leave out."""
    at = _culprit(fault, text)
    part, keeps_key = _part(text, at)
    return Damage(_problem(fault, text, at), part, keeps_key)


def _culprit(fault: Fault, text: str) -> int:
    """Offset to blame: where an unclosed thing opened, else where the parser stopped."""
    at = min(fault.at, len(text))
    previous = fault.previous
    swallowed = (
        isinstance(previous, Scalar)
        and previous.style in ("single", "double")
        and _lines_between(text, previous.span.start, previous.span.end)
        and not text[previous.span.end : at].strip(" \t")
    )
    if swallowed and previous is not None:
        return previous.span.start
    opened = ("quoted scalar", "flow", "simple key", "alias", "anchor", "tag", "directive", "block scalar")
    if fault.context_at is not None and any(word in fault.context for word in opened):
        return fault.context_at
    return _last_ink(text, at)


def _last_ink(text: str, at: int) -> int:
    """The end of the text is no place to point at: step back to the last character."""
    while at > 0 and not text[at : at + 1].strip():
        at -= 1
    return at


def _lines_between(text: str, start: int, end: int) -> bool:
    return "\n" in text[start:end]


def _part(text: str, at: int) -> tuple[Span, bool]:
    """The value of the entry on the line of `at`, or the whole line where there is no such thing."""
    start = text.rfind("\n", 0, at) + 1
    end = text.find("\n", at)
    end = len(text) if end < 0 else end
    end = start + len(text[start:end].rstrip("\r"))
    entry = _ENTRY.match(text, start, end)
    if entry and entry.end() <= at:
        return Span(entry.end(), end), True
    return Span(start, end), False


def _problem(fault: Fault, text: str, at: int) -> Problem:
    start = text.rfind("\n", 0, at) + 1
    end = text.find("\n", at)
    line = text[start : len(text) if end < 0 else end]
    message, advice = _cause(fault, text, line)
    place = at if at < len(text) else max(0, len(text) - 1)
    span = Span(place, min(place + 1, len(text)))
    related: tuple[tuple[Span, str], ...] = ()
    if fault.at != at and fault.at < len(text):
        related = ((Span(fault.at, fault.at + 1), "the parser noticed it here"),)
    code = "DS009" if _TEMPLATE.search(line) else "DS002"
    return Problem(code, span, message, advice, related)


def _cause(fault: Fault, text: str, line: str) -> tuple[str, str]:
    """Message and help for the most likely cause."""
    if _TEMPLATE.search(line):
        return TEMPLATE_MESSAGE, TEMPLATE_HELP
    specific = _by_line(fault, text, line) or _by_words(fault, text)
    if specific:
        return specific
    return f"invalid YAML: {fault.problem or fault.context}", "the lines around this place are not read"


TEMPLATE_MESSAGE = "`{{` or `{%` is Helm or Jinja syntax: this is a template, not YAML yet"
TEMPLATE_HELP = "render the template first and check its output, or put the placeholder in quotes"


def _by_line(fault: Fault, text: str, line: str) -> tuple[str, str] | None:
    """Causes that the line itself shows."""
    char = text[fault.at : fault.at + 1]
    if ("cannot start any token" in fault.problem and char == "\t") or line.lstrip(" ").startswith("\t"):
        return "a tab indents this line; YAML indents with spaces only", "replace each tab by spaces"
    if "cannot start any token" in fault.problem:
        return f"a plain value cannot start with `{char}`", f"put the value in quotes: '{char}...'"
    wide = next((char for char in line if char in "：“”‘’，｛｝［］"), "")
    if wide and (":" not in line or wide != "："):
        return f"full-width `{wide}` is ordinary text in YAML", "use the ASCII character"
    glued = _GLUED.match(line)
    if glued and "quoted" not in fault.context:
        return f"no space after the colon of `{glued[1]}`", f"write `{glued[1]}: ...`"
    return None


_WORDS = (
    ("quoted scalar", "unexpected end", "this quote is never closed", "close it on the same line"),
    ("quoted scalar", "unexpected document", "this quote is never closed", "close it on the same line"),
    ("flow sequence", "", "this `[` is never closed", "close it with `]`, and separate items by `,`"),
    ("flow mapping", "", "this `{` is never closed", "close it with `}`, and separate entries by `,`"),
    (
        "simple key",
        "",
        "this line is neither `key: value` nor a list item",
        "add `: ` after the key, or indent the line below its key",
    ),
    ("alias", "", "`*` starts an alias, and no name follows", "put text that begins with `*` in quotes"),
    ("anchor", "", "`&` starts an anchor, and no name follows", "put text that begins with `&` in quotes"),
    (
        "quoted scalar",
        "escape",
        "unknown escape in double quotes",
        "double the backslash, or use single quotes",
    ),
    (
        "",
        "undefined tag handle",
        "this tag handle is not declared",
        "remove the tag, or put text that begins with `!` in quotes",
    ),
    (
        "",
        "mapping values are not allowed",
        "a second `: ` on this line, or a wrong indentation",
        "put a value that contains `: ` in quotes, or align the key with its siblings",
    ),
    (
        "",
        "block sequence entries are not allowed",
        "a list cannot start on the line of its key",
        "start the list on the next line, or write `[a, b]`",
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
        "incompatible YAML document",
        "this YAML version is newer than the parser's (parser limitation)",
        "remove the %YAML directive, or state 1.2",
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


def _by_words(fault: Fault, _text: str) -> tuple[str, str] | None:
    """Causes known from the parser's own words."""
    for context, problem, message, advice in _WORDS:
        if context in fault.context and problem in fault.problem:
            return message, advice
    return None
