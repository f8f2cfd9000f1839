"""The longest packet that arrives, there and back, and who stops longer ones.

Packets may not be fragmented, and the kernel's own idea of the path is ignored, so a hop that drops
long packets without a word (an ICMP black hole) is found, which path MTU discovery cannot.
"""

from __future__ import annotations

import errno
import select
import time
from typing import Any

from dsec.record import Record
from dsec_cli.netcheck import echoing, host, packets
from dsec_cli.netcheck.packets import HEAD, LEAST, PING, PONG, TOO_LONG, WANT, WANTED
from dsec_cli.netcheck.probe import Probe
from dsec_cli.netcheck.readings import Sizes

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from collections.abc import Callable

    from dsec_cli.netcheck.line import Ask, End, Line

_TRIES = 3
_LEAST_WAIT_S = 0.04
_SEARCH = 400
"""Round trips that the search may take: some thirty lengths, most of which do not arrive at the first try."""
_SMALLEST = 576
_LARGEST = 65_535
_CUT = 40_000
_USUAL = (9000, 8900, 1500, 1492, 1450, 1400, 1280)
"""Tried before the search: most limits are one of these."""


class _Way(Record):
    """What one way carries, and what stopped more."""

    most: int | None
    by: str


class _Prober:
    """Sends datagrams of given lengths and learns what became of them."""

    def __init__(self, line: Line, sock: socket.socket, port: int) -> None:
        self.line, self.sock, self.port = line, sock, port
        self.extra = packets.headers(line.family)
        self.longest_s = max(0.25, 4 * line.rtt_s)
        self.wait_s = self.longest_s
        self.said: list[packets.Complaint] = []
        self.local = 0
        """A length that this host itself refused; 0: none."""
        self.remote = 0
        """A length that the peer itself refused."""
        self._number = 0

    def forward(self, size: int) -> bool:
        """Whether a packet of `size` bytes arrives."""
        return self._tried(PING, PONG, size, padded=True)

    def back(self, size: int) -> bool:
        """Whether one comes back from the peer."""
        return self._tried(WANT, WANTED, size, padded=False)

    def _tried(self, kind: int, wanted: int, size: int, *, padded: bool) -> bool:
        payload = max(LEAST, size - self.extra)
        for _ in range(_TRIES):
            self._number += 1
            data = packets.packet(self.line.session, kind, self._number, size=payload if padded else LEAST)
            if not padded:
                data = HEAD.pack(self.line.session, kind, 0, payload, self._number, 0)
            number = packets.try_send(self.sock, data, (self.line.peer, self.port))
            if number == errno.EMSGSIZE:
                self.local = size
                packets.complaints(self.sock)
                return False
            answer = self._answer(wanted)
            self.said += [one for one in packets.complaints(self.sock) if one.by]
            if answer is not None:
                self.remote = size if not answer else self.remote
                return answer
            self.line.alive()
        return False

    def _answer(self, wanted: int) -> bool | None:
        """True: it came; False: the peer refused to send it; None: silence."""
        begun = time.monotonic()
        until = begun + self.wait_s
        while True:
            left = until - time.monotonic()
            if left <= 0:
                return None
            if not select.select([self.sock], [], [], left)[0]:
                continue
            for one in echoing.arrivals(self.sock):
                if len(one.data) < LEAST:
                    continue
                session, kind, _, _, number, _ = HEAD.unpack_from(one.data)
                if session != self.line.session or number != self._number:
                    continue
                if kind in (wanted, TOO_LONG):
                    self.wait_s = max(_LEAST_WAIT_S, min(self.longest_s, 8 * (time.monotonic() - begun)))
                    return bool(kind == wanted)
            if packets_refused(self.sock, self.said):
                return None


def packets_refused(sock: socket.socket, said: list[packets.Complaint]) -> bool:
    """Whether a hop said that the packet was too long: nothing more is to be waited for."""
    new = [one for one in packets.complaints(sock) if one.by]
    said += new
    return bool(new)


def measure(line: Line, _ask: Ask) -> Sizes:
    """Both ways; the peer's configured MTU comes over the control channel."""
    here = host.interface_of(line.here).mtu_bytes
    opened = line.call("sizes", span_ms=int(20_000 + _SEARCH * line.rtt_s * 1000))
    peer = opened.get("mtu_bytes")
    with packets.open_socket(line.family, line.here) as sock:
        sock.setblocking(False)
        prober = _Prober(line, sock, int(opened["port"]))
        top = min(here or 1500, _LARGEST)
        there = _limit(prober.forward, top)
        forward = _Way(there, _stopper(there, top, prober.local, prober.said))
        prober.said.clear()
        top_back = min(max(peer or top, top), _LARGEST)
        back_most = _limit(prober.back, top_back)
        fragments = _fragments(prober, sock, there or 0)
        said = line.call("done").get("complaints", [])
        back = _Way(back_most, _back_stopper(back_most, top_back, prober.remote, said))
    line.path_bytes = forward.most or 0
    believed = packets.path_mtu((line.peer, int(opened["port"])), line.family)
    return Sizes(here, peer, forward.most, forward.by, back.most, back.by, believed, fragments)


def _fragments(prober: _Prober, sock: socket.socket, most: int) -> bool | None:
    """A datagram of more than two packets' length, which hosts and hops may cut."""
    size = 2 * most + 100
    if not most or size > _CUT:
        return None
    packets.let_cut(sock)
    prober.wait_s = prober.longest_s
    return prober.forward(size)


def _limit(arrives: Callable[[int], bool], top: int) -> int | None:
    """The longest length up to `top` that arrives, by the usual ones first and then by halving."""
    if arrives(top):
        return top
    low, high = 0, top
    for size in _USUAL:
        if size >= high:
            continue
        if arrives(size):
            low = size
            break
        high = size
    if not low:
        if not arrives(_SMALLEST):
            return None
        low = _SMALLEST
    if not arrives(low + 1):
        return low
    low += 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if arrives(middle) else (low, middle)
    return low


def _stopper(most: int | None, top: int, local: int, said: list[packets.Complaint]) -> str:
    if most == top:
        return ""
    if said:
        return said[-1].by
    return "local" if local and most is not None and local <= most + 1 else "silent"


def _back_stopper(most: int | None, top: int, remote: int, said: list[list[object]]) -> str:
    if most == top:
        return ""
    named = [str(by) for by, _ in said if by]
    if named:
        return named[-1]
    return "local" if remote and most is not None and remote <= most + 1 else "silent"


def answer(end: End, args: dict[str, Any]) -> dict[str, Any]:
    """As for echoes; the configured MTU is told first."""
    mtu = host.interface_of(end.here).mtu_bytes
    return echoing.answer(end, args, mtu_bytes=mtu)


PROBE = Probe("sizes", 20, Sizes, measure, answer)
