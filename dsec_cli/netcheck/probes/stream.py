"""Datagrams at a steady rate: what is lost, where it waits, and who marks it.

What this host's own queue refuses or delays is counted apart: it never was on the wire. What the peer
did not fetch in time is counted apart, too. When datagrams are lost the stream is repeated at half its
rate: a full link loses nothing then, a bad one loses as before.
"""

from __future__ import annotations

import errno
import select
import socket
import time
from typing import Any

from dsec_cli.netcheck import packets
from dsec_cli.netcheck.packets import CE, DATA, ECT, HEAD, LEAST
from dsec_cli.netcheck.probe import Probe
from dsec_cli.netcheck.readings import Delays, Stream, delays_of, widest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dsec_cli.netcheck.line import Ask, End, Line

_USUAL = 1500
_SAFE = 1280
_LARGEST = 9000
_SLACK_NS = 200_000_000
"""How far the sender may be behind and still catch up."""
_GROUP = 16
"""Datagrams that a sender which is behind sends at once: few enough for any queue."""
_FINE_NS = 80_000
"""Gaps below which single sleeps are too coarse: datagrams go in small groups."""
_LOOK_NS = 50_000_000
_IDLE_S = 0.4
"""Silence after which nothing more is expected."""
_FEW = 3
"""Losses below which the slower stream would tell nothing."""


def measure(line: Line, ask: Ask) -> Stream:
    """At most the rate and time that both ends allow."""
    rate = max(64_000, min(ask.stream_bps, line.limits.rate_bps))
    size = ask.packet_bytes or (min(_USUAL, line.path_bytes) if line.path_bytes else _SAFE)
    size = max(LEAST + packets.headers(line.family), min(size, _LARGEST))
    span_ns = min(ask.span_ms * 1_000_000, line.limits.span_s * 1_000_000_000)
    first = _one(line, rate, size=size, span_ns=span_ns)
    lost = first.sent - first.received - first.peer_drops
    if lost < _FEW:
        return first
    again = _one(line, rate // 2, size=size, span_ns=span_ns)
    return first._replace(
        slower_sent=again.sent, slower_received=min(again.sent, again.received + again.peer_drops)
    )


def _one(line: Line, rate: int, *, size: int, span_ns: int) -> Stream:
    opened = line.call("stream", span_ms=2 * span_ns // 1_000_000 + 5000, bps=rate)
    with packets.open_socket(line.family, line.here) as sock:
        sender = _Sender(line, sock, (line.peer, int(opened["port"])))
        sender.send(rate, size, span_ns=span_ns)
    seen = line.call("done", sent=sender.sent, within_s=10.0)
    waiting = seen.get("waiting")
    return Stream(
        asked_bps=rate,
        size_bytes=size,
        sent=sender.sent,
        sent_ns=sender.span_ns,
        own_drops=sender.refused,
        blocked_ns=sender.blocked_ns,
        received=int(seen["received"]),
        twice=int(seen["twice"]),
        late=int(seen["late"]),
        received_ns=int(seen["span_ns"]),
        peer_drops=int(seen["overflowed"]),
        waiting=None if waiting is None else Delays(*map(int, waiting)),
        kept=int(seen["kept"]),
        marked=int(seen["marked"]),
        bleached=int(seen["bleached"]),
    )


class _Sender:
    """Sends at a rate, and minds what its own host does with it."""

    def __init__(self, line: Line, sock: socket.socket, peer: tuple[str, int]) -> None:
        self._line, self._sock, self._peer = line, sock, peer
        self.sent = self.refused = self.blocked_ns = self.span_ns = 0

    def send(self, rate: int, size: int, *, span_ns: int) -> None:
        self._sock.setblocking(False)
        self._sock.connect(self._peer)
        gap = size * 8 * 1_000_000_000 // rate
        padding = bytes(size - packets.headers(self._line.family) - LEAST)
        begun = due = looked = time.monotonic_ns()
        until = begun + span_ns
        while (now := time.monotonic_ns()) < until:
            if now - looked > _LOOK_NS:
                self._line.alive()
                looked = now
            if due > now:
                time.sleep((due - now) / 1e9)
                continue
            # Who is behind catches up in small groups with pauses, not in one burst that no flow has.
            behind = min((now - due) // gap + 1, _SLACK_NS // gap + 1)
            group = behind if gap < _FINE_NS else min(behind, _GROUP)
            for _ in range(group):
                self._put(padding)
            due = max(due + group * gap, now - _SLACK_NS)
            if behind > group:
                time.sleep(gap * group / 2e9)
        self.span_ns = time.monotonic_ns() - begun

    def _put(self, padding: bytes) -> None:
        """One datagram; where the own queue is full, wait and leave it."""
        data = HEAD.pack(self._line.session, DATA, 0, len(padding), self.sent, time.time_ns()) + padding
        try:
            self._sock.send(data)
        except BlockingIOError:
            begun = time.monotonic_ns()
            select.select([], [self._sock], [], 1.0)
            self.blocked_ns += time.monotonic_ns() - begun
        except OSError as problem:
            if problem.errno == errno.ENOBUFS:
                self.refused += 1
                time.sleep(0.0005)
                self.blocked_ns += 500_000
            elif problem.errno in (errno.EMSGSIZE, errno.ECONNREFUSED, errno.EHOSTUNREACH):
                packets.complaints(self._sock)
            else:
                raise
        else:
            self.sent += 1


def answer(end: End, args: dict[str, Any]) -> dict[str, Any]:
    """Count what comes until the other end is done; no more than this end allows."""
    catcher = _Catcher(end)
    until = time.monotonic() + end.bounded(args, "span_ms")
    most_bytes = end.limits.rate_bps / 8 * 1.5
    begun, busy = time.monotonic(), packets.backlogged()
    with packets.open_socket(end.family, end.here) as sock:
        sock.setblocking(False)
        end.channel.send({"port": sock.getsockname()[1]})
        while time.monotonic() < until:
            ready = select.select([sock, end.channel.sock], [], [], 0.2)[0]
            if sock in ready:
                catcher.fetch(sock)
            if end.channel.sock in ready:
                break
            if catcher.bytes > most_bytes * (time.monotonic() - begun + 1):
                raise PermissionError(f"more than {end.limits.rate_bps} bit/s came")
        sent = int(end.channel.receive(within_s=5.0).get("sent", 0))
        while catcher.count < sent and select.select([sock], [], [], _IDLE_S)[0]:
            catcher.fetch(sock)
        unfetched = max(catcher.overflowed, packets.dropped(sock))
    missing = max(0, sent - catcher.received - unfetched)
    # What the host dropped before any socket may be others' traffic, but not more than is missing here.
    catcher.overflowed = unfetched + min(missing, packets.backlogged() - busy)
    return catcher.told()


class _Catcher:
    """Counts datagrams as they come."""

    def __init__(self, end: End) -> None:
        self._session, self._peer = end.session, end.peer
        self._seen: set[int] = set()
        self._delays: list[int] = []
        self._marks = [0, 0, 0, 0]
        self._last = -1
        self._first_ns = self._last_ns = 0
        self.count = self.bytes = self.late = self.overflowed = 0

    def fetch(self, sock: socket.socket) -> None:
        """All that waits; a burst is bounded, so that the other end is heard."""
        unpack, seen, delays, marks = HEAD.unpack_from, self._seen, self._delays, self._marks
        for _ in range(2000):
            try:
                one = packets.receive(sock, 16384)
            except BlockingIOError:
                return
            if one is None or len(one.data) < LEAST or one.source[0] != self._peer:
                continue
            session, kind, _, _, number, at_ns = unpack(one.data)
            if session != self._session or kind != DATA:
                continue
            now = one.at_ns or time.time_ns()
            self.overflowed = max(self.overflowed, one.overflowed)
            self.count += 1
            self.bytes += len(one.data)
            self._first_ns, self._last_ns = self._first_ns or now, now
            seen.add(number)
            delays.append(now - at_ns)
            marks[one.tos & 3] += 1
            if number < self._last:
                self.late += 1
            else:
                self._last = number

    @property
    def received(self) -> int:
        """Different datagrams so far."""
        return len(self._seen)

    def told(self) -> dict[str, Any]:
        """As it travels."""
        least = min(self._delays, default=0)
        waiting = delays_of([delay - least for delay in self._delays])
        return {
            "received": len(self._seen),
            "twice": self.count - len(self._seen),
            "late": self.late,
            "span_ns": self._last_ns - self._first_ns,
            "overflowed": self.overflowed,
            "waiting": None if waiting is None else list(waiting),
            "kept": self._marks[ECT],
            "marked": self._marks[CE],
            "bleached": self._marks[0] + self._marks[1],
        }


def combined(rows: Sequence[Stream]) -> Stream:
    """Streams of several processes as one."""

    def total(name: str) -> int:
        return sum(getattr(row, name) for row in rows)

    summed = ["asked_bps", "sent", "own_drops", "received", "twice", "late", "peer_drops"]
    summed += ["kept", "marked", "bleached", "slower_sent", "slower_received"]
    longest = ("sent_ns", "blocked_ns", "received_ns")
    return rows[0]._replace(
        waiting=widest(row.waiting for row in rows),
        **{name: total(name) for name in summed},
        **{name: max(getattr(row, name) for row in rows) for name in longest},
    )


PROBE = Probe("stream", 30, Stream, measure, answer, combined)
