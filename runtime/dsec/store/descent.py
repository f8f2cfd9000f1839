"""Going down into folders by way of their open parents: nothing that is put in their place leads outside.

A folder is opened by its name in its parent, never through a link, and only when it is needed. Few stay
open at a time: a parent that was closed meanwhile is found again as the `..` of a folder in it, or by its
name like any other, and must be the one that it was.
"""

from __future__ import annotations

import errno
import os

HELD = 16
"""So many folders are open at a time."""
_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_UNKNOWN = (-1, -1)


class Folder:
    """A folder that is opened when somebody needs it; -1 as `fd` is none."""

    __slots__ = ("_above", "_name", "_who", "fd")

    def __init__(self, name: bytes, above: Folder | None = None) -> None:
        """The folder of that name in another one; without one, the root, which may be a link."""
        self._name, self._above = name, above
        self._who = _UNKNOWN
        self.fd = -1

    def reach(self) -> int:
        """Its descriptor; what is not open on the way to it is opened. Raises OSError, also for a link."""
        if self._above is not None and self._above.fd >= 0:
            self._open()
            return self.fd
        way = [self]
        while way[-1].fd < 0 and (above := way[-1]._above) is not None:
            way.append(above)
        way.reverse()
        for at, folder in enumerate(way):
            folder._open()
            if at >= HELD:
                way[at - HELD].let_go()
        return self.fd

    def _open(self) -> None:
        """Open it by its name; one that was open before must be the same."""
        if self.fd >= 0:
            return
        if self._above is None:
            fd = os.open(self._name, _FLAGS)
        else:
            fd = os.open(self._name, _FLAGS | os.O_NOFOLLOW, dir_fd=self._above.fd)
        if self._who is not _UNKNOWN and self._who != _who(fd):
            os.close(fd)
            raise OSError(errno.ESTALE, os.strerror(errno.ESTALE))
        self.fd = fd

    def let_go(self) -> None:
        """Close it for now."""
        if self.fd >= 0:
            self._who = _who(self.fd)
            self.close()

    def back_from(self, inner: Folder) -> None:
        """Open it again, if it is not, from a folder in it; it stays closed when that is elsewhere now."""
        if self.fd >= 0 or inner.fd < 0:
            return
        fd = os.open(b"..", _FLAGS, dir_fd=inner.fd)
        if _who(fd) == self._who:
            self.fd = fd
        else:
            os.close(fd)

    def close(self) -> None:
        """Close it, if it is open."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1


def _who(fd: int) -> tuple[int, int]:
    """Which folder it is, whatever it is called."""
    state = os.fstat(fd)
    return state.st_dev, state.st_ino
