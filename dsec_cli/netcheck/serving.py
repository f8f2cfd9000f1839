"""The server: makes sure that a client knows the token, and gives its session a process.

A connection becomes a session, and takes one of the places for them, only when its client has proved
that it knows the token. Until then it waits in a room of its own, from which whoever came first, of
the address with most connections there, has to leave when it is full.
"""

from __future__ import annotations

import json
import os
import select
import socket
import subprocess
import sys
import threading
import time
from collections import Counter, deque
from contextlib import suppress

from dsec.errors import DSecError
from dsec.interpreter import apart
from dsec_cli.netcheck import wire
from dsec_cli.netcheck.line import Limits
from dsec_cli.netcheck.rate_budget import RateBudget
from dsec_cli.netcheck.wire import Channel, LineLost
from dsec_cli.words import say, system

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

PORT = 7471
_MOST = 32
"""Sessions at a time."""
_GREETING = 64
"""Clients that have not proved yet that they know the token."""
_NOT_LOUDER = 20
"""Refused clients of a second that are told one by one."""


class _Greetings:
    """Clients that have yet to prove that they know the token; each has a thread, which lives for seconds."""

    def __init__(self, token: bytes, note: Callable[[str], None]) -> None:
        self._token, self._note = token, note
        self._lock = threading.Lock()
        self._waiting: dict[socket.socket, str] = {}
        self._done: deque[tuple[socket.socket, Channel]] = deque()
        self.bell, self._ringer = socket.socketpair()
        self.bell.setblocking(False)
        self._ringer.setblocking(False)

    def welcome(self, sock: socket.socket, host: str) -> None:
        with self._lock:
            if len(self._waiting) >= _GREETING:
                self._make_room()
            self._waiting[sock] = host
        try:
            threading.Thread(target=self._greet, args=(sock, host), daemon=True).start()
        except RuntimeError:  # this user may have no more threads
            self._leave(sock)

    def _make_room(self) -> None:
        """The oldest one of the host with most of them goes."""
        most = Counter(self._waiting.values()).most_common(1)[0][0]
        oldest = next(sock for sock, host in self._waiting.items() if host == most)
        del self._waiting[oldest]
        try:
            oldest.shutdown(socket.SHUT_RDWR)  # its thread finds that out, and closes it
        except OSError:
            return

    def _greet(self, sock: socket.socket, host: str) -> None:
        try:
            channel = wire.accept(sock, self._token)
        except DSecError as problem:
            self._note(f"{host}: refused: {problem.what}")
            self._leave(sock)
            return
        with self._lock:
            known = self._waiting.pop(sock, None) is not None
            if known:
                self._done.append((sock, channel))
        if not known:  # it was made to leave in its last moment
            sock.close()
            return
        try:
            self._ringer.send(b"!")
        except OSError:  # so many wait already that the bell rings anyway
            return

    def _leave(self, sock: socket.socket) -> None:
        with self._lock:
            self._waiting.pop(sock, None)
        sock.close()

    def proved(self) -> list[tuple[socket.socket, Channel]]:
        """Clients that know the token, since the last time."""
        with suppress(OSError):
            self.bell.recv(4096)
        with self._lock:
            found = list(self._done)
            self._done.clear()
        return found

    def close(self) -> None:
        with self._lock:
            left = list(self._waiting)
        for sock in left:
            try:
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue
        for sock, _ in self.proved():
            sock.close()
        self.bell.close()
        self._ringer.close()


class Server:
    """Listens, and answers in processes of its own that end with it."""

    def __init__(
        self,
        address: tuple[str, int],
        token: bytes,
        *,
        limits: Limits,
        allow: Sequence[str] = (),
        quiet: bool = False,
    ) -> None:
        self._token, self._limits, self._allow = token, limits, tuple(allow)
        self._quiet = quiet
        self._budget = RateBudget(limits.rate_bps)
        self._greetings = _Greetings(token, self._note)
        self._noted_at, self._noted = 0.0, 0
        self._children: list[subprocess.Popen[bytes]] = []
        family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        self.sock = socket.socket(family, socket.SOCK_STREAM)
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            self.sock.bind(address)
        except OSError as problem:
            self.sock.close()
            raise DSecError(
                say(
                    "cannot listen on {host} port {port}: {why}",
                    host=address[0],
                    port=address[1],
                    why=system(problem),
                ),
                hint="--listen takes another address or port",
            ) from None
        self.sock.listen(64)

    @property
    def address(self) -> tuple[str, int]:
        """Where it listens."""
        host, port = self.sock.getsockname()[:2]
        return str(host), int(port)

    def serve(self, *, until_s: float | None = None, once: bool = False) -> None:
        """Answer until a moment of the monotonic clock; `once`: until the first session ended."""
        served = 0
        while until_s is None or time.monotonic() < until_s:
            left = 1.0 if until_s is None else max(0.0, min(1.0, until_s - time.monotonic()))
            try:
                wait_s = 0.05 if once and served else left
                ready = select.select([self.sock, self._greetings.bell], [], [], wait_s)[0]
                self._reap()
            except (OSError, ValueError):  # closed by another thread
                return
            if self.sock in ready:
                self._take()
            if self._greetings.bell in ready:
                served += sum(self._admitted(sock, channel) for sock, channel in self._greetings.proved())
            if once and served and not self._children:
                return

    def _reap(self) -> None:
        self._children = [child for child in self._children if child.poll() is None]
        if not self._children:  # what a killed session had been promised
            self._budget.forget()

    def _take(self) -> None:
        try:
            sock, source = self.sock.accept()
        except OSError:  # it went again, or there are no descriptors left for it
            time.sleep(0.01)
            return
        host = source[0].removeprefix("::ffff:")  # an IPv4 address on a socket for both
        if self._allow and host not in self._allow:
            with sock:
                wire.refuse(sock, f"{host} is not among the peers that may measure here (--allow)")
            return
        self._greetings.welcome(sock, host)

    def _admitted(self, sock: socket.socket, channel: Channel) -> int:
        """1: the client has a session now, 0: there is no place for one."""
        with sock:
            try:
                if len(self._children) >= _MOST:
                    channel.send({"refused": f"{_MOST} sessions are going on already"})
                    return 0
                self._children.append(self._session(sock, channel))
            except LineLost:
                return 0
            except OSError as problem:  # no process, no descriptor, no memory
                self._note(f"no session: {problem.strerror or problem}")
                return 0
        return 1

    def _note(self, text: str) -> None:
        """Say who was refused, as long as there are few of them."""
        now = time.monotonic()
        if now - self._noted_at > 1.0:
            self._noted_at, self._noted = now, 0
        self._noted += 1
        if self._quiet or self._noted > _NOT_LOUDER:
            return
        try:
            sys.stderr.write(f"ds-netcheck: {text}\n")
            sys.stderr.flush()
        except (OSError, ValueError):
            return

    def _session(self, sock: socket.socket, channel: Channel) -> subprocess.Popen[bytes]:
        number = sock.fileno()
        child = subprocess.Popen(
            apart("dsec_cli.netcheck.session", str(number), str(self._budget.fd)),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            pass_fds=(number, self._budget.fd),
            process_group=0,  # a terminal's Ctrl-C comes to the server, which ends them
        )
        settings = {
            "token": self._token.hex(),
            "keys": channel.handed_over(),
            "parent": os.getpid(),
            "quiet": self._quiet,
            **self._limits._asdict(),
        }
        assert child.stdin is not None
        try:
            with child.stdin as pipe:
                pipe.write(json.dumps(settings).encode() + b"\n")
        except BrokenPipeError:  # it ended at once; its exit status is nobody's concern
            pass
        return child

    def close(self) -> None:
        """End all sessions."""
        self.sock.close()
        self._greetings.close()
        for child in self._children:
            child.terminate()
        for child in self._children:
            child.wait()
        self._budget.close()
