"""What was remembered in a file of `.dsec/cache`: one that somebody else prepared is as good as none."""

from __future__ import annotations

import os
import stat

from dsec.ownership import foreign_file

MOST_BYTES = 256 << 20
BROKEN = (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError, ArithmeticError)
"""Raised where a document is not as we write it: too deep, with numbers without end, of other types."""


def content(path: str) -> bytes:
    """All bytes of the file; raises OSError where it is no regular file, is not ours alone, or is too large.

    Whoever can write to it, or to its folder, could otherwise say that a file with a secret holds none.
    """
    folder = os.path.dirname(path)
    if os.path.islink(folder) or foreign_file(path, os.environ):
        raise OSError
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    with open(fd, "rb") as file:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode) or status.st_size > MOST_BYTES:
            raise OSError
        return file.read(MOST_BYTES)
