"""Every effect of the store on the disk, one call each, so that a test can make any of them the last."""

from __future__ import annotations

import os


class Disk:
    """The real disk; raises OSError."""

    def make_folder(self, path: str) -> None:
        """Make a folder for its owner alone, if it is not there."""
        os.makedirs(path, mode=0o700, exist_ok=True)

    def create(self, path: str) -> int:
        """A new file, for its owner alone, open for writing."""
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)

    def write(self, fd: int, data: bytes | bytearray | memoryview) -> None:
        """Append all of the data."""
        left = memoryview(data)
        while left:
            left = left[os.write(fd, left) :]

    def sync(self, fd: int) -> None:
        """Wait until the file is on the disk."""
        os.fsync(fd)

    def sync_folder(self, path: str) -> None:
        """Wait until the names in the folder are on the disk."""
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)

    def rename(self, path: str, to: str) -> None:
        """Give the file its final name; one of that name is replaced."""
        os.rename(path, to)

    def link(self, path: str, to: str) -> None:
        """Give the file a second name; raises FileExistsError if that is taken."""
        os.link(path, to, follow_symlinks=False)

    def remove(self, path: str) -> None:
        """Take a file away."""
        os.unlink(path)
