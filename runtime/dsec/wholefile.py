"""Files that are written whole or not at all."""

from __future__ import annotations

import os
from errno import EACCES, EDQUOT, EFBIG, ENOSPC, EPERM, EROFS

from dsec.words import say

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


def write_whole(path: str, pieces: Iterable[bytes], *, durable: bool = True, mode: int = 0o666) -> None:
    """Replace a file; raises OSError, and then the old one stays and nothing else is left.

    `durable`: it is on the disk when this returns; else a machine that stops may leave the old file.
    `mode`, less the umask, is that of the new one.
    """
    aside = f"{path}.{os.getpid()}.tmp"
    try:
        with open(create(aside, mode), "wb") as file:
            file.writelines(pieces)
            if durable:
                file.flush()
                os.fsync(file.fileno())
        os.replace(aside, path)
    except OSError as problem:
        _forget(aside)
        problem.filename = problem.filename or path  # a write that fails does not say to what
        raise


def create(path: str, mode: int = 0o666) -> int:
    """A descriptor to write to a new file; raises OSError.

    What stands at `path` is never opened, as somebody else who may write to the folder could have put a
    link there: it is what a process of this number left when it was killed, and goes.
    """
    try:
        return os.open(path, _NEW, mode)
    except FileExistsError:
        os.unlink(path)
        return os.open(path, _NEW, mode)


def remedy(problem: OSError) -> str:
    """What helps where a file could not be written: the same for every file that we write."""
    if problem.errno in (ENOSPC, EDQUOT, EFBIG):
        return say("free some space, or write to another place")
    if problem.errno in (EACCES, EPERM, EROFS):
        return say("name a file in a folder you may write to")
    return say("check the folder, its permissions and its space")


def _forget(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        return
