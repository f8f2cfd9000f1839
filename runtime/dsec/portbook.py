"""TCP ports that this run's Steps may listen on, held as long as the run lasts.

A port is held by a locked file, not by a socket: the child could not bind what we have bound. The
kernel drops the lock when the executor ends, however it ends. Ports are taken from outside the range
that the kernel gives to outgoing connections, and never from where frameworks have their defaults.
"""

from __future__ import annotations

import errno
import fcntl
import os
import socket
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_LOWEST = 20_000
_HIGHEST = 65_535
_DEFAULTS = range(29_400, 29_700)
"""Where launchers listen that were told nothing: not ours to take."""
_LEAST = 1000
"""So many ports below the kernel's range are enough to look no further."""


class PortBook:
    """The ports of one run, by what they are for."""

    def __init__(self, folder: str) -> None:
        """`folder`: where locks lie, one for all runs of a user."""
        self._folder = folder
        self._held: dict[str, tuple[int, int]] = {}
        """Port and locked descriptor."""
        self._candidates: Iterator[int] | None = None

    def own(self, key: str) -> int:
        """The port for `key`, another one than before if a stranger listens there; raises OSError."""
        held = self._held.get(key)
        if held is not None and is_free(held[0]):
            return held[0]
        if held is not None:
            os.close(held[1])
        return self._take(key)

    def shared(self, key: str) -> int:
        """The port for `key`, the same whoever listens there; raises OSError."""
        held = self._held.get(key)
        return self._take(key) if held is None else held[0]

    def _take(self, key: str) -> int:
        if self._candidates is None:
            os.makedirs(self._folder, mode=0o700, exist_ok=True)
            self._candidates = candidates(start=os.getpid() * 97 + os.getuid() * 7919)
        for port in self._candidates:
            fd = self._lock(port)
            if fd is None:
                continue
            if is_free(port):
                self._held[key] = port, fd
                return port
            self._unlock(port, fd)
        raise OSError(errno.EADDRNOTAVAIL, "no free port")

    def _lock(self, port: int) -> int | None:
        """A descriptor that holds the port's lock; None: another run has it."""
        path = f"{self._folder}/{port}"
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.stat(path).st_ino == os.fstat(fd).st_ino:
                return fd
        except OSError:  # held, or its holder just let go of it and removed the file
            pass
        os.close(fd)
        return None

    def _unlock(self, port: int, fd: int) -> None:
        try:
            os.unlink(f"{self._folder}/{port}")
        except FileNotFoundError:
            pass
        finally:
            os.close(fd)

    def close(self) -> None:
        """Let go of all."""
        for port, fd in self._held.values():
            self._unlock(port, fd)
        self._held.clear()


def is_free(port: int) -> bool:
    """Whether a server could listen on the port now."""
    for family, address in ((socket.AF_INET, "0.0.0.0"), (socket.AF_INET6, "::")):  # noqa: S104  # only asked
        try:
            with socket.socket(family, socket.SOCK_STREAM) as sock:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                if family == socket.AF_INET6:
                    sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
                sock.bind((address, port))
                sock.listen(1)
        except OSError as problem:
            if problem.errno in (errno.EADDRINUSE, errno.EACCES):
                return False
    return True


def candidates(*, start: int, kernel: tuple[int, int] | None = None) -> Iterator[int]:
    """Every port that may be taken, from somewhere on so that runs rarely meet; `kernel`: its range."""
    low, high = kernel or _kernel_range()
    if low - _LOWEST >= _LEAST:
        ports = range(_LOWEST, low)
    elif _HIGHEST - high >= _LEAST:
        ports = range(high + 1, _HIGHEST + 1)
    else:
        ports = range(_LOWEST, _HIGHEST + 1)
    for at in range(len(ports)):
        port = ports[(start + at) % len(ports)]
        if port not in _DEFAULTS:
            yield port


def _kernel_range() -> tuple[int, int]:
    try:
        with open("/proc/sys/net/ipv4/ip_local_port_range", encoding="ascii") as file:
            low, high = map(int, file.read().split())
    except (OSError, ValueError):
        return 32_768, 60_999
    return low, high


def runtime_folder(environ: Mapping[bytes, bytes]) -> str:
    """Where this user's runs keep what only matters while they run; raises OSError where there is no place.

    Whoever has made our folder in /tmp first could stop us there, so then it is in the home folder.
    """
    given = os.fsdecode(environ.get(b"XDG_RUNTIME_DIR", b""))
    if given and os.access(given, os.W_OK) and _is_ours(given):
        return f"{given}/dsec"
    home = os.fsdecode(environ.get(b"HOME", b""))
    try:
        return private_folder(f"/tmp/dsec-{os.getuid()}")  # noqa: S108  # it is looked at
    except OSError:
        if not home.startswith("/"):
            raise
    return private_folder(f"{home}/.cache/dsec/run")


def private_folder(path: str) -> str:
    """The folder, made where it is missing, which nobody else can write to or read; raises OSError."""
    os.makedirs(path, mode=0o700, exist_ok=True)
    found = os.lstat(path)
    if not stat.S_ISDIR(found.st_mode):
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path)
    if found.st_uid != os.getuid():
        raise PermissionError(errno.EACCES, "belongs to another user", path)
    if found.st_mode & 0o077:
        os.chmod(path, 0o700)  # its owner has just been seen to be us, and nobody else can rename it
    return path


def _is_ours(folder: str) -> bool:
    """Whether a folder is this user's, and nobody else may write to it."""
    try:
        found = os.stat(folder)
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o022


def filled(text: str, *, step: str, variable: str, book: PortBook) -> str:
    """`text`, `{port}` being a port of this variable's own and `{port:NAME}` the run's port of that name."""
    if "{port}" in text:
        text = text.replace("{port}", str(book.own(f"{step}/{variable}")))
    while "{port:" in text:
        before, _, rest = text.partition("{port:")
        name, mark, after = rest.partition("}")
        if not mark:
            break
        text = f"{before}{book.shared(f':{name}')}{after}"
    return text
