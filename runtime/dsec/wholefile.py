"""Files that are written whole or not at all."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


def write_whole(path: str, pieces: Iterable[bytes], *, durable: bool = True) -> None:
    """Replace a file; raises OSError, and then the old one stays and nothing else is left.

    `durable`: it is on the disk when this returns; else a machine that stops may leave the old file.
    """
    aside = f"{path}.{os.getpid()}.tmp"
    try:
        with open(aside, "wb") as file:
            file.writelines(pieces)
            if durable:
                file.flush()
                os.fsync(file.fileno())
        os.replace(aside, path)
    except OSError:
        _forget(aside)
        raise


def _forget(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        return
