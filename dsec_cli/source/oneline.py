"""What begins and ends in one line of an ordinary text: keys, quoted words and flow collections."""

from __future__ import annotations

from dsec_cli.source.resolve import MERGE
from dsec_cli.source.text import Span
from dsec_cli.source.tree import Entry, Mapping, Scalar, Sequence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from dsec_cli.source.tree import Node

INDICATORS = frozenset("-?:,[]{}#&*!|>'\"%@`")
"""No plain word of ours begins with one of these; YAML has exceptions."""
_QUOTES = frozenset("\"'")
_OPENING = frozenset("[{")
_PROPERTIES = frozenset("!&*%")
_NO_WORD = frozenset(",[]{}?#\"'")
"""In a word in brackets each of these has a meaning, or is one of the things that parsers disagree on."""
_ESCAPES = {'"': '"', "\\": "\\", "n": "\n", "t": "\t"}
_MAX_DEPTH = 16
_node: Callable[[type[Scalar]], Scalar] = object.__new__
_new = tuple.__new__


class NotPlain(Exception):  # it is a signal to `plain.read`, its only catcher
    """What stands here is for the C parser to judge."""


def scalar(start: int, end: int, text: str, style: str = "plain") -> Scalar:
    """A scalar without tag and anchor, in half the time that the class takes."""
    node = _node(Scalar)
    node.start = start
    node.end = end
    node.text = text
    node.style = style
    node.tag = node.anchor = None
    return node


def ordinary_key(written: str, bare: bool) -> tuple[str, int, bool, bool] | None:
    """The ordinary key that a line begins with, its column or that of the dash before it, if it does."""
    key = written.lstrip(" ")
    column = len(written) - len(key)
    dashed = key[:2] == "- "
    if bare:
        if key[-1:] != ":":
            return None
        key = key[:-1]
    if dashed:
        key = key[2:]
    return (key, column, dashed, bare) if key.isidentifier() else None


def plain_key(body: str, at: int) -> Scalar | None:
    """The unquoted key that a text begins with, when it does."""
    name, sign, _ = body.partition(": ")
    if not sign:
        if name[-1] != ":":
            return None
        name = name[:-1]
    if " #" in name:
        return None
    if not name or name[0] in INDICATORS or name[-1] == " ":
        raise NotPlain
    return scalar(at, at + len(name), name)


def quoted(text: str, at: int, end: int) -> Scalar:
    """The quoted scalar that starts at `at` and ends before `end`."""
    quote = text[at]
    stop = text.find(quote, at + 1, end)
    if stop < 0:
        raise NotPlain
    if quote == '"':
        content = text[at + 1 : stop]
        if "\\" in content:
            content, stop = _unescaped(text, at + 1, end)
        return scalar(at, stop + 1, content, "double")
    while text[stop + 1] == "'":
        stop = _found(text, quote, stop + 2, end)
    return scalar(at, stop + 1, text[at + 1 : stop].replace("''", "'"), "single")


def _unescaped(text: str, at: int, end: int) -> tuple[str, int]:
    pieces: list[str] = []
    while True:
        stop = _found(text, '"', at, end)
        slash = text.find("\\", at, stop)
        if slash < 0:
            pieces.append(text[at:stop])
            return "".join(pieces), stop
        char = _ESCAPES.get(text[slash + 1])
        if char is None:
            raise NotPlain
        pieces += (text[at:slash], char)
        at = slash + 2


def _found(text: str, char: str, at: int, end: int) -> int:
    stop = text.find(char, at, end)
    if stop < 0:
        raise NotPlain
    return stop


def flow(text: str, at: int, end: int, depth: int = 0) -> Mapping | Sequence:
    """The flow collection that starts at `at` and ends before `end`, where the line does."""
    if depth > _MAX_DEPTH:
        raise NotPlain
    start = at
    mapping = text[at] == "{"
    closer = "}" if mapping else "]"
    stop = text.find(closer, at, end)
    if stop < 0:
        raise NotPlain
    parts = (_flat_mapping if mapping else _flat_sequence)(text[at + 1 : stop], at + 1)
    if parts is not None:
        return _whole(start, stop + 1, parts, mapping)
    parts = []
    at = _skipped(text, at + 1)
    more = text[at] != closer
    while more:
        if mapping:
            key = _key(text, at, end)
            node, at = _part(text, _skipped(text, key.end + 2), end, closer=closer, depth=depth)
            parts.append(Entry._make((key, node)))
        else:
            node, at = _part(text, at, end, closer=closer, depth=depth)
            parts.append(node)
        at = _skipped(text, at)
        more = text[at] == ","
        if more:
            at = _skipped(text, at + 1)
    if text[at] != closer:
        raise NotPlain
    return _whole(start, at + 1, parts, mapping)


def _flat_sequence(inside: str, at: int) -> list[Any] | None:
    """The items, if they all are of the simplest kind."""
    parts: list[Any] = []
    for word in inside.split(", "):
        if not word.isalnum():
            return None
        end = at + len(word)
        parts.append(scalar(at, end, word))
        at = end + 2
    return parts


def _flat_mapping(inside: str, at: int) -> list[Any] | None:
    """The entries, if they all are of the simplest kind."""
    parts: list[Any] = []
    for entry in inside.split(", "):
        name, _, word = entry.partition(": ")
        if not word.isalnum() or not name.isidentifier():
            return None
        colon = at + len(name)
        at += len(entry)
        parts.append(_new(Entry, (scalar(colon - len(name), colon, name), scalar(colon + 2, at, word))))
        at += 2
    return parts


def _whole(start: int, end: int, parts: list[Any], mapping: bool) -> Mapping | Sequence:
    span = _new(Span, (start, end))
    if not mapping:
        return Sequence(span, tuple(parts), True, None, None)
    if len({entry[0].text for entry in parts}) != len(parts):
        raise NotPlain
    whole = Mapping(span, tuple(parts), True, None, None)
    whole.plain = True
    return whole


def _part(text: str, at: int, end: int, *, closer: str, depth: int) -> tuple[Node, int]:
    """A value in brackets or braces, and where it ends."""
    first = text[at]
    if first in _OPENING:
        inner = flow(text, at, end, depth + 1)
        return inner, inner.span[1]
    one = quoted(text, at, end) if first in _QUOTES else _word(text, at, end, closer)
    return one, one.end


def _key(text: str, at: int, end: int) -> Scalar:
    """A key in braces."""
    if text[at] in _QUOTES:
        key = quoted(text, at, end)
        if not text.startswith(": ", key.end):
            raise NotPlain
    else:
        colon = text.find(": ", at, end)
        name = text[at:colon]
        if colon < 0 or not (name.isidentifier() or _is_word(name)):
            raise NotPlain
        key = scalar(at, colon, name)
    if key.text == MERGE:
        raise NotPlain
    return key


def _word(text: str, at: int, end: int, closer: str) -> Scalar:
    """A plain scalar in brackets or braces."""
    comma = text.find(",", at, end)
    stop = text.find(closer, at, comma if comma >= 0 else end)
    if stop < 0:
        stop = comma
    if stop < 0:
        raise NotPlain
    word = text[at:stop].rstrip(" ")
    if not word.isalnum() and not _is_word(word):
        raise NotPlain
    return scalar(at, at + len(word), word)


def _is_word(word: str) -> bool:
    if not word or word[-1] == " " or not _NO_WORD.isdisjoint(word):
        return False
    if ":" in word and not _keeps_colons(word):
        return False
    return word[0] not in INDICATORS or (word[0] == "-" and word[1:2].isalnum())


def _keeps_colons(word: str) -> bool:
    """Whether colons are letters like others: `git@host:a`, and no part may be a tag or an anchor."""
    if word[0] == ":" or word[-1] == ":" or ": " in word or " :" in word:
        return False
    return _PROPERTIES.isdisjoint(word)


def _skipped(text: str, at: int) -> int:
    """The first place from `at` that is not a space."""
    while text[at] == " ":
        at += 1
    return at


def within(node: Node) -> int:
    """Nodes inside a collection."""
    if isinstance(node, Sequence):
        return len(node.items) + sum([within(one) for one in node.items if type(one) is not Scalar])
    if isinstance(node, Mapping):
        inside = sum([within(one) for _, one in node.entries if type(one) is not Scalar])
        return 2 * len(node.entries) + inside
    return 0
