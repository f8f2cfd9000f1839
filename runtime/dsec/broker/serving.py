"""The broker's process: sockets, time and files around `desk`.

It needs little and imports little: a run that starts it should not have to wait.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import sys
import time

from dsec import sweep
from dsec.broker import register
from dsec.broker.desk import Desk, Who
from dsec.broker.leftovers import Leftovers
from dsec.broker.messages import MOST_BYTES, Hello, pack, read
from dsec.broker.place import IDLE_S, LEASES, LOCK, LOG, Elected, peer, tidy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from dsec.broker.desk import Answer

_TICK_S = 1.0
"""How often it is decided anew while somebody waits: accounts change with time."""
_LOOK_S = 5.0
"""How often the broker looks whether its folder is still its own."""
_MUTE_US = 1_000_000
"""For how long nothing is granted where an earlier broker's leases are unknown."""
_MOST_LOG = 256 * 1024


class Server:
    """One broker at work."""

    def __init__(self, folder: str, elected: Elected, *, idle_s: float | None) -> None:
        """`idle_s`: it ends when nobody has been there for so long; None: never."""
        self._folder = folder
        self._lock = elected.lock
        self._listener = socket.socket(fileno=elected.listener)
        self._listener.setblocking(False)
        self._idle_s = idle_s
        self._epoll = select.epoll()
        self._peers: dict[int, socket.socket] = {}
        self._leftovers: dict[Who, Leftovers] = {}
        self._boot = sweep.boot_id()
        self._alone_since = self._looked_s = self._ticked_s = time.monotonic()
        leases = register.load(f"{folder}/{LEASES}")
        was_one = bool(os.pread(self._lock, 1, 0))
        now_us = _now_us()
        self._desk = Desk(now_us, mute_until_us=now_us + _MUTE_US if leases is None and was_one else 0)
        self._desk.restore(leases or (), now_us)
        os.ftruncate(self._lock, 0)
        os.pwrite(self._lock, b"%d\n" % os.getpid(), 0)

    def wake_on(self, fd: int) -> None:
        """Look whether to stop when something arrives there."""
        self._epoll.register(fd, select.EPOLLIN)

    def work(self, stopped: Callable[[], int]) -> int:
        """Serve until `stopped` gives a signal, nobody is left (0), or the folder is another's (0)."""
        self._epoll.register(self._listener.fileno(), select.EPOLLIN)
        self._save()
        while not (number := stopped()):
            for fd, _ in self._epoll.poll(self._patience()):
                if fd == self._listener.fileno():
                    self._accept()
                else:
                    self._readable(fd)
            if self._look_around():
                break
        self._save()
        return number

    def _patience(self) -> float:
        """For how long nothing is due."""
        now = time.monotonic()
        due = [self._looked_s + _LOOK_S]
        if self._leftovers:
            due.append(min(one.due_s for one in self._leftovers.values()))
        if self._desk.any_waiting:
            due.append(self._ticked_s + _TICK_S)
        if self._idle_s is not None and self._desk.is_empty and not self._peers:
            due.append(self._alone_since + self._idle_s)
        return max(0.0, min(due) - now)

    def _look_around(self) -> bool:
        """Do what is due by time; whether the broker is to end."""
        now = time.monotonic()
        self._look_after_the_gone(now)
        if self._desk.any_waiting and now >= self._ticked_s + _TICK_S:
            self._ticked_s = now
            self._answer(self._desk.tick(_now_us()))
        if not self._desk.is_empty or self._peers:
            self._alone_since = now
        if now >= self._looked_s + _LOOK_S:
            self._looked_s = now
            if not self._is_in_place():
                return True
        return self._idle_s is not None and now >= self._alone_since + self._idle_s

    def _look_after_the_gone(self, now: float) -> None:
        gone = self._desk.gone()
        self._leftovers = {who: self._leftovers.get(who) or Leftovers(who, now) for who in gone}
        for who, one in list(self._leftovers.items()):
            if now >= one.due_s and one.look(now):
                self._answer(self._desk.cleared(who.path, _now_us()))
                del self._leftovers[who]

    def _is_in_place(self) -> bool:
        """Whether who looks for the broker finds this one."""
        try:
            return os.stat(f"{self._folder}/{LOCK}").st_ino == os.fstat(self._lock).st_ino
        except OSError:
            return False

    def _accept(self) -> None:
        try:
            sock, _ = self._listener.accept()
        except OSError:
            return
        if peer(sock)[1] != os.getuid():
            sock.close()
            return
        sock.setblocking(False)
        self._peers[sock.fileno()] = sock
        self._epoll.register(sock.fileno(), select.EPOLLIN)

    def _readable(self, fd: int) -> None:
        sock = self._peers.get(fd)
        if sock is None:
            return
        try:
            packet = sock.recv(MOST_BYTES + 1)
        except BlockingIOError:
            return
        except OSError:
            packet = b""
        if packet:
            self._hear(fd, sock, packet)
        else:
            self._drop(fd)

    def _hear(self, fd: int, sock: socket.socket, packet: bytes) -> None:
        message = read(packet)
        who = None
        if isinstance(message, Hello):
            who = _sender(sock, message)
            message = message if who is not None else "its process is not to be seen from here"
        if isinstance(message, str):
            self._answer([(fd, {"tell": "refused", "why": message})])
            return
        self._answer(self._desk.hear(fd, message, _now_us(), who=who))

    def _answer(self, answers: Iterable[Answer]) -> None:
        if self._desk.changed:
            self._save()
        for fd, told in answers:
            sock = self._peers.get(fd)
            if sock is None:
                continue
            try:
                sock.send(pack(told))
            except OSError:  # it is gone, or hears nothing: it comes back when it is well
                self._drop(fd)

    def _save(self) -> None:
        self._desk.changed = False
        path = f"{self._folder}/{LEASES}"
        try:
            register.save(path, self._desk.leases(), boot=self._boot)
        except OSError as problem:
            register.forget(path)
            _log(f"{path} cannot be written: {problem.strerror}")

    def _drop(self, fd: int) -> None:
        sock = self._peers.pop(fd, None)
        if sock is not None:
            self._epoll.unregister(fd)
            sock.close()
            self._answer(self._desk.lost(fd, _now_us()))

    def close(self) -> None:
        """Let everybody know by hanging up; the lock goes with the process."""
        for sock in (*self._peers.values(), self._listener):
            sock.close()
        self._epoll.close()


def _sender(sock: socket.socket, message: Hello) -> Who | None:
    """Who said hello, by what the kernel knows of it."""
    pid = peer(sock)[0]
    found = sweep.look(pid) if pid else None
    return None if found is None else Who(message.job, message.path, pid, found.ticks)


def _now_us() -> int:
    return time.monotonic_ns() // 1000


def _log(line: str) -> None:
    sys.stderr.write(f"{time.strftime('%Y-%m-%d %H:%M:%S')} {line}\n")


def serve(folder: str, elected: Elected, *, idle_s: float | None = IDLE_S) -> int:
    """Be the broker until TERM, INT or HUP (its number), or until nobody is left (0)."""
    asked: list[int] = []
    read_end, write_end = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    server = Server(folder, elected, idle_s=idle_s)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda number, _: asked.append(number))
    signal.set_wakeup_fd(write_end, warn_on_full_buffer=False)
    server.wake_on(read_end)
    try:
        return server.work(lambda: asked[0] if asked else 0)
    finally:
        signal.set_wakeup_fd(-1)
        server.close()
        os.close(read_end)
        os.close(write_end)


def main(argv: list[str]) -> int:
    """`FOLDER IDLE_S`; the lock is descriptor 3, the listening socket 4."""
    folder, idle_s = argv
    os.chdir("/")
    with contextlib.suppress(OSError):
        if os.path.getsize(f"{folder}/{LOG}") > _MOST_LOG:
            os.truncate(f"{folder}/{LOG}", 0)
    if serve(folder, Elected(3, 4), idle_s=float(idle_s)) == 0:
        tidy(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
