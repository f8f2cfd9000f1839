"""One source file: its bytes decoded once, and offsets turned into the units people and tools use.

Inside DSec a place is a pair of offsets in code points of `SourceText.text`; lines, columns,
UTF-16 columns and byte offsets are derived here, once, when something is shown.
"""

from __future__ import annotations

from bisect import bisect_right

from dsec.record import Record

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


class SourceText:
    """A named text. `text` has no byte order mark; what could not be decoded reads U+FFFD.

    Lines end at LF, CR LF and CR only: that is where editors and code hosts break them,
    so U+0085, U+2028 and U+2029 do not count.
    """

    __slots__ = ("_raw", "_skipped", "_starts", "data", "encoding", "name", "text", "undecodable")

    def __init__(self, name: str, data: bytes) -> None:
        self.name = name
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

    @classmethod
    def from_bytes(cls, name: str, data: bytes) -> SourceText:
        """Take `data` as the content of the file called `name`."""
        return cls(name, data)

    @property
    def line_count(self) -> int:
        """Number of lines; a text that ends with a line end has an empty last line."""
        return len(self._lines())

    def position(self, offset: int) -> Position:
        """Line and column of `offset`; an offset past the end counts as the end."""
        starts = self._lines()
        offset = min(max(offset, 0), len(self.text))
        line = bisect_right(starts, offset)
        return Position(line, offset - starts[line - 1] + 1)

    def utf16_column(self, offset: int) -> int:
        """Column of `offset` in UTF-16 code units, from 1 (what SARIF and editors count)."""
        line, column = self.position(offset)
        start = self._lines()[line - 1]
        return len(self.text[start : start + column - 1].encode("utf-16-le", "surrogatepass")) // 2 + 1

    def byte_offset(self, offset: int) -> int:
        """Offset of the same place in `data`; what is before the text is the byte order mark."""
        if offset < 0:
            return 0
        before = self._raw[: max(offset, 0)]
        return self._skipped + len(before.encode(self.encoding, _ERRORS[self.encoding]))

    def line_start(self, line: int) -> int:
        """Offset of the first code point of line `line` (from 1)."""
        return self._lines()[line - 1]

    def line_text(self, line: int) -> str:
        """Line `line` (from 1) without its line end; lines that do not exist are empty."""
        starts = self._lines()
        if not 1 <= line <= len(starts):
            return ""
        end = starts[line] if line < len(starts) else len(self.text)
        return self.text[starts[line - 1] : end].rstrip("\r\n")

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
    start = next((index for index, char in enumerate(raw) if _is_surrogate(char)), len(raw))
    end = start
    while end < len(raw) and _is_surrogate(raw[end]):
        end += 1
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


def _is_surrogate(char: str) -> bool:
    return "\ud800" <= char <= "\udfff"


def _readable(raw: str) -> str:
    return "".join("\ufffd" if _is_surrogate(char) else char for char in raw)


def _line_starts(text: str) -> list[int]:
    if "\r" in text:
        text = text.replace("\r\n", " \n").replace("\r", "\n")
    starts = [0]
    at = 0
    for line in text.split("\n"):
        at += len(line) + 1
        starts.append(at)
    starts.pop()
    return starts
