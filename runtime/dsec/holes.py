"""Giving back the disk space in the middle of a file that somebody else is writing to.

What is taken out reads as zeros; every offset stays what it was, nothing at the ends is touched, and a
writer that appends notices nothing. File systems that cannot do that (of Linux's common ones NFS before
4.2 and vfat) say so.
"""

from __future__ import annotations

import errno
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

BLOCK_BYTES = 64 * 1024
"""A multiple of every common file system's block."""
_KEEP_SIZE, _PUNCH_HOLE = 1, 2


def on_disk(path: str) -> int:
    """Bytes that the file takes; raises OSError."""
    return os.stat(path).st_blocks * 512


def punch(path: str, begin: int, end: int) -> None:
    """Take whole blocks between two offsets out of the file; raises OSError."""
    import ctypes

    begin, end = -(-begin // BLOCK_BYTES) * BLOCK_BYTES, end // BLOCK_BYTES * BLOCK_BYTES
    if begin >= end:
        return
    fallocate = ctypes.CDLL(None, use_errno=True).fallocate
    handle = os.open(path, os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        mode, at, length = _KEEP_SIZE | _PUNCH_HOLE, ctypes.c_int64(begin), ctypes.c_int64(end - begin)
        while fallocate(handle, mode, at, length):
            number = ctypes.get_errno()
            if number != errno.EINTR:
                raise OSError(number, os.strerror(number), path)
    finally:
        os.close(handle)


def parts(handle: int, begin: int, end: int) -> Iterator[tuple[int, int, bool]]:
    """What lies between two offsets, in order: (from, to, whether it was taken out)."""
    at = begin
    while at < end:
        try:
            data = min(end, os.lseek(handle, at, os.SEEK_DATA))
        except OSError as problem:
            # No data any more: a hole up to the end; any other problem: this file system knows no holes.
            data = end if problem.errno == errno.ENXIO else at
        if data > at:
            yield at, data, True
            at = data
            continue
        try:
            hole = min(end, os.lseek(handle, at, os.SEEK_HOLE))
        except OSError:
            hole = end
        yield at, max(hole, at + 1), False
        at = max(hole, at + 1)
