"""Packing a journal: the same records in a tenth of the space, put in the old one's place as a whole.

Groups of records become one whose payload holds them compressed: `{"packed":BASE64,"records":N}`.
The first record (the header) stays as it is, and so do all payloads: whoever reads a packed journal
gets the very records that were written. Nothing is dropped, for a report needs each attempt.
A process that dies while packing leaves the old journal and a file `journal.packing`, which the next
one overwrites.
"""

from __future__ import annotations

import contextlib
import fcntl
import mmap
import os
import zlib
from binascii import a2b_base64, b2a_base64

from dsec.errors import DSecError, StoredFormError
from dsec.journal import PACKED, record, walk
from dsec.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_GROUP_BYTES = 4 << 20
"""Payloads of so many bytes go into one packed record."""
_MOST_BYTES = 64 << 20
"""A group and its last record are far shorter."""
_END = b'","records":'


def unpacked(payload: bytes) -> Iterator[str]:
    """The payloads that a packed one holds; raises StoredFormError where it does not hold what it says."""
    begin = len(PACKED) + 1
    end = payload.find(_END, begin)
    try:
        inflating = zlib.decompressobj()
        inside = inflating.decompress(a2b_base64(payload[begin:end]), _MOST_BYTES)
        if not inflating.eof:
            raise ValueError(f"they do not end within {_MOST_BYTES >> 20} MiB")
        lines = inside.decode("utf-8", "surrogatepass").split("\n")
        if len(lines) != int(payload[end + len(_END) : -1]):
            raise ValueError("another number of records")
    except (ValueError, zlib.error) as problem:
        raise StoredFormError(say("packed records cannot be read: {problem}", problem=problem)) from None
    yield from lines


def packed(payloads: list[bytes]) -> str:
    """These payloads as the payload of one record."""
    inside = b2a_base64(zlib.compress(b"\n".join(payloads), 1), newline=False).decode()
    return f'{PACKED.decode()}"{inside}","records":{len(payloads)}}}'


class _Writer:
    """Writes records to a file, packed in groups but for the first."""

    def __init__(self, handle: int) -> None:
        self._handle = handle
        self._group: list[bytes] = []
        self._bytes = 0
        self.length = 0

    def take(self, payload: str) -> None:
        if not self.length:
            self._write(payload)
            return
        data = payload.encode("utf-8", "surrogatepass")
        self._group.append(data)
        self._bytes += len(data)
        if self._bytes >= _GROUP_BYTES:
            self.end()

    def end(self) -> None:
        """Write the group that was begun."""
        if self._group:
            self._write(packed(self._group))
            self._group, self._bytes = [], 0

    def _write(self, payload: str) -> None:
        line = memoryview(record(payload))
        self.length += len(line)
        while line:
            line = line[os.write(self._handle, line) :]


def pack(path: str) -> tuple[int, int] | None:
    """Put a packed journal in the place of the one at `path`, which the caller has locked.

    Gives the new one's descriptor, locked and at its end, and its length; None: it stays as it was.
    """
    aside = f"{path}.packing"
    try:
        handle = os.open(aside, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_CLOEXEC, 0o644)
    except OSError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        length = _copy(path, handle)
        os.fsync(handle)
        os.replace(aside, path)
        _sync_folder(os.path.dirname(os.path.abspath(path)))
    except (OSError, DSecError):  # a full disk, for one; the journal at `path` is untouched
        os.close(handle)
        with contextlib.suppress(OSError):
            os.unlink(aside)
        return None
    return handle, length


def _copy(path: str, handle: int) -> int:
    writer = _Writer(handle)
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        walk(data, writer.take, name=path)  # type: ignore[arg-type]  # read as bytes are
    writer.end()
    return writer.length


def _sync_folder(folder: str) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
