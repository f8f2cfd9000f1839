"""Reads texts of the ordinary kind line by line, in half the time that the C parser's events take.

Blocks, words and quotes that end in their line, flow collections that do, block texts, comments. All
else (an anchor, a tag, a tab, a key said twice, a word over two lines, anything that is or may be an
error) is not for this reader: it gives up at once, and the text is read from its start by the C
parser. So it must never read what that parser refuses, nor read anything in another way.
"""

from __future__ import annotations

from dsec_cli.source.blocktext import HEADERS, block_text
from dsec_cli.source.oneline import (
    INDICATORS,
    NotPlain,
    flow,
    ordinary_key,
    plain_key,
    quoted,
    scalar,
    within,
)
from dsec_cli.source.resolve import MERGE
from dsec_cli.source.text import Span
from dsec_cli.source.tree import Comment, Document, Entry, Mapping, Scalar, Sequence, TooMany, Tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from dsec_cli.source.tree import Node

_LINES_AT_ONCE = 4096
_LONGEST_LINE = 1000
"""The C parser looks for a key's colon so far and no further."""
_MAX_DEPTH = 64
_NOWHERE = -1
_NOTHING: dict[str, str] = {}
_BLANK = ("", " ")
_QUOTES = frozenset("\"'")
_OPENING = frozenset("[{")
_new = tuple.__new__
_node: Callable[[type[Scalar]], Scalar] = object.__new__


def read(text: str, most: int) -> Tree | None:
    """The tree of a text of the ordinary kind, None for every other; raises TooMany above `most` nodes."""
    if "\t" in text or "\r" in text:
        return None
    lines = text.split("\n")
    if max(map(len, lines)) > _LONGEST_LINE:
        return None
    reader = _Reader(text)
    try:
        for at in range(0, len(lines), _LINES_AT_ONCE):
            reader.read(lines[at : at + _LINES_AT_ONCE])
            if reader.exceeds(most):
                raise TooMany
        return reader.finished(most)
    except NotPlain:
        return None


class _Open:
    """A block collection that is being read."""

    __slots__ = ("due", "indent", "key", "known", "mapping", "parts", "start")

    key: Scalar
    """What the next value belongs to, in a mapping."""

    def __init__(self, indent: int, start: int, mapping: bool, known: dict[str, str]) -> None:
        self.indent, self.start, self.mapping = indent, start, mapping
        self.known = known
        """Ordinary keys that were met at this indent, by what was written before their colon."""
        self.parts: list[Any] = []
        self.due = _NOWHERE
        """Where the value that is still missing is written, if it is empty."""


class _Reader:
    """State of one pass over the lines of a text."""

    def __init__(self, text: str) -> None:
        self._text = text + "\n"
        self._end = self._at = 0
        """End of the last thing read, and where the next line begins."""
        self._marker = _NOWHERE
        """Where `---` stands."""
        self._resume = 0
        """Lines before this have been read already: they are a block text's."""
        self._comments: list[Comment] = []
        self._top = _Open(-1, 0, False, _NOTHING)
        self._top.due = 0
        self._stack: list[_Open] = []
        self._flows: list[Node] = []
        """Collections in brackets whose nodes nobody has counted yet; `_room` is the most they have."""
        self._room = self._nodes = 0
        self._shapes: dict[str, tuple[str, int, bool, bool]] = {}
        self._known: dict[int, dict[str, str]] = {}

    def read(self, lines: list[str]) -> None:
        """Take all lines."""
        # Most lines are a key and a word. Those are read here, without a call where the line before
        # was in the same mapping, by the shortest way to each value.
        at = self._at
        top = self._top
        add, indent, known = top.parts.append, top.indent, _NOTHING
        for line in lines:
            name, sign, value = line.partition(": ")
            key = known.get(name)
            begin = at
            at += len(line) + 1
            if key is None and sign and known is not _NOTHING:
                key = name.lstrip(" ")
                if len(name) - len(key) == indent and key.isidentifier():
                    known[name] = key
                else:
                    key = None
            if key is None or not sign:
                if at <= self._resume or not line:
                    continue
                key = self._begin(line, name, begin)
                top = self._top
                add, indent = top.parts.append, top.indent
                if key is None:
                    known = top.known if top.due < 0 else _NOTHING
                    continue
                known = top.known
            start = begin + indent
            colon = start + len(key)
            left = _node(Scalar)
            left.start = start
            left.end = colon
            left.text = key
            left.style = "plain"
            left.tag = left.anchor = None
            if value.isalnum() or (
                value[:1].isalnum() and value[-1] != " " and ":" not in value and "#" not in value
            ):
                right = _node(Scalar)
                right.start = colon + 2
                right.end = self._end = at - 1
                right.text = value
                right.style = "plain"
                right.tag = right.anchor = None
                add(_new(Entry, (left, right)))
                continue
            node = self._value(value, colon + 2) if value else None
            if node is not None:
                add(_new(Entry, (left, node)))
                continue
            top = self._top
            top.key = left
            top.due = colon + 1
            known = _NOTHING
        self._at = at

    def exceeds(self, most: int) -> bool:
        """Whether more nodes and comments were read so far."""
        rest = len(self._comments) + sum(len(one.parts) << one.mapping for one in (*self._stack, self._top))
        if self._nodes + self._room + rest <= most:
            return False
        self._nodes += sum(map(within, self._flows))
        self._flows, self._room = [], 0
        return self._nodes + rest > most

    def finished(self, most: int) -> Tree:
        """The tree, after the last line."""
        while self._stack:
            self._close()
        if self.exceeds(most):
            raise TooMany
        if not self._top.parts:
            raise NotPlain
        root = self._top.parts[0]
        start = self._marker if self._marker >= 0 else root.span.start
        span = _new(Span, (start, len(self._text) - 1))
        document = Document._make((0, root, span, (), False))
        return Tree._make(((document,), tuple(self._comments), ()))

    def _begin(self, line: str, written: str, at: int) -> str | None:
        """The ordinary key that a line begins with, maybe behind a dash; a line without one is read."""
        bare = len(written) == len(line)
        shape = self._shapes.get(written)
        if shape is None or shape[3] != bare:
            shape = ordinary_key(written, bare)
            if shape is None:
                column = len(line) - len(line.lstrip(" "))
                self._other(line[column:], at + column, column)
                return None
            self._shapes[written] = shape
        key, column, dashed, _ = shape
        at += column
        if dashed:
            self._sequence(column, at).due = at + 1
            self._open(column + 2, at + 2, True)
            return key
        top = self._mapping(column, at)
        if not bare:
            top.known[written] = key
        return key

    def _other(self, body: str, at: int, column: int) -> None:
        """A line that does not begin with an ordinary key."""
        first = body[:1]
        if first == "#":
            self._comments.append(_new(Comment, (_new(Span, (at, at + len(body))), body)))
        elif not first:
            return
        elif first == "-" and body[1:2] in _BLANK:
            self._item(body, at, column)
        elif body == "---" and not column and self._marker < 0 and self._top.due == 0:
            self._marker = at
        else:
            key = quoted(self._text, at, at + len(body)) if first in _QUOTES else plain_key(body, at)
            if key is None:
                raise NotPlain
            self._mapping(column, at)
            self._entry(key, body, at)

    def _entry(self, key: Scalar, body: str, at: int) -> None:
        """The entry of a mapping that begins with a key."""
        colon = key.end
        value = body[colon + 1 - at :]
        if self._text[colon] != ":" or value[:1] not in _BLANK or key.text == MERGE:
            raise NotPlain
        top = self._top
        top.key = key
        top.due = colon + 1
        if value:
            self._put(self._value(value, colon + 1))

    def _item(self, body: str, at: int, column: int) -> None:
        """A dash, maybe another behind it, and what follows."""
        top = self._top
        if top.indent != column or top.mapping or top.due >= 0:
            top = self._sequence(column, at)
        while True:
            top.due = at + 1
            rest = body[1:].lstrip(" ")
            if not rest:
                return
            moved = len(body) - len(rest)
            at += moved
            column += moved
            body = rest
            if body[0] != "-" or body[1:2] not in _BLANK:
                break
            top = self._open(column, at, False)
        end = at + len(body)
        first = body[0]
        key = None
        if first in _QUOTES:
            node = quoted(self._text, at, end)
            if node.end == end:
                self._end = end
                top.due = _NOWHERE
                top.parts.append(node)
                return
            if self._text[node.end] == ":":
                key = node
        elif first not in _OPENING:
            key = plain_key(body, at)
        if key is None:
            self._put(self._value(body, at))
        else:
            self._open(column, at, True)
            self._entry(key, body, at)

    def _mapping(self, indent: int, start: int) -> _Open:
        """The mapping that has a key at this indent: what is open deeper ends before it."""
        while indent < self._top.indent:
            self._close()
        top = self._top
        if indent > top.indent:
            if top.due < 0:
                raise NotPlain
            return self._open(indent, start, True)
        if not top.mapping:
            # A sequence at the column of the key that it belongs to.
            self._close()
            top = self._top
            if top.indent != indent:
                raise NotPlain
        elif top.due >= 0:
            self._fill()
        return top

    def _sequence(self, indent: int, start: int) -> _Open:
        """The sequence that has a dash at this indent."""
        while indent < self._top.indent:
            self._close()
        top = self._top
        if indent == top.indent and not top.mapping:
            if top.due >= 0:
                self._fill()
            return top
        if top.due < 0:
            raise NotPlain
        return self._open(indent, start, False)

    def _value(self, value: str, at: int) -> Node | None:
        """What is written behind a key or a dash, if anything is."""
        body = value.lstrip(" ")
        if not body:
            return None
        at += len(value) - len(body)
        first = body[0]
        end = at + len(body)
        node: Node
        if first in _QUOTES:
            node = quoted(self._text, at, end)
            self._rest(body, at, node.end)
        elif first in _OPENING:
            node = flow(self._text, at, end)
            stop = node.span[1]
            self._room += stop - at  # no node is written in less
            self._flows.append(node)
            self._rest(body, at, stop)
        elif first == "#":
            self._comment(body, at)
            return None
        elif body in HEADERS:
            node, self._resume = block_text(self._text, at, end, self._top.indent)
            self._end = node.end
        else:
            node = self._word(body, at)
        return node

    def _word(self, body: str, at: int) -> Scalar:
        """A plain scalar, maybe with a comment."""
        remark = body.find(" #")
        if remark >= 0:
            self._comment(body[remark + 1 :], at + remark + 1)
            body = body[:remark]
        word = body.rstrip(" ")
        first = word[0]
        if first in INDICATORS and (first != "-" or word[1:2] in _BLANK):
            raise NotPlain
        if ": " in word or word[-1] == ":":
            raise NotPlain
        self._end = at + len(word)
        return scalar(at, self._end, word)

    def _rest(self, body: str, at: int, end: int) -> None:
        """A value ends at `end`; behind it in its line may only be a comment."""
        self._end = end
        rest = body[end - at :]
        if rest:
            remark = rest.lstrip(" ")
            if remark:
                if remark[0] != "#" or rest[0] != " ":
                    raise NotPlain
                self._comment(remark, end + len(rest) - len(remark))

    def _comment(self, remark: str, at: int) -> None:
        self._comments.append(_new(Comment, (_new(Span, (at, at + len(remark))), remark)))

    def _open(self, indent: int, start: int, mapping: bool) -> _Open:
        if len(self._stack) > _MAX_DEPTH:
            raise NotPlain
        self._stack.append(self._top)
        known = self._known.setdefault(indent, {}) if mapping else _NOTHING
        self._top = top = _Open(indent, start, mapping, known)
        return top

    def _put(self, node: Node | None) -> None:
        """Give the innermost collection the value that it waits for."""
        if node is None:
            return
        top = self._top
        top.parts.append(_new(Entry, (top.key, node)) if top.mapping else node)
        top.due = _NOWHERE

    def _fill(self) -> None:
        """Nothing is written where a value could be."""
        self._end = due = self._top.due
        self._put(scalar(due, due, ""))

    def _close(self) -> None:
        """End the innermost collection."""
        done = self._top
        if done.due >= 0:
            self._fill()
        self._top = top = self._stack.pop()
        parts = tuple(done.parts)
        span = _new(Span, (done.start, self._end))
        self._nodes += len(parts)
        node: Mapping | Sequence
        if done.mapping:
            if len({entry[0].text for entry in parts}) != len(parts):
                raise NotPlain
            self._nodes += len(parts)
            node = Mapping(span, parts, False, None, None)
            node.plain = True
        else:
            node = Sequence(span, parts, False, None, None)
        top.parts.append(_new(Entry, (top.key, node)) if top.mapping else node)
        top.due = _NOWHERE
