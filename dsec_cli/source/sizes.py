"""Sizes of a text's beginnings in another encoding, without encoding them again and again."""

from __future__ import annotations

_PIECE = 1024


class Sizes:
    """How many bytes the code points before an offset take; pieces are measured once."""

    __slots__ = ("_encoding", "_errors", "_sums", "_text")

    def __init__(self, text: str, encoding: str, errors: str) -> None:
        self._text = text
        self._encoding = encoding
        self._errors = errors
        self._sums = [0]
        for at in range(0, len(text), _PIECE):
            self._sums.append(self._sums[-1] + self._size(at, at + _PIECE))

    def before(self, offset: int) -> int:
        """Bytes in front of `offset`; one past the end counts as the end."""
        piece = min(offset, len(self._text)) // _PIECE
        return self._sums[piece] + self._size(piece * _PIECE, offset)

    def _size(self, start: int, end: int) -> int:
        return len(self._text[start:end].encode(self._encoding, self._errors))
