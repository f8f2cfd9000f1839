"""Looking ids up in a sorted table that is not loaded: a pack's own, or that of the index."""

from __future__ import annotations

from dsec.record import Record
from dsec.store.packform import OBJECT

TYPE_CHECKING = False
if TYPE_CHECKING:
    import mmap

WIDTH = OBJECT.size
_ID = 32
_NEXT, _NEAR = 6, 48
"""Rows on either side of a guess that are searched as bytes: where most are, and where the others are."""


class Segment(Record):
    """Rows of OBJECT, ascending by id, somewhere in a buffer."""

    buffer: bytes | mmap.mmap
    start: int
    size: int
    """Number of rows."""

    def find(self, wanted: bytes) -> int:
        """Number of the row with that id, or -1.

        Ids are evenly spread, so that two guesses come close; what is near is searched as bytes.
        """
        buffer, start, size = self
        if not size:
            return -1
        high = int.from_bytes(wanted[:6], "big")
        guess = high * size >> 48
        at = start + guess * WIDTH
        guess += (high - int.from_bytes(buffer[at : at + 6], "big")) * size >> 48
        if _NEAR < guess < size - _NEAR:
            at = start + guess * WIDTH
            row, off = divmod(buffer.find(wanted, at - _NEXT * WIDTH, at + _NEXT * WIDTH) - start, WIDTH)
            if not off and row >= 0:
                return row
        guess = min(size - 1, max(0, guess))
        low, top = max(0, guess - _NEAR), min(size, guess + _NEAR)
        if self._id(low) <= wanted <= self._id(top - 1):
            return self._within(wanted, low, top)
        return self._by_halves(wanted)

    def _within(self, wanted: bytes, low: int, top: int) -> int:
        at, end = self.start + low * WIDTH, self.start + top * WIDTH
        while (at := self.buffer.find(wanted, at, end)) >= 0:
            row, off = divmod(at - self.start, WIDTH)
            if not off:
                return row
            at += 1
        return -1

    def _by_halves(self, wanted: bytes) -> int:
        low, top = 0, self.size
        while low < top:
            middle = (low + top) // 2
            if self._id(middle) < wanted:
                low = middle + 1
            else:
                top = middle
        return low if low < self.size and self._id(low) == wanted else -1

    def _id(self, row: int) -> bytes:
        at = self.start + row * WIDTH
        return self.buffer[at : at + _ID]

    def row(self, number: int) -> tuple[bytes, int, int, int, int]:
        """Id, frame, offset, length, and the last column: a kind, or the number of a pack."""
        found: tuple[bytes, int, int, int, int] = OBJECT.unpack_from(self.buffer, self.start + number * WIDTH)
        return found

    def rows(self) -> bytes:
        """All rows, as bytes."""
        return self.buffer[self.start : self.start + self.size * WIDTH]
