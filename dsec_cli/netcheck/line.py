"""One end's view of a measurement: who asks (`Line`), who answers (`End`), and what both may do at most."""

from __future__ import annotations

import socket
from typing import Any

from dsec.record import Record
from dsec_cli.cells import plain
from dsec_cli.netcheck import tcp, wire
from dsec_cli.netcheck.wire import Blocked, Channel, LineLost, Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from dsec_cli.netcheck.rate_budget import RateBudget

_SERVE = "is it `ds-netcheck serve` that listens there?"
ANSWER_S = 6.0
"""How long the other end may take for an answer that needs no measuring."""


_AMPLE, _SCANTY = 1 << 22, 1 << 16
"""Bytes that a connection may hold unread: at least the second; from the first on the kernel decides."""


class Limits(Record):
    """What an end lets itself be used for: it is no tool for flooding."""

    rate_bps: int = 10_000_000_000
    span_s: int = 60
    """Of one probe."""


class Ask(Record):
    """What is to be measured of one flow."""

    size_bytes: int
    """Of a message."""
    per_1000s: int
    """Messages in a thousand seconds; 0: one after the other."""
    connections: int
    stream_bps: int
    span_ms: int
    """Of each probe that takes a rate."""
    packet_bytes: int = 0
    """Of the datagrams of a stream; 0: what arrives, at most 1500."""
    streams: int = 1
    """Processes that send at a time."""


class Line:
    """The asking end."""

    def __init__(self, channel: Channel, limits: Limits) -> None:
        self.channel = channel
        self.session = channel.session
        self.limits = limits
        self.family = channel.sock.family
        self.here: str = channel.sock.getsockname()[0]
        self.peer: str = channel.sock.getpeername()[0]
        self.path_bytes = 0
        """What the sizes probe found to arrive; 0: not looked at."""
        self.probe = ""
        """What is being measured, for those who have to say where it ended."""

    def call(self, what: str, *, within_s: float = ANSWER_S, **args: Any) -> dict[str, Any]:
        """Ask, and wait for the answer."""
        self.channel.send({"do": what, **args})
        return self.answer(within_s=within_s)

    def answer(self, *, within_s: float = ANSWER_S) -> dict[str, Any]:
        """The next answer; raises LineLost with the other end's words where it failed."""
        found = self.channel.receive(within_s=within_s)
        if "failed" in found:
            raise LineLost(f"the other end failed: {str(found['failed'])[:300]}")
        return found

    def alive(self) -> None:
        """Raise LineLost if the other end said something unasked, which is what a death looks like."""
        if self.channel.ready():
            self.answer(within_s=0.5)
            raise LineLost("the other end gave up")

    @property
    def rtt_s(self) -> float:
        """The least round trip that the kernel saw on the control connection."""
        return tcp.info(self.channel.sock).least_rtt_ns / 1e9

    def close(self) -> None:
        """End the session."""
        self.channel.close()


class End:
    """The answering end."""

    def __init__(self, channel: Channel, limits: Limits, budget: RateBudget) -> None:
        self.channel = channel
        self.session = channel.session
        self.limits = limits
        self.budget = budget
        """The rate that all sessions of the server share."""
        self.family = channel.sock.family
        self.here: str = channel.sock.getsockname()[0]
        self.peer: str = channel.sock.getpeername()[0]

    @property
    def rtt_s(self) -> float:
        """The least round trip that the kernel saw on the control connection."""
        return tcp.info(self.channel.sock).least_rtt_ns / 1e9

    def listening(self) -> socket.socket:
        """A socket that takes connections of this session; its port was told to the other end."""
        sock = socket.socket(self.family, socket.SOCK_STREAM)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # A slow server takes little at once: what its kernel holds unread counts for its rate, too.
        held = self.limits.rate_bps // 8 // 4
        if held < _AMPLE:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, max(_SCANTY, held))
        sock.bind((self.here, 0))
        sock.listen(128)
        sock.settimeout(ANSWER_S)
        self.channel.send({"port": sock.getsockname()[1]})
        return sock

    def connection(self, listening: socket.socket) -> socket.socket:
        """The next connection that begins with the session's bytes; others are closed unheard."""
        while True:
            sock, source = listening.accept()
            sock.settimeout(ANSWER_S)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if source[0] == self.peer and _whole(sock, len(self.session)) == self.session:
                return sock
            sock.close()

    def bounded(self, args: Mapping[str, Any], name: str) -> float:
        """Seconds that the other end asks for, within what this end allows."""
        return max(0.0, min(float(args.get(name, 0)) / 1000, float(self.limits.span_s)))


def connect(address: tuple[str, int], token: bytes, *, within_s: float = wire.HANDSHAKE_S) -> Line:
    """A line to a server; raises LineLost or Refused."""
    try:
        sock = socket.create_connection(address, timeout=within_s)
    except TimeoutError:
        raise LineLost(
            f"{shown(address)} does not answer within {within_s:g} s",
            hint="is the host up, and does a firewall drop the port?",
        ) from None
    except socket.gaierror as problem:
        raise LineLost(
            f"{shown(address)} cannot be reached: {problem.strerror}", hint="--peers takes addresses, too"
        ) from None
    except OSError as problem:
        raise LineLost(
            f"{shown(address)} cannot be reached: {problem.strerror or problem}",
            hint="start `ds-netcheck serve` there",
        ) from None
    try:
        channel = wire.offer(sock, token)
        welcome = channel.receive(within_s=ANSWER_S)
        if "refused" in welcome:
            raise Refused(f"the other end refused: {plain(str(welcome['refused'])[:200])}")
        limits = Limits(int(welcome["rate_bps"]), int(welcome["span_s"]))
    except (LookupError, TypeError, ValueError, OverflowError):
        sock.close()
        raise LineLost(f"{shown(address)} does not speak netcheck's language", hint=_SERVE) from None
    except LineLost as problem:
        sock.close()
        hint = problem.hint or _SERVE
        raise LineLost(f"{shown(address)}: {problem.what}", hint=hint) from None
    except BaseException:
        sock.close()
        raise
    return Line(channel, limits)


def joined(line: Line, port: int) -> socket.socket:
    """A connection for data, which says whose it is."""
    sock = socket.socket(line.family, socket.SOCK_STREAM)
    sock.settimeout(ANSWER_S)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    try:
        sock.connect((line.peer, port))
        sock.sendall(line.session)
    except OSError as problem:
        sock.close()
        why = "no answer" if isinstance(problem, TimeoutError) else problem.strerror or str(problem)
        raise Blocked(f"no connection to port {port} of {line.peer}: {why}") from None
    return sock


def shown(address: tuple[str, int]) -> str:
    """An address as it is written."""
    host, port = address
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _whole(sock: socket.socket, count: int) -> bytes:
    found = b""
    while len(found) < count:
        try:
            part = sock.recv(count - len(found))
        except OSError:
            return found
        if not part:
            return found
        found += part
    return found
