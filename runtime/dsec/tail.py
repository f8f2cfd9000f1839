"""Reads a journal as it grows: each look reads only the bytes that are new."""

from __future__ import annotations

import os

from dsec.events import decode
from dsec.journal import read, read_header

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec.events import Event
    from dsec.journal import Header

_PIECE = 1 << 22
"""Bytes taken at a time, so that a long journal is never held whole."""


class Tail:
    """A place in a journal; what is not whole yet is read the next time."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._at = 0
        self._inode = -1
        self.header: Header | None = None
        self.anew = 0
        """How often the journal was another one, or shorter than before; then it is read from its start."""
        self.unread = 0
        """Bytes that were there at the last look and that a limit left for the next one."""

    @property
    def read(self) -> int:
        """Bytes taken so far."""
        return self._at

    def events(self, most_bytes: int | None = None) -> list[Event] | None:
        """What was added since the last look; None: the journal is another one, so begin again.

        `most_bytes`: leave it at about so many; what is then left is said by `unread`.

        Raises OSError where it cannot be read and StoredFormError where it is damaged.
        """
        found = self.payloads(most_bytes)
        return None if found is None else list(map(decode, found))

    def payloads(self, most_bytes: int | None = None) -> list[str] | None:
        """The same, each event as it is written."""
        with open(self._path, "rb", buffering=0) as file:
            status = os.fstat(file.fileno())
            if self._inode not in (-1, status.st_ino) or status.st_size < self._at:
                self._inode, self._at, self.header = -1, 0, None
                self.anew += 1
                return None
            self._inode = status.st_ino
            found: list[str] = []
            last = status.st_size if most_bytes is None else min(status.st_size, self._at + most_bytes)
            self.unread = 0
            while self._at < last:
                file.seek(self._at)
                data = file.read(_PIECE)
                if b"\n" not in data:
                    data += file.read(status.st_size - self._at - len(data))
                if not self._take(data, found, more=self._at + len(data) < status.st_size):
                    return found
            self.unread = status.st_size - self._at
            return found

    def _take(self, data: bytes, found: list[str], *, more: bool) -> bool:
        """Read a piece; whether there is anything to be read behind it."""
        if more:  # a piece ends where it ends, which is no damage
            data = data[: data.rfind(b"\n") + 1]
        recorded = read(data, name=self._path)
        payloads = recorded.payloads
        if payloads and self.header is None:
            self.header = read_header(payloads[:1], name=self._path)
            payloads = payloads[1:]
        found += payloads
        self._at += recorded.good_bytes
        return more and recorded.good_bytes > 0
