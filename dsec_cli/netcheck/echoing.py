"""The answering end of probes that send single datagrams and want them back."""

from __future__ import annotations

import errno
import select
import time
from typing import Any

from dsec_cli.netcheck import packets
from dsec_cli.netcheck.packets import HEAD, LEAST, PING, PONG, TOO_LONG, WANT, WANTED

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from collections.abc import Iterator

    from dsec_cli.netcheck.line import End
    from dsec_cli.netcheck.packets import Arrived


_MOST = 100_000
_AHEAD_S = 0.25
"""How far asked-for datagrams may be ahead of the rate of all sessions."""


def answer(end: End, args: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Send datagrams back until the other end says that it is done; `more` is told beside the port."""
    until = time.monotonic() + (end.bounded(args, "span_ms") or 1.0)
    heard: set[int] = set()
    sock = packets.open_socket(end.family, end.here)
    with sock:
        sock.setblocking(False)
        end.channel.send({"port": sock.getsockname()[1], **more})
        while time.monotonic() < until:
            ready = select.select([sock, end.channel.sock], [], [], 0.2)[0]
            if sock in ready:
                for one in arrivals(sock):
                    _reply(sock, one, end, heard)
            if end.channel.sock in ready:
                break
        said = packets.complaints(sock)
    end.channel.receive(within_s=5.0)
    return {"complaints": [[one.by, one.mtu] for one in said], "arrived": len(heard)}


def arrivals(sock: socket.socket, most: int = 256) -> Iterator[Arrived]:
    """What waits in a socket that does not block."""
    for _ in range(most):
        try:
            one = packets.receive(sock)
        except BlockingIOError:
            return
        if one is None:
            return
        yield one


def _reply(sock: socket.socket, one: Arrived, end: End, heard: set[int]) -> None:
    """Answers go only to the session's own address, and only to what names the session."""
    if len(one.data) < LEAST or one.source[0] != end.peer:
        return
    session, kind, _, size, number, at_ns = HEAD.unpack_from(one.data)
    if session != end.session:
        return
    if kind == PING:
        if len(heard) < _MOST:
            heard.add(number)
        # Short, whatever the request's length was: the way back has a probe of its own.
        data = packets.packet(session, PONG, number, tos=one.tos, at_ns=at_ns)
        packets.try_send(sock, data, one.source)
    elif kind == WANT and end.budget.charge(size) < _AHEAD_S:
        _wanted(sock, one.source, session, number, size=size)


def _wanted(sock: socket.socket, source: tuple[str, int], session: bytes, number: int, *, size: int) -> None:
    data = packets.packet(session, WANTED, number, size=max(size, LEAST))
    if packets.try_send(sock, data, source) == errno.EMSGSIZE:
        packets.try_send(sock, packets.packet(session, TOO_LONG, number), source)
