"""A wheel's METADATA, of which only the pieces are read that hold it."""

from __future__ import annotations

import io
import zipfile
import zlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    Get = Callable[[int, int], bytes]
    """Bytes of the wheel from a place to before another."""

_BLOCK = 1 << 16
_SUFFIX = ".dist-info/METADATA"


class Pieces(io.RawIOBase):
    """A file that is somewhere else, fetched by blocks as it is read."""

    def __init__(self, size: int, tail: bytes, get: Get) -> None:
        self._size, self._get, self._at = size, get, 0
        self._held = {(size - len(tail)): tail}
        """Pieces by where they begin."""

    def seekable(self) -> bool:
        """It is."""
        return True

    def readable(self) -> bool:
        """It is."""
        return True

    def tell(self) -> int:
        """Where it is read next."""
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        """Read elsewhere next."""
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        self._at = max(0, base + offset)
        return self._at

    def read(self, size: int = -1, /) -> bytes:
        """The next bytes; fewer at the end."""
        end = self._size if size < 0 else min(self._size, self._at + size)
        found = self._piece(self._at, end) if end > self._at else b""
        self._at += len(found)
        return found

    def _piece(self, start: int, end: int) -> bytes:
        for at, data in self._held.items():
            if at <= start and end <= at + len(data):
                return data[start - at : end - at]
        upto = min(self._size, max(end, start + _BLOCK))
        data = self._held[start] = self._get(start, upto)
        return data[: end - start]


def metadata_of(size: int, tail: bytes, get: Get, *, most: int) -> bytes:
    """The METADATA of a wheel of `size` bytes that ends with `tail`; b"": it holds none that can be read.

    What `get` raises goes through.
    """
    try:
        with zipfile.ZipFile(Pieces(size, tail, get)) as wheel:
            names = [one for one in wheel.infolist() if one.filename.endswith(_SUFFIX)]
            if len(names) != 1 or names[0].filename.count("/") != 1 or names[0].file_size > most:
                return b""
            return wheel.read(names[0])
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, ValueError):
        return b""
