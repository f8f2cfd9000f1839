"""The file beside a package that becomes it: whole and on the disk before it gets the package's name."""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat

from dsec.errors import FileProblem
from dsec.hashing import blake3_of
from dsec.words import say, system
from dsec_cli.snapshot.package.form import MAGIC

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec.store.disk import Disk


class Aside:
    """It is open for writing."""

    def __init__(self, disk: Disk, fd: int) -> None:
        self._disk, self._fd = disk, fd

    def seek(self, at: int) -> None:
        """Write there from now on."""
        os.lseek(self._fd, at, os.SEEK_SET)

    def write(self, data: bytes) -> None:
        """Write all of it; raises OSError."""
        self._disk.write(self._fd, data)

    def digest(self) -> str:
        """BLAKE3 of all that was written."""
        whole, at = blake3_of()(b""), 0
        while piece := os.pread(self._fd, 1 << 20, at):
            whole.update(piece)
            at += len(piece)
        return whole.hexdigest()


@contextlib.contextmanager
def aside_of(path: str, disk: Disk) -> Iterator[Aside]:
    """The file that becomes `path` at the end of the block, or nothing; raises OSError and FileProblem.

    It is always the same one, so that a killed export leaves none for ever: the next one takes it over.
    """
    aside = f"{path}.tmp"
    fd = _begun(path, aside)
    try:
        os.ftruncate(fd, 0)
        yield Aside(disk, fd)
        disk.sync(fd)
        disk.rename(aside, path)
    except BaseException:
        with contextlib.suppress(OSError):
            disk.remove(aside)
        raise
    finally:
        os.close(fd)
    _keep_name(path, disk)


def _keep_name(path: str, disk: Disk) -> None:
    try:
        disk.sync_folder(os.path.dirname(path) or ".")
    except OSError as problem:
        raise FileProblem(
            say("{path} is whole, but its folder could not be synced: {why}", path=path, why=system(problem)),
            hint=say("if the machine stops now the file may be gone; write it again to be sure"),
        ) from None


def _begun(path: str, aside: str) -> int:
    """The file, open and held; what holds it is gone with the process."""
    while True:
        fd = os.open(aside, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK, 0o666)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_still(aside, fd):
                return fd
        except BlockingIOError:
            os.close(fd)
            raise FileProblem(say("{path} is being written by somebody else", path=path)) from None
        except BaseException:
            os.close(fd)
            raise
        os.close(fd)


def _is_still(aside: str, fd: int) -> bool:
    """Whether the name is still that of the file: else it became another export's package meanwhile."""
    try:
        found = os.lstat(aside)
    except FileNotFoundError:
        return False
    return os.path.samestat(found, os.fstat(fd))


def refuse_other(path: str) -> None:
    """A file that is there is replaced only if it is a package; raises OSError and FileProblem."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except FileNotFoundError:
        return
    try:
        if stat.S_ISREG(os.fstat(fd).st_mode) and os.pread(fd, len(MAGIC), 0) == MAGIC:
            return
    finally:
        os.close(fd)
    raise FileProblem(
        say("{path} is there, and is not a package", path=path),
        hint=say("remove it, or name another place with --output"),
    )
