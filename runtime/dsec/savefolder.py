"""What all that save into a folder of their own have in common: one writer at a time, durable names."""

from __future__ import annotations

import contextlib
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@contextlib.contextmanager
def alone(folder: str) -> Iterator[None]:
    """Keep other writers of the folder waiting; the kernel lets them on when this process dies."""
    import fcntl

    handle = os.open(os.path.join(folder, ".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def sync_folder(path: str) -> None:
    """Make names in a folder durable; raises OSError."""
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
