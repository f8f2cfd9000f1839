"""The server: takes connections, and gives each a process."""

from __future__ import annotations

import json
import os
import select
import socket
import subprocess
import time

from dsec.errors import DSecError
from dsec.interpreter import apart
from dsec_cli.netcheck import wire
from dsec_cli.netcheck.line import Limits
from dsec_cli.words import say, system

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

PORT = 7471
_MOST = 32
"""Sessions at a time."""


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
                ready = select.select([self.sock], [], [], 0.05 if once and served else left)[0]
            except (OSError, ValueError):  # closed by another thread
                return
            if ready:
                served += self._take()
            self._children = [child for child in self._children if child.poll() is None]
            if once and served and not self._children:
                return

    def _take(self) -> int:
        try:
            sock, source = self.sock.accept()
        except OSError:  # it went again, or there are no descriptors left for it
            return 0
        with sock:
            host = source[0].removeprefix("::ffff:")  # an IPv4 address on a socket for both
            if self._allow and host not in self._allow:
                wire.refuse(sock, f"{host} is not among the peers that may measure here (--allow)")
                return 0
            if len(self._children) >= _MOST:
                wire.refuse(sock, f"{_MOST} sessions are going on already")
                return 0
            self._children.append(self._session(sock))
        return 1

    def _session(self, sock: socket.socket) -> subprocess.Popen[bytes]:
        number = sock.fileno()
        child = subprocess.Popen(
            apart("dsec_cli.netcheck.session", str(number)),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            pass_fds=(number,),
            process_group=0,  # a terminal's Ctrl-C comes to the server, which ends them
        )
        settings = {
            "token": self._token.hex(),
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
        for child in self._children:
            child.terminate()
        for child in self._children:
            child.wait()
