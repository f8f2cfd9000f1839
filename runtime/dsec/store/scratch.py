"""Temporary files of the store: who writes one holds a lock on it, so that one without is left over."""

from __future__ import annotations

import fcntl
import os

from dsec.store.outcomes import Expected

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec.store.disk import Disk


def begin(disk: Disk, folder: str) -> tuple[int, str]:
    """A new temporary file, open for writing and locked: its descriptor and its path."""
    while True:
        path = os.path.join(folder, os.urandom(12).hex())
        fd = disk.create(path)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            if os.fstat(fd).st_nlink:  # else it was swept between the two calls
                return fd, path
        except BaseException:
            os.close(fd)
            raise
        os.close(fd)


def discard(disk: Disk, fd: int, path: str) -> None:
    """Close and remove a temporary file that is not wanted; what cannot be removed is swept later."""
    os.close(fd)
    with Expected(OSError):
        disk.remove(path)


def sweep(disk: Disk, folder: str) -> int:
    """Remove the temporary files whose writers are gone; how many bytes they had."""
    freed = 0
    for entry in list(os.scandir(folder)):
        with Expected(OSError):
            freed += _sweep(disk, entry.path)
    return freed


def _sweep(disk: Disk, path: str) -> int:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        size = os.fstat(fd).st_size
        disk.remove(path)
    finally:
        os.close(fd)
    return size


def write_new(disk: Disk, folder: str, to: str, data: bytes, *, durable: bool = True) -> None:
    """Write a file whole, by way of the folder of temporary files; one of that name is replaced."""
    fd, path = begin(disk, folder)
    try:
        disk.write(fd, data)
        if durable:
            disk.sync(fd)
        disk.rename(path, to)
    except BaseException:
        discard(disk, fd, path)
        raise
    os.close(fd)
    if durable:
        disk.sync_folder(os.path.dirname(to))
