"""What the author of broken YAML most likely did: a message and an advice for each cause.

Imported only for texts that have an error.
"""

from __future__ import annotations

import re

from dsec.record import Record
from dsec_cli.source.tree import Alias, Scalar
from dsec_cli.words import say

ITEM = re.compile(r"[ \t]*(?:-[ ]+)+(?=\S)")
_GLUED = re.compile(r"[ \t]*(?:-[ ]+)*([A-Za-z_][\w.-]*):(?=[^\s/:])")
_WIDE_COLON = re.compile(r"[ \t]*(?:-[ ]+)*([A-Za-z_][\w.-]*)[ \u3000]*\uff1a")
_OPERATOR = re.compile(r">=?[\d.]+|>=")
_NO_SPACE = re.compile(r"[ ]*-([A-Za-z_][\w.-]*:(?:[ ].*)?|\d+[ ]*)$")
_KEY_ALONE = re.compile(r"[ ]*([A-Za-z_][\w-]*)[ ]*$")
_ODD_SPACE = re.compile(r"(?:^[ ]*|:)[\xa0\u3000]")
_HELD = re.compile(r"(?:^|[\s\[,])(\{[A-Za-z_][\w.-]*\}[ ]*)$")
_REST = re.compile(r"(?:[^\s,\[\]{}\"']|\{[\w.-]*\}|[ ](?=[^\s#]))+")
_WIDE = "：“”‘’，｛｝［］"


class Fault(Record):
    """What the parser said, in our own terms; both places are offsets."""

    context: str
    context_at: int | None
    problem: str
    at: int
    previous: Scalar | Alias | None
    """The last scalar that was read."""


def line_span(text: str, at: int) -> tuple[int, int]:
    """Start and end (without its line end) of the line that holds `at`."""
    start = max(text.rfind("\n", 0, at), text.rfind("\r", 0, at)) + 1
    ends = [end for end in (text.find("\n", at), text.find("\r", at)) if end >= 0]
    return start, min(ends, default=len(text))


def colon_of(line: str) -> int:
    """Where the colon of a key stands that is full-width, or has no space behind it; -1 elsewhere."""
    found = _WIDE_COLON.match(line)
    if found is None:
        found = _GLUED.match(line)
    return -1 if found is None else found.end() - 1


def wide_at(line: str) -> int:
    """Where the first full-width sign stands that was meant as an indicator."""
    return next((at for at, char in enumerate(line) if char in _WIDE), 0)


def indent(line: str) -> int:
    """Width of the blanks, tabs included, that begin `line`."""
    return len(line) - len(line.lstrip(" \t"))


class Above(Record):
    """The beginning of a plain scalar that goes on into the line where a colon was not allowed."""

    start: int
    bare: bool
    """It stands where a key would: that line has no colon of its own."""


def line_above(fault: Fault, text: str) -> Above | None:
    """Where the plain scalar began that swallowed the line of a refused colon; None where none did."""
    if "mapping values" not in fault.problem or fault.previous is None:
        return None
    at = fault.previous.span.start
    start, end = line_span(text, at)
    if end >= fault.at:
        return None
    item = ITEM.match(text, start, end)
    lead = item.end() if item else start + indent(text[start:end])
    return Above(at, lead == at)


def cause(fault: Fault, text: str, line: str) -> tuple[str, str]:
    """Message and help for the most likely cause."""
    specific = _by_line(fault, text, line) or _by_words(fault)
    if specific:
        return specific
    said = fault.problem or fault.context
    return say("invalid YAML: {said}", "invalid", said=said), say("the rest of this line is not read")


def _by_line(fault: Fault, text: str, line: str) -> tuple[str, str] | None:
    """Causes that the line itself shows."""
    limit = _limitation(fault, text)
    if limit:
        return say("parser limitation: {limit}", "limitation", limit=limit[0]), limit[1]
    unquoted = _unquoted_placeholder(fault, text)
    if unquoted:
        message = say("text that begins with `{` needs quotes: a bare `{` begins a mapping", "unquoted")
        return message, say("write {text}", text=unquoted)
    if "cannot start any token" in fault.problem:
        char = text[fault.at : fault.at + 1]
        return (
            say("a plain value cannot start with `{char}`", "start", char=char),
            say("put the value in quotes: '{char}...'", char=char),
        )
    if "block scalar" in fault.context and fault.context_at is not None:
        opened = _OPERATOR.match(text, fault.context_at)
        if opened:
            return say("a plain value cannot start with `{char}`", "start", char=opened[0][0]), say(
                "put the value in quotes: '{char}...'", char=opened[0]
            )
    unspaced = _NO_SPACE.match(line)
    if unspaced and "quoted" not in fault.context:
        return say("no space after the `-`", "no-space"), say("write `- {item}`", item=unspaced[1])
    wide_colon = _WIDE_COLON.match(line)
    if wide_colon and "quoted" not in fault.context:
        key = wide_colon[1]
        message = say(
            "the colon after `{key}` is full-width: YAML takes it for a letter", "wide-colon", key=key
        )
        return message, say("write `{key}: ...`", key=key)
    wide = next((char for char in line if char in _WIDE), "")
    if wide and ("quoted" in fault.context or ":" not in line or wide in _WIDE[1:]):
        message = say("full-width `{char}` is ordinary text in YAML", "full-width", char=wide)
        return message, say("type it as an ASCII character")
    glued = _GLUED.match(line)
    if glued and "quoted" not in fault.context:
        key = glued[1]
        return say("no space after the colon of `{key}`", "glued", key=key), say(
            "write `{key}: ...`", key=key
        )
    return _by_layout(fault, text, line)


def _unquoted_placeholder(fault: Fault, text: str) -> str:
    """In quotes, the text that begins with `{run}` where the parser stopped behind it; else ""."""
    start, end = line_span(text, fault.at)
    held = _HELD.search(text[start : fault.at])
    if held is None:
        return ""
    rest = _REST.match(text, fault.at, end)
    return f'"{held[1]}{rest[0] if rest else ""}"'


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
        return say("only the directives %YAML and %TAG can be read"), say("remove the line")
    if "incompatible YAML document" in fault.problem:
        return say("only YAML 1.1 and 1.2 can be read"), say("remove the %YAML directive, or state 1.2")
    if _names_an_anchor(fault, text):
        return say("names of anchors hold ASCII letters, digits, `-` and `_` only"), say("rename the anchor")
    leads = not text[line_span(text, fault.at)[0] : fault.at].strip()
    if here == ":" and leads and "expected ',' or" in fault.problem:
        return say("in brackets a key and its colon must be on one line"), say("join the two lines")
    if here == ":" and ("expected key" in fault.problem or "node content" in fault.problem):
        return say("a key is missing before this colon"), say('write the key, or `""` for an empty one')
    if "unexpected ':'" in fault.problem:
        return (
            say("in brackets a colon needs a space behind it"),
            say("add the space, or put the text in quotes"),
        )
    if "tab character" in fault.problem:
        return say("a tab stands where this text's indentation is looked for"), say("replace it by spaces")
    if here == "?" and "flow" in fault.context:
        return say("`?` inside brackets starts a complex key"), say("put the value in quotes")
    return None


def _by_layout(fault: Fault, text: str, line: str) -> tuple[str, str] | None:
    """Causes that the line shows together with the one above."""
    if _ODD_SPACE.search(line):
        message = say("a no-break or full-width space stands where YAML needs an ordinary one", "odd-space")
        return message, say("type a space")
    above = line_above(fault, text)
    alone = _KEY_ALONE.match(line)
    bare = (above is not None and above.bare) or "simple key" in fault.context
    if alone and bare and _begins_section(text, fault.at, line):
        key = alone[1]
        return say("no colon after `{key}`", "no-colon-alone", key=key), say("write `{key}:`", key=key)
    if "expected '-'" in fault.problem and line.lstrip(" ")[:1] != "-" and fault.context_at is not None:
        first, end = line_span(text, fault.context_at)
        if indent(line) > indent(text[first:end]):
            return _UNALIGNED
    if above is None:
        return None
    if above.bare:
        return _NO_COLON
    return (
        say("this key is indented as if it continued the value above", "indented"),
        say("align it with the key above, or make that one's value empty"),
    )


def _begins_section(text: str, at: int, line: str) -> bool:
    """Whether the line of `at` is indented deeper than `line`."""
    start, end = line_span(text, at)
    return indent(text[start:end]) > indent(line)


_UNALIGNED = (
    say("this is aligned with no key above it", "unaligned"),
    say("indent it like the keys beside it"),
)
_NO_COLON = (
    say("this line is neither `key: value` nor a list item", "no-colon"),
    say("add `: ` after the key, or indent the line below its key"),
)
OPEN_LIST = (
    say("this `[` list is not closed, or lacks a `,`", "open-list"),
    say("separate items by `,` and close it with `]`"),
)
OPEN_MAPPING = (
    say("this `{` mapping is not closed, or lacks a `,`", "open-mapping"),
    say("separate entries by `,` and close it with `}`"),
)
UNCLOSED = (say("this quote is never closed", "unclosed-quote"), say("close it on the same line"))

_WORDS = (
    ("quoted scalar", "unexpected", *UNCLOSED),
    (
        "quoted scalar",
        "escape",
        say("unknown escape in double quotes", "escape"),
        say("double the backslash, or use single quotes"),
    ),
    ("simple key", "", *_NO_COLON),
    (
        "alias",
        "",
        say("`*` starts an alias, and no name follows", "nameless-alias"),
        say("put text that begins with `*` in quotes"),
    ),
    (
        "anchor",
        "",
        say("`&` starts an anchor, and no name follows", "nameless-anchor"),
        say("put text that begins with `&` in quotes"),
    ),
    (
        "",
        "undefined tag handle",
        say("this tag handle is not declared", "tag"),
        say("remove the tag, or put text that begins with `!` in quotes"),
    ),
    (
        "",
        "mapping values are not allowed",
        say("a second `: ` on this line", "second-colon"),
        say("put a value that contains `: ` in quotes"),
    ),
    (
        "",
        "block sequence entries are not allowed",
        say("a list cannot start on the line of its key", "list-on-line"),
        say("start the list on the next line, or write `[a, b]`"),
    ),
    (
        "flow sequence",
        "",
        *OPEN_LIST,
    ),
    (
        "flow mapping",
        "",
        *OPEN_MAPPING,
    ),
    (
        "block mapping",
        "expected key",
        say("this fits into no mapping around it", "no-mapping"),
        say("align it with the keys of its mapping; after a quoted value nothing may follow"),
    ),
    (
        "block collection",
        "expected '-'",
        say("this fits into no list around it", "no-list"),
        say("align the `-` of all items, and indent what belongs to an item"),
    ),
    (
        "",
        "expected <document start>",
        say("something follows the end of the document", "after-end"),
        say("separate documents by a line `---`, and align keys with the first one"),
    ),
    (
        "block scalar",
        "",
        say("the header or the indentation of this block text is wrong", "block"),
        say("write `|` or `>` alone, and indent all lines of the text"),
    ),
    (
        "",
        "expected node content",
        say("a value is expected here", "value"),
        say("write the value, or remove the indicator"),
    ),
)
"""What the parser's context and problem contain, and what that means to the author."""


def _by_words(fault: Fault) -> tuple[str, str] | None:
    """Causes known from the parser's own words."""
    for context, problem, message, advice in _WORDS:
        if context in fault.context and problem in fault.problem:
            return message, advice
    return None
