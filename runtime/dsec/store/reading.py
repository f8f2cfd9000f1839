"""Reading files that others may be writing: what was read is what was there, or it is said that it is not."""

from __future__ import annotations

import mmap
import os
import stat

from dsec.hashing import blake3_of
from dsec.record import Record
from dsec.store.facts import facts_of
from dsec.store.packform import BLOB, LIST
from dsec.store.pieces import HOLE, PIECE_BYTES, encoded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Protocol

    Facts = tuple[int, int, int, int, int]
else:
    Protocol = object

TRIES = 3
_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY
_ZEROS = bytes(PIECE_BYTES)


class Objects(Protocol):
    """Where objects are put."""

    def id_of(self, data: bytes | memoryview) -> bytes:
        """The id that these bytes have."""

    def __contains__(self, name: bytes) -> bool:
        """Whether an object is kept."""

    def put(self, data: bytes | memoryview, kind: int) -> bytes:
        """Keep bytes, which may be overwritten afterwards; their id, 32 bytes."""

    def put_piece(self, data: bytes) -> bytes:
        """The same for a piece of a large file."""


class NotAFileError(Exception):
    """What is there is no file any more, or never was; caught where files are taken in."""


class ChangedError(Exception):
    """A file is not as it was seen; caught where files are taken in."""


class Content(Record):
    """A file that was read and kept."""

    id: bytes
    size: int
    pieces: bytes
    """Id of the list of its pieces, or nothing."""
    facts: Facts
    steady: bool
    """Whether it did not change meanwhile."""


class Reading:
    """Reads one file after the other into the same memory, and keeps them."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        # Memory that the system clears page by page when it is used: most files use little of it.
        self._view = memoryview(mmap.mmap(-1, PIECE_BYTES + 1, flags=mmap.MAP_PRIVATE))
        self._into = (self._view,)

    def file(self, name: bytes, facts: Facts, *, folder: int, exact: bool = False) -> Content:
        """Read and keep a file of an open folder that looked like this; raises OSError and NotAFileError.

        One that changes while it is read is read again, a few times; then what was read last is kept. If it
        is to be `exact`, one that does not look like this any more is not: raises ChangedError.
        """
        content = self._once(name, facts, folder, exact=exact)
        if exact and (content.facts != facts or not content.steady):
            raise ChangedError
        if not content.steady:
            for _ in range(TRIES - 1):
                content = self._once(name, content.facts, folder)
                if content.steady:
                    break
        return content

    def _once(self, name: bytes, facts: Facts, folder: int, *, exact: bool = False) -> Content:
        fd = os.open(name, _FLAGS, dir_fd=folder)
        try:
            size = facts[0]
            if size <= PIECE_BYTES and stat.S_ISREG(facts[4]):
                length = os.readv(fd, self._into)
                after = os.fstat(fd)
                if length == size and facts_of(after) == facts and not _seems_sparse(after):
                    one = self._objects.put(self._view[:length], BLOB)
                    return Content._make((one, size, b"", facts, True))
            if exact and facts_of(os.fstat(fd)) != facts:
                raise ChangedError
            return _read_large(fd, self._objects)
        finally:
            os.close(fd)


def _seems_sparse(state: os.stat_result) -> bool:
    return state.st_blocks * 512 + 4096 <= state.st_size


def _has_holes(fd: int, state: os.stat_result) -> bool:
    """Whether it is sparse indeed: file systems that compress also use fewer blocks."""
    return _seems_sparse(state) and _seek(fd, 0, os.SEEK_HOLE, state.st_size) < state.st_size


def _read_large(fd: int, objects: Objects) -> Content:
    """From the beginning, whatever its size: what the file is now is asked of the open file."""
    before = os.fstat(fd)
    if not stat.S_ISREG(before.st_mode):
        raise NotAFileError
    holes = _has_holes(fd, before)
    os.lseek(fd, 0, os.SEEK_SET)
    if before.st_size <= PIECE_BYTES and not holes:
        name, size, pieces = _whole(fd, objects)
    else:
        name, size, pieces = _in_pieces(_runs(fd, before.st_size) if holes else _all(fd), objects)
    after = facts_of(os.fstat(fd))
    return Content(name, size, pieces, after, steady=after == facts_of(before))


def _whole(fd: int, objects: Objects) -> tuple[bytes, int, bytes]:
    """A file that says it is small; one of /proc may say so and go on."""
    data = b""
    while len(data) <= PIECE_BYTES and (part := os.read(fd, PIECE_BYTES)):
        data += part
    if len(data) > PIECE_BYTES:
        os.lseek(fd, 0, os.SEEK_SET)
        return _in_pieces(_all(fd), objects)
    return objects.put(data, BLOB), len(data), b""


def _all(fd: int) -> Iterator[tuple[int, bytes]]:
    """Pieces of a file, as (length, data)."""
    while piece := _full(fd, PIECE_BYTES):
        yield len(piece), piece


def _full(fd: int, want: int) -> bytes:
    """So many bytes, or as many as there are."""
    data = os.read(fd, want)
    while 0 < len(data) < want and (more := os.read(fd, want - len(data))):
        data += more
    return data


def _runs(fd: int, size: int) -> Iterator[tuple[int, bytes]]:
    """Pieces and holes of a sparse file; a hole is a length without data."""
    at = 0
    while at < size:
        start = _seek(fd, at, os.SEEK_DATA, size)
        if start > at:
            yield start - at, b""
        end = _seek(fd, start, os.SEEK_HOLE, size)
        os.lseek(fd, start, os.SEEK_SET)
        at = start
        while at < end:
            piece = _full(fd, min(PIECE_BYTES - at % PIECE_BYTES, end - at))
            if not piece:
                return
            yield len(piece), piece
            at += len(piece)


def _seek(fd: int, at: int, how: int, size: int) -> int:
    """The next data or hole, not behind the end."""
    if at >= size:
        return size
    try:
        return min(size, os.lseek(fd, at, how))
    except OSError:  # no data behind this place; or a file system that knows no holes
        return size


def _in_pieces(runs: Iterator[tuple[int, bytes]], objects: Objects) -> tuple[bytes, int, bytes]:
    whole, kept, size = blake3_of()(b""), [], 0
    for length, piece in runs:
        size += length
        if piece:
            whole.update(piece)
            kept.append((length, objects.put_piece(piece)))
            continue
        kept.append((length, HOLE))
        for at in range(0, length, PIECE_BYTES):
            whole.update(_ZEROS[: min(PIECE_BYTES, length - at)])
    return bytes.fromhex(whole.hexdigest()), size, objects.put(encoded(kept, size), LIST)
