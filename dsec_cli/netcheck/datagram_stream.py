"""Both ends of a steady stream of datagrams: one sends at a rate, the other counts what comes.

What the sender's own queue refuses or delays is counted apart: it never was on the wire. What the
receiver did not fetch in time, and what its kernel dropped as damaged, is counted apart, too.
"""

from __future__ import annotations

import errno
import os
import select
import time
from typing import Any

from dsec_cli.netcheck import host, packets
from dsec_cli.netcheck.packets import CE, DATA, ECT, HEAD, LEAST
from dsec_cli.netcheck.readings import Delays, Stream, delays_of, rate_bps

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from collections.abc import Callable

    from dsec_cli.netcheck.rate_budget import RateBudget

_SLACK_NS = 200_000_000
"""How far the sender may be behind and still catch up."""
_GROUP = 16
"""Datagrams that a sender which is behind sends at once: few enough for any queue."""
_FINE_NS = 80_000
"""Gaps below which single sleeps are too coarse: datagrams go in small groups."""
_LOOK_NS = 50_000_000
_IDLE_S = 0.4
"""Silence after which nothing more is expected, beside two round trips."""
_FRAME = 14
"""Bytes that Ethernet adds to a packet, as interfaces count it."""
NOT_SENT = (errno.EPERM, errno.EACCES, errno.ENETUNREACH, errno.ENETDOWN, errno.EINVAL)
"""This host's own filter or routes; nothing was on the wire."""
_COMPLAINT = (errno.EMSGSIZE, errno.ECONNREFUSED, errno.EHOSTUNREACH)


class Sender:
    """Sends at a rate, and minds what its own host does with it."""

    def __init__(
        self,
        sock: socket.socket,
        peer: tuple[str, int],
        session: bytes,
        *,
        alive: Callable[[], object],
        budget: RateBudget | None = None,
    ) -> None:
        """`alive` is asked now and then whether to go on; what it raises ends the stream."""
        self._sock, self._peer, self._session = sock, peer, session
        self._alive, self._budget = alive, budget
        self._extra = packets.headers(sock.family)
        self.sent = self.refused = self.blocked_ns = self.span_ns = self.begun_ns = 0
        self.refused_by = ""
        self.others_bps: int | None = None

    def send(self, rate: int, size: int, *, span_ns: int) -> None:
        """Datagrams of `size` bytes, headers included, for a time."""
        self._sock.setblocking(False)
        self._sock.connect(self._peer)
        gap = max(1, size * 8 * 1_000_000_000 // rate)
        padding = bytes(size - self._extra - LEAST)
        card = Traffic(self._sock.getsockname()[0], "tx_bytes")
        begun = due = looked = time.monotonic_ns()
        until = begun + span_ns
        while (now := time.monotonic_ns()) < until and not self.refused_by:
            if now - looked > _LOOK_NS:
                self._alive()
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
            if self._budget is not None:
                self._budget.take(group * size, until=until / 1e9)
            if behind > group:
                time.sleep(gap * group / 2e9)
        self.begun_ns, self.span_ns = begun, time.monotonic_ns() - begun
        self.others_bps = card.others_bps(self.sent * (size + _FRAME), self.span_ns)

    def _put(self, padding: bytes) -> None:
        """One datagram; where the own queue is full, wait and leave it."""
        data = HEAD.pack(self._session, DATA, 0, len(padding), self.sent, time.time_ns()) + padding
        try:
            self._sock.send(data)
        except BlockingIOError:
            begun = time.monotonic_ns()
            select.select([], [self._sock], [], 1.0)
            self.blocked_ns += time.monotonic_ns() - begun
        except OSError as problem:
            self._refused(problem)
        else:
            self.sent += 1

    def _refused(self, problem: OSError) -> None:
        if problem.errno == errno.ENOBUFS:
            self.refused += 1
            time.sleep(0.0005)
            self.blocked_ns += 500_000
        elif problem.errno in NOT_SENT:
            self.refused_by = os.strerror(problem.errno or 0)
        elif problem.errno in _COMPLAINT:
            packets.complaints(self._sock)
        else:
            raise problem

    def told(self) -> dict[str, Any]:
        """As it travels from an end that was asked to send."""
        return {
            "sent": self.sent,
            "sent_ns": self.span_ns,
            "own_drops": self.refused,
            "blocked_ns": self.blocked_ns,
            "refused_by": self.refused_by,
            "others_bps": self.others_bps,
            "begun_ns": self.begun_ns,
        }


class Traffic:
    """What an interface carries that is not ours, by its kernel's counter."""

    def __init__(self, address: str, key: str) -> None:
        self._name, self._key = host.interface_of(address).name, key
        self._before, self._at_ns = self._count(), time.monotonic_ns()

    def _count(self) -> int | None:
        return dict(host.interface(self._name).counters).get(self._key) if self._name else None

    def others_bps(self, ours: int, span_ns: int) -> int | None:
        """Bits a second of others since it was made; None: the kernel does not tell.

        `span_ns` is what ours took; a counter that is refreshed now and then may miss some of ours.
        """
        after = self._count()
        if self._before is None or after is None or self._name == "lo" or after - self._before < ours * 0.9:
            return None
        return rate_bps(max(0, after - self._before - ours), max(span_ns, time.monotonic_ns() - self._at_ns))


class Catcher:
    """Counts datagrams as they come."""

    def __init__(self, session: bytes, peer: str, address: str) -> None:
        self._session, self._peer = session, peer
        self._seen: set[int] = set()
        self._delays: list[int] = []
        self._marks = [0, 0, 0, 0]
        self._last = -1
        self._first_ns = self._last_ns = 0
        self._busy = packets.backlogged()
        self._damaged = packets.damaged()
        self._card = Traffic(address, "rx_bytes")
        self.count = self.bytes = self.late = self.overflowed = self.damaged = 0

    def fetch(self, sock: socket.socket) -> int:
        """All that waits, and how many bytes it was; a burst is bounded, so that the other end is heard."""
        unpack, seen, delays, marks = HEAD.unpack_from, self._seen, self._delays, self._marks
        before = self.bytes
        for _ in range(2000):
            try:
                one = packets.receive(sock, 16384)
            except BlockingIOError:
                break
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
        return self.bytes - before

    def wait(self, sock: socket.socket, sent: int, rtt_s: float) -> None:
        """Fetch what is still on its way, then lay what is missing at this host as far as it is its doing."""
        while self.count < sent and select.select([sock], [], [], _IDLE_S + 2 * rtt_s)[0]:
            self.fetch(sock)
        # A socket's count of drops has those with a wrong checksum, too; others' may be among the host's.
        missing = max(0, sent - self.received)
        self.damaged = min(missing, packets.damaged() - self._damaged)
        unfetched = max(self.overflowed, packets.dropped(sock)) - self.damaged
        missing = max(0, missing - self.damaged - max(0, unfetched))
        # What the host dropped before any socket may be others' traffic, but not more than is missing here.
        self.overflowed = max(0, unfetched) + min(missing, packets.backlogged() - self._busy)

    @property
    def received(self) -> int:
        """Different datagrams so far."""
        return len(self._seen)

    def told(self) -> dict[str, Any]:
        """As it travels."""
        least = min(self._delays, default=0)
        waiting = delays_of([delay - least for delay in self._delays])
        extra = self.count * (packets.headers(2) + _FRAME)
        span_ns = self._last_ns - self._first_ns
        return {
            "received": len(self._seen),
            "twice": self.count - len(self._seen),
            "late": self.late,
            "span_ns": span_ns,
            "overflowed": self.overflowed,
            "waiting": None if waiting is None else list(waiting),
            "kept": self._marks[ECT],
            "marked": self._marks[CE],
            "bleached": self._marks[0] + self._marks[1],
            "first_ns": self._first_ns,
            "damaged": self.damaged,
            "others_bps": self._card.others_bps(self.bytes + extra, span_ns),
        }


def reading(rate: int, size: int, sent: dict[str, Any], seen: dict[str, Any]) -> Stream:
    """What both ends say of one stream."""
    waiting = seen["waiting"]
    return Stream(
        asked_bps=rate,
        size_bytes=size,
        sent=int(sent["sent"]),
        sent_ns=int(sent["sent_ns"]),
        own_drops=int(sent["own_drops"]),
        blocked_ns=int(sent["blocked_ns"]),
        received=int(seen["received"]),
        twice=int(seen["twice"]),
        late=int(seen["late"]),
        received_ns=int(seen["span_ns"]),
        peer_drops=int(seen["overflowed"]),
        waiting=None if waiting is None else Delays(*map(int, waiting)),
        kept=int(seen["kept"]),
        marked=int(seen["marked"]),
        bleached=int(seen["bleached"]),
        sent_from_ns=int(sent["begun_ns"]),
        received_from_ns=int(seen["first_ns"]),
        damaged=int(seen["damaged"]),
        others_sender_bps=_maybe(sent["others_bps"]),
        others_receiver_bps=_maybe(seen["others_bps"]),
        refused_by=str(sent["refused_by"])[:200],
    )


def _maybe(value: Any) -> int | None:
    return None if value is None else int(value)
