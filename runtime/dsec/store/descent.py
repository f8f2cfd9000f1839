"""Going down into folders by way of their open parents: nothing that is put in their place leads outside.

A folder is opened by its name in its parent, never through a link. Few stay open at a time: a parent that
was closed meanwhile is found again as the `..` of a folder in it, and must be the one that it was.
"""

from __future__ import annotations

import errno
import os

HELD = 16
"""So many folders are open at a time."""
_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


class Folder:
    """A folder that is open, or was; -1 as `fd` is none."""

    __slots__ = ("_who", "fd")

    def __init__(self, fd: int = -1) -> None:
        self.fd = fd
        self._who = (-1, -1)

    def into(self, name: bytes) -> Folder:
        """The folder of that name in it; raises OSError, also for a link."""
        if self.fd < 0:
            raise OSError(errno.ESTALE, os.strerror(errno.ESTALE))
        return Folder(os.open(name, _FLAGS | os.O_NOFOLLOW, dir_fd=self.fd))

    def let_go(self) -> None:
        """Close it for now."""
        if self.fd >= 0:
            state = os.fstat(self.fd)
            self._who = (state.st_dev, state.st_ino)
            self.close()

    def back_from(self, inner: Folder) -> None:
        """Open it again, if it is not, from a folder in it; it stays closed when that is elsewhere now."""
        if self.fd >= 0 or inner.fd < 0:
            return
        fd = os.open(b"..", _FLAGS, dir_fd=inner.fd)
        state = os.fstat(fd)
        if (state.st_dev, state.st_ino) == self._who:
            self.fd = fd
        else:
            os.close(fd)

    def close(self) -> None:
        """Close it, if it is open."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1


def opened(root: bytes) -> Folder:
    """The root, which may be a link; raises OSError."""
    return Folder(os.open(root, _FLAGS))
