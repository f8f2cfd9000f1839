"""What is being written at the cursor, read from lines and indentation alone.

While somebody types the text is rarely whole YAML, so no tree is asked: keys above with less
indentation are the sections around the cursor.
"""

from __future__ import annotations

from dsec.record import Record
from dsec_cli.source.text import SourceText

FURTHEST = 5_000
"""Lines that are looked at upwards; a section that began earlier is not recognised."""


class Cursor(Record):
    """The place of the cursor in the language.

    `keys` lead to the mapping or list around it, None for an item of a list; in a value the last
    one is the key that takes it.
    """

    keys: tuple[str | None, ...]
    value: bool
    """Whether a value is being written, not a key."""
    word: str
    """What stands between the start of the key or value and the cursor."""
    present: frozenset[str]
    """Keys that the mapping has already."""
    bare: bool
    """The line holds nothing else: a key needs its colon."""


class _Line(Record):
    """The marks of one line: `- ` items by column, then a key with its column."""

    items: tuple[int, ...]
    column: int
    key: str | None
    rest: str
    """What follows the colon, or the whole content where there is no key."""


def at(text: SourceText, offset: int) -> Cursor | None:
    """The cursor's place; None inside a comment, a quoted text or a block of text."""
    line = text.position(offset).line
    start = text.line_start(line)
    before = text.text[start:offset]
    if _in_comment(before):
        return None
    lines = [text.line_text(number) for number in range(max(1, line - FURTHEST), line)]
    behind = text.line_text(line)[len(before) :]
    flow = _flow(before)
    own = _marks(before if flow is None else before[:flow])
    column, keys = own.column, _parents(lines, own)
    if keys is None:
        return None
    if flow is not None:
        return _in_flow(before, flow, keys if own.key is None else (*keys, own.key))
    if own.key is not None:
        word = own.rest.lstrip()
        return (
            None
            if word[:1] in ("'", '"', "|", ">")
            else Cursor((*keys, own.key), True, word, frozenset(), False)
        )
    item = bool(own.items)
    present = _beside(text, line, column)
    return Cursor(keys, False, own.rest, present, not behind.strip() or item)


def _marks(line: str) -> _Line:
    content = line.lstrip(" ")
    column = len(line) - len(content)
    items: list[int] = []
    while content[:2] == "- " or content == "-":
        items.append(column)
        rest = content[1:].lstrip(" ")
        column += len(content) - len(rest)
        content = rest
    key, colon, rest = content.partition(":")
    if colon and (not rest or rest[0] == " ") and key and key[0] not in "#{['\"&*!|>%@`":
        return _Line(tuple(items), column, key.strip(), rest)
    return _Line(tuple(items), column, None, content)


def _parents(lines: list[str], own: _Line) -> tuple[str | None, ...] | None:
    """Keys and items around a line; None inside a block of text."""
    climb = _Climb(own)
    for line in reversed(lines):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if line.startswith(("---", "...")) or climb.top():
            break
        if not climb.pass_(_marks(line)):
            return None
    return tuple(reversed(climb.keys))


class _Climb:
    """The way up from a line to the root, by columns."""

    def __init__(self, own: _Line) -> None:
        self.keys: list[str | None] = []
        self.limit = own.column
        self.item = False
        """Whether the last step up was to an item: its key may stand at the same column."""
        self._items(own)

    def top(self) -> bool:
        return self.limit == 0 and not self.item

    def pass_(self, marks: _Line) -> bool:
        """Take in the next line above; False when it opens a block of text around the cursor."""
        if marks.key is not None and (
            marks.column < self.limit or (self.item and marks.column == self.limit)
        ):
            opened = marks.rest.split(" #")[0].strip()
            if opened[:1] in ("|", ">"):
                return False
            if not opened or opened[0] in "&!":
                self.keys.append(marks.key)
                self.limit, self.item = marks.column, False
        self._items(marks)
        return True

    def _items(self, marks: _Line) -> None:
        for column in reversed(marks.items):
            if column < self.limit:
                self.keys.append(None)
                self.limit, self.item = column, True


def _beside(text: SourceText, line: int, column: int) -> frozenset[str]:
    """Keys at `column` in the lines around, as far as the mapping reaches."""
    found: set[str] = set()
    for way in (-1, 1):
        number = line + way
        while 1 <= number <= text.line_count and abs(number - line) < FURTHEST:
            content = text.line_text(number)
            number += way
            if not content.strip() or content.lstrip().startswith("#"):
                continue
            marks = _marks(content)
            if marks.column < column or (way > 0 and marks.items and marks.items[0] < column):
                break
            if marks.column == column and marks.key is not None:
                found.add(marks.key)
            if marks.items and marks.items[0] < column:
                break
    return frozenset(found)


def _in_comment(before: str) -> bool:
    quote = ""
    for at_, char in enumerate(before):
        if quote:
            quote = "" if char == quote else quote
        elif char in "'\"" and (at_ == 0 or before[at_ - 1] in " {[,:"):
            quote = char
        elif char == "#" and (at_ == 0 or before[at_ - 1] == " "):
            return True
    return False


def _flow(before: str) -> int | None:
    """Where the outermost bracket that is still open begins."""
    open_: list[int] = []
    for at_, char in enumerate(before):
        if char in "{[":
            open_.append(at_)
        elif char in "}]" and open_:
            open_.pop()
    return open_[0] if open_ else None


class _Open:
    """A bracket that is not closed yet: its kind, the keys seen in it, and how long the path was before."""

    def __init__(self, char: str, depth: int) -> None:
        self.char = char
        self.depth = depth
        self.present: set[str] = set()


def _in_flow(before: str, start: int, keys: tuple[str | None, ...]) -> Cursor:
    """The place inside `{...` or `[...` that is open at the cursor."""
    path = list(keys)
    stack: list[_Open] = []
    word, key = "", None
    for char in before[start:]:
        if char in "{[":
            stack.append(_Open(char, len(path)))
            path += [key] if key is not None else []
            path += [None] if char == "[" else []
            word, key = "", None
        elif char in "}]" and stack:
            del path[stack.pop().depth :]
            word, key = "", None
        elif char == ",":
            word, key = "", None
        elif char == ":" and stack[-1].char == "{" and key is None:
            word, key = "", word.strip()
            stack[-1].present.add(key)
        else:
            word += char
    here = stack[-1]
    if key is not None:
        return Cursor((*path, key), True, word.lstrip(), frozenset(), False)
    return Cursor(tuple(path), here.char == "[", word.lstrip(), frozenset(here.present), True)
