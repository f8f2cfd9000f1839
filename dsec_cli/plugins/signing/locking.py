"""One at a time: who changes the plugins or the keys of a folder keeps others waiting until that is done."""

from __future__ import annotations

import contextlib
import fcntl
import os

from dsec.errors import FileProblem
from dsec_cli.words import say, system

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@contextlib.contextmanager
def alone(folder: str, *, mode: int = 0o755) -> Iterator[None]:
    """Hold the lock on a folder, which is made where it is missing; the kernel drops it with its holder.

    Raises FileProblem.
    """
    try:
        os.makedirs(folder, mode=mode, exist_ok=True)
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as problem:
        raise FileProblem(
            say("{path}: {why}", path=problem.filename or folder, why=system(problem))
        ) from None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
