"""What stands for something other than a file: /dev/stdout, a pipe, a device."""

from __future__ import annotations

import os
import sys


def open_special(path: str) -> int | None:
    """A descriptor to write to what is no ordinary file; None: a file, or nothing yet. Raises OSError.

    A name such as /dev/stdout or /dev/fd/63 means what this process has open already, at the place where
    it stands: opened anew, a file would be overwritten from its beginning, and a socket not at all.
    """
    held = _held(path)
    if held is not None:
        if held == 1 and sys.stdout is not None:
            sys.stdout.flush()
        return os.dup(held)
    if os.path.exists(path) and not os.path.isfile(path):
        return os.open(path, os.O_WRONLY)
    return None


def _held(path: str) -> int | None:
    """The number of the open descriptor that a path names."""
    if os.path.dirname(path) == "/dev" and os.path.islink(path):
        path = os.readlink(path)
    folder, number = os.path.split(path)
    if not number.isdecimal() or not number.isascii():
        return None
    return int(number) if os.path.realpath(folder) == f"/proc/{os.getpid()}/fd" else None
