"""One source file: its bytes decoded once, and offsets turned into the units people and tools use.

Inside DSec a place is a pair of offsets in code points of `SourceText.text`; lines, columns,
UTF-16 columns and byte offsets are derived here, once, when something is shown.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate

from dsec.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dsec_cli.source.sizes import Sizes

MAX_NODES = 250_000
"""A contract of 100,000 lines has 190,000 nodes; of so many a lint takes two seconds."""
BYTES, LINES = 32, 2
"""A text may have so many for each of its nodes."""
_MARKS = (
    (b"\xef\xbb\xbf", "utf-8"),
    (b"\xff\xfe\x00\x00", "utf-32-le"),
    (b"\x00\x00\xfe\xff", "utf-32-be"),
    (b"\xff\xfe", "utf-16-le"),
    (b"\xfe\xff", "utf-16-be"),
)
"""Byte order marks; UTF-32 stands before UTF-16 because their first bytes are the same."""


class Span(Record):
    """Half-open range of code points in a text."""

    start: int
    end: int


class Position(Record):
    """Where an offset is: both numbers count from 1, the column counts code points."""

    line: int
    column: int


_LONG, _NEAR = 1 << 20, 4096
"""Characters: of a longer text the lines of places so near to its beginning are counted alone."""


class SourceText:
    """A named text. `text` has no byte order mark; what could not be decoded reads U+FFFD.

    Lines end at LF, CR LF and CR only: that is where editors and code hosts break them,
    so U+0085, U+2028 and U+2029 do not count.
    """

    __slots__ = (
        "_ascii",
        "_measured",
        "_raw",
        "_skipped",
        "_starts",
        "data",
        "encoding",
        "most_nodes",
        "name",
        "text",
        "undecodable",
    )

    def __init__(self, name: str, data: bytes, most_nodes: int = MAX_NODES) -> None:
        self.name = name
        self.most_nodes = most_nodes
        """Values, collections and comments that are read of it."""
        self.data = data
        self.encoding, mark = _encoding(data)
        raw, self.undecodable = _decode(data[mark:], self.encoding)
        # A second mark is no content either, and the parser would count it as a column.
        marks = len(raw) - len(raw.lstrip("\ufeff"))
        if marks and self.undecodable is not None:
            (start, end), reason = self.undecodable
            self.undecodable = Span(start - marks, end - marks), reason
        self._skipped = mark + marks * len("\ufeff".encode(self.encoding))
        self._raw = raw[marks:]
        """Like `text`, but each undecodable unit is a lone surrogate, so that it can be encoded again."""
        self.text = self._raw if self.undecodable is None else _readable(self._raw)
        self._starts: list[int] | None = None
        self._ascii = len(self._raw) if self._raw.isascii() else 0
        """Length of a text of nothing but ASCII, else 0."""
        self._measured: dict[str, Sizes] = {}

    @classmethod
    def from_bytes(cls, name: str, data: bytes) -> SourceText:
        """Take `data` as the content of the file called `name`."""
        return cls(name, data)

    def changed(self, data: bytes) -> SourceText:
        """The file with another content."""
        return SourceText(self.name, data, self.most_nodes)

    @property
    def line_count(self) -> int:
        """Number of lines; a text that ends with a line end has an empty last line."""
        return len(self._lines())

    def position(self, offset: int) -> Position:
        """Line and column of `offset`; an offset past the end counts as the end."""
        if offset <= 0:
            return Position(1, 1)
        offset = min(offset, len(self.text))
        # A text of millions of lines is mostly not read, and what is said of it is at its beginning.
        near = self._starts is None and offset < _NEAR and len(self.text) > _LONG
        starts = _line_starts(self.text[: offset + 1]) if near else self._lines()
        line = bisect_right(starts, offset)
        return Position(line, offset - starts[line - 1] + 1)

    def line_starts(self) -> Sequence[int]:
        """The offset of each line, for who asks for the positions of many offsets."""
        return self._lines()

    def utf16_column(self, offset: int) -> int:
        """Column of `offset` in UTF-16 code units, from 1 (what SARIF and editors count)."""
        return self._column(offset, "utf-16-le", 2)

    def utf8_column(self, offset: int) -> int:
        """Column of `offset` in bytes of UTF-8, from 1."""
        return self._column(offset, "utf-8", 1)

    def byte_offset(self, offset: int) -> int:
        """Offset of the same place in `data`; what is before the text is the byte order mark."""
        if offset < 0:
            return 0
        if self._ascii and self.encoding == "utf-8":
            return self._skipped + min(offset, self._ascii)
        return self._skipped + self._sizes(self._raw, self.encoding).before(offset)

    def line_start(self, line: int) -> int:
        """Offset of the first code point of line `line` (from 1)."""
        return self._lines()[line - 1] if line > 1 else 0

    def line_span(self, line: int) -> Span:
        """Range of line `line` (from 1) without its line end; lines that do not exist are empty."""
        if line == 1:
            # The one line of most that is asked for of a text with millions of them.
            return Span(0, _first_line_end(self.text))
        starts = self._lines()
        if not 1 <= line <= len(starts):
            return Span(len(self.text), len(self.text))
        start, end = starts[line - 1], starts[line] if line < len(starts) else len(self.text)
        while end > start and self.text[end - 1] in "\r\n":
            end -= 1
        return Span(start, end)

    def line_text(self, line: int) -> str:
        """Line `line` (from 1) without its line end; lines that do not exist are empty."""
        start, end = self.line_span(line)
        return self.text[start:end]

    def _column(self, offset: int, encoding: str, unit: int) -> int:
        """Column of `offset` in units of so many bytes, from 1."""
        line, column = self.position(offset)
        if self._ascii:
            return column
        sizes = self._sizes(self.text, encoding)
        start = self.line_start(line)
        return (sizes.before(start + column - 1) - sizes.before(start)) // unit + 1

    def _sizes(self, text: str, encoding: str) -> Sizes:
        """Measured once for each encoding, in pieces: there may be a place in each word of a long line."""
        key = f"{encoding} of text" if text is self.text else encoding
        if key not in self._measured:
            from dsec_cli.source.sizes import Sizes  # places beyond ASCII only pay for it

            self._measured[key] = Sizes(text, encoding, _ERRORS[encoding])
        return self._measured[key]

    def _lines(self) -> list[int]:
        if self._starts is None:
            self._starts = _line_starts(self.text)
        return self._starts


_ERRORS = {
    "utf-8": "surrogateescape",
    "utf-16-le": "surrogatepass",
    "utf-16-be": "surrogatepass",
    "utf-32-le": "surrogatepass",
    "utf-32-be": "surrogatepass",
}


def _encoding(data: bytes) -> tuple[str, int]:
    for mark, encoding in _MARKS:
        if data.startswith(mark) and (len(mark) < 4 or len(data) % 4 == 0):
            return encoding, len(mark)
    return "utf-8", 0


def _decode(data: bytes, encoding: str) -> tuple[str, tuple[Span, str] | None]:
    """Text and, where some of it was not decodable, the first such place with the reason."""
    try:
        return data.decode(encoding), None
    except UnicodeDecodeError as error:
        reason = error.reason
    narrow = encoding == "utf-8"
    raw = data.decode(encoding, "surrogateescape") if narrow else _decode_wide(data, encoding)
    import re  # costs start-up, and is many times quicker on megabytes that are no text

    found = re.search("[\ud800-\udfff]+", raw)
    start, end = found.span() if found else (len(raw), len(raw))
    return raw, (Span(start, end), reason)


def _decode_wide(data: bytes, encoding: str) -> str:
    """UTF-16 or UTF-32 with faults: lone surrogates stay, a code unit cut short is dropped."""
    width = 2 if encoding.startswith("utf-16") else 4
    whole = data[: len(data) - len(data) % width]
    try:
        return whole.decode(encoding, "surrogatepass")
    except UnicodeDecodeError:
        # Above U+10FFFF (UTF-32 only) there is nothing to keep but the count.
        return "".join(_unit(whole[at : at + width], encoding) for at in range(0, len(whole), width))


def _unit(unit: bytes, encoding: str) -> str:
    try:
        return unit.decode(encoding, "surrogatepass")
    except UnicodeDecodeError:
        return "\udfff"


def _readable(raw: str) -> str:
    import re  # as in `_decode`

    return re.sub("[\ud800-\udfff]", "\ufffd", raw)


def _first_line_end(text: str) -> int:
    newline = text.find("\n")
    newline = len(text) if newline < 0 else newline
    carriage = text.find("\r", 0, newline)
    return newline if carriage < 0 else carriage


def _line_starts(text: str) -> list[int]:
    if "\r" in text:
        text = text.replace("\r\n", " \n").replace("\r", "\n")
    lines = text.split("\n")
    lines.pop()
    return [before + feeds for feeds, before in enumerate(accumulate(map(len, lines), initial=0))]
