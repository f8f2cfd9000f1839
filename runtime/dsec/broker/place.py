"""Where a user's broker is found, who becomes it, and how it is started.

The folder is the user's alone. Whoever locks `lock` is the broker; the lock, and a socket that listens
already, are handed to the process that is to be it, so there is never a time at which a broker was
elected and cannot be reached, and a broker that dies at any moment leaves a lock that is free.
"""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import socket
import struct
import sys
import zlib

from dsec.interpreter import APART, import_path
from dsec.portbook import private_folder, runtime_folder
from dsec.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

LOCK, SOCKET, LEASES, LOG = "lock", "socket", "leases.json", "log"
OFF = b"DSEC_BROKER"
"""`off`: runs share with nobody."""
IDLE_S = 5.0
"""A broker that a run started ends when nobody has been there for so long."""
_SIMULATED = "broker-"
_BACKLOG = 128
_CREDENTIALS = struct.Struct("3i")
_KEPT = (b"PATH", b"LD_LIBRARY_PATH", b"LANG", b"LC_ALL", b"TZ")
"""What a broker keeps of the environment of the run that started it, which it outlives."""
_HIGH = 10


class Elected(Record):
    """What makes a process the broker."""

    lock: int
    listener: int


def named(environ: Mapping[bytes, bytes]) -> str:
    """Where the folder of this user's broker is, if there is one; raises OSError.

    Simulated GPUs are another box each, though they are named alike.
    """
    box = environ.get(b"SIM_GPU_SCENARIO")
    name = "broker" if not box else f"{_SIMULATED}{zlib.crc32(os.path.abspath(box)):08x}"
    return f"{runtime_folder(environ)}/{name}"


def folder(environ: Mapping[bytes, bytes]) -> str:
    """The folder of this user's broker, made where it is missing; raises OSError."""
    return private_folder(named(environ))


def connect(path: str) -> socket.socket | None:
    """A connection to the broker of that folder; None: there is none that listens."""
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    sock.setblocking(False)
    try:
        with _Short(path) as short:
            sock.connect(f"{short}/{SOCKET}")
        _, user, _ = peer(sock)
        if user == os.getuid():
            return sock
    except OSError:
        pass
    sock.close()
    return None


def peer(sock: socket.socket) -> tuple[int, int, int]:
    """Process, user and group of who connected, or of who listens."""
    told = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    pid, user, group = _CREDENTIALS.unpack(told)
    return pid, user, group


def holder(path: str) -> int:
    """The process that is the broker of that folder, or was it last; 0: it is not known."""
    try:
        with open(f"{path}/{LOCK}", "rb") as file:
            return int(file.read(32))
    except (OSError, ValueError):
        return 0


def end(path: str) -> int:
    """End a broker that does not answer; its pid, or 0: it is not certain which process that is."""
    pid, lock = holder(path), f"{os.path.realpath(path)}/{LOCK}"
    try:
        process = os.pidfd_open(pid)
    except (OSError, ValueError):
        return 0
    try:
        # Who has the lock's file open is it, not somebody who has got its number since.
        files = [os.readlink(f"/proc/{pid}/fd/{name}") for name in os.listdir(f"/proc/{pid}/fd")]
        if lock not in files:
            return 0
        signal.pidfd_send_signal(process, signal.SIGKILL)
    except OSError:
        return 0
    finally:
        os.close(process)
    return pid


def elect(path: str) -> Elected | None:
    """Become the broker of that folder; None: somebody is, or just was. Raises OSError."""
    lock = os.open(f"{path}/{LOCK}", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as problem:
        os.close(lock)
        if problem.errno in (errno.EAGAIN, errno.EACCES):
            return None
        raise
    try:
        if os.stat(f"{path}/{LOCK}").st_ino != os.fstat(lock).st_ino:
            raise FileNotFoundError(errno.ENOENT, "the broker's folder was removed", path)
        return Elected(lock, _listen(path))
    except OSError:
        os.close(lock)
        raise


def _listen(path: str) -> int:
    """The descriptor of a socket that listens under its name from the moment at which the name is there."""
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    aside = f"{SOCKET}.{os.getpid()}"
    try:
        with _Short(path) as short:
            if os.path.lexists(f"{short}/{aside}"):
                os.unlink(f"{short}/{aside}")
            sock.bind(f"{short}/{aside}")
            sock.listen(_BACKLOG)
            os.replace(f"{short}/{aside}", f"{short}/{SOCKET}")
    except OSError:
        sock.close()
        raise
    return sock.detach()


class _Short:
    """A short name of a folder while it is needed: that of a socket may have 107 bytes."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._fd = -1

    def __enter__(self) -> str:
        self._fd = os.open(self._path, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        return f"/proc/self/fd/{self._fd}"

    def __exit__(self, *_: object) -> None:
        os.close(self._fd)


def spawn(path: str, elected: Elected, environ: Mapping[bytes, bytes]) -> int:
    """Start a broker that was elected, in a session of its own; its pid. Raises OSError.

    It knows nothing of the run that starts it: no marker, no secrets.
    """
    code = (
        f"import sys; sys.path[:] = {import_path()!r}\n"
        "from dsec.broker.serving import main\n"
        "sys.exit(main(sys.argv[1:]))"
    )
    log = f"{path}/{LOG}"
    # Out of the way of the numbers under which the child gets them.
    lock, listener = (fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, _HIGH) for fd in elected)
    actions: list[tuple[int, ...] | tuple[int, int, str, int, int]] = [
        (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600),
        (os.POSIX_SPAWN_DUP2, 1, 2),
        (os.POSIX_SPAWN_DUP2, lock, 3),
        (os.POSIX_SPAWN_DUP2, listener, 4),
    ]
    try:
        return os.posix_spawn(
            sys.executable,
            (sys.executable, *APART, code, path, f"{IDLE_S:g}"),
            {name: environ[name] for name in _KEPT if name in environ},
            file_actions=actions,
            setsid=True,
            setsigmask=(),
            setsigdef=sorted(signal.valid_signals()),
        )
    finally:
        for fd in (*elected, lock, listener):
            os.close(fd)


def tidy(path: str) -> None:
    """Remove the folder of a simulated box: its like does not come again. Whoever holds its lock may."""
    if not os.path.basename(path).startswith(_SIMULATED):
        return
    try:
        for name in (SOCKET, LEASES, LOG, LOCK):
            if os.path.lexists(f"{path}/{name}"):
                os.unlink(f"{path}/{name}")
        os.rmdir(path)
    except OSError:
        return
