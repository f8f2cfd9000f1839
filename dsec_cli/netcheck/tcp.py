"""Bytes over TCP as fast as they go, what the kernel says of the connection, and its own price."""

from __future__ import annotations

import select
import socket
import struct
import time
from typing import Any

from dsec.record import Record
from dsec_cli.netcheck.starving import waited_ns
from dsec_cli.netcheck.wire import LineLost, Stalled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.netcheck.rate_budget import RateBudget

CHUNK = 1 << 20
_BLOCK = 1 << 18
"""Bytes of one send: they stay in the second-level cache, from which the kernel copies them each time."""
_AT_ONCE = 1 << 19
"""A fast stream wakes its receiver for no less: each waking costs the sender as much as many segments do."""
_FAST_BYTES, _FAST_NS = 1 << 24, 100_000_000
"""What is fast: so many bytes within this time. A slower stream is timed as its bytes come."""
_GAP_S = 0.01
"""A stream that brings less than that for so long is no longer fast."""
_PACING = 47
_TRUNC = socket.MSG_TRUNC
_INFO_BYTES = 232
SAMPLES = 24
"""Moments of one stream at which the kernel's count is read."""


class Kernel(Record):
    """Fields of TCP_INFO that say something about the path."""

    resent: int
    segments: int
    rtt_ns: int
    least_rtt_ns: int
    busy_us: int
    window_us: int
    """Held by the receiver's window."""
    buffer_us: int
    """Held by the sender's own buffer."""
    went: int = 0
    """Bytes that the other end's kernel has acknowledged."""
    came: int = 0
    """Bytes that arrived in order, also those that no program has fetched yet."""


class Passed(Record):
    """What went one way."""

    count: int  # type: ignore[assignment] # a tuple's method of this name is never used here
    """Bytes."""
    span_ns: int
    cpu_ns: int
    waited_ns: int = 0
    """How long the program could have run and waited for a processor."""
    trace: tuple[tuple[int, int], ...] = ()
    """Of the receiver: moments of its monotonic clock, and the bytes that its kernel had by then."""


def info(sock: socket.socket) -> Kernel:
    """TCP_INFO; a kernel that is older than a field answers 0 for it."""
    raw = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _INFO_BYTES).ljust(_INFO_BYTES, b"\0")

    def wide(at: int) -> int:
        return int(struct.unpack_from("Q", raw, at)[0])

    def narrow(at: int) -> int:
        return int(struct.unpack_from("I", raw, at)[0])

    return Kernel(
        resent=narrow(100),
        segments=narrow(156),
        rtt_ns=narrow(68) * 1000,
        least_rtt_ns=narrow(148) * 1000,
        busy_us=wide(168),
        window_us=wide(176),
        buffer_us=wide(184),
        went=wide(120),
        came=wide(128),
    )


def pace(sock: socket.socket, rate_bps: int) -> None:
    """Keep the kernel from sending faster."""
    sock.setsockopt(socket.SOL_SOCKET, _PACING, struct.pack("Q", max(1, rate_bps // 8)))


def pour(sock: socket.socket, span_s: float, *, budget: RateBudget | None = None) -> Passed:
    """Send for a time, then say that it is the end."""
    block = memoryview(bytes(_BLOCK if budget is None else budget.step(_BLOCK)))
    send, clock = sock.send, time.monotonic_ns
    count = 0
    cpu, waited, begun = time.process_time_ns(), waited_ns(), clock()
    until = begun + int(span_s * 1e9)
    try:
        while clock() < until:
            passed_now = send(block)
            count += passed_now
            if budget is not None:
                budget.take(passed_now, until=until / 1e9)
    except TimeoutError:
        raise Stalled("TCP connects, and then nothing gets through") from None
    except OSError as problem:
        raise LineLost(f"the data connection broke: {problem.strerror or problem}") from None
    passed = Passed(count, clock() - begun, time.process_time_ns() - cpu, waited_ns() - waited)
    sock.shutdown(socket.SHUT_WR)
    return passed


class _Trace:
    """The kernel's count of what came, now and then, which a program that has to wait does not change."""

    def __init__(self, sock: socket.socket, span_s: float) -> None:
        self._sock, self._gap_ns = sock, int(span_s * 1e9) // SAMPLES
        self.rows: list[tuple[int, int]] = []
        self.due = 0

    def note(self, now: int) -> None:
        if len(self.rows) < 4 * SAMPLES:  # a stream that takes longer than it was to is not followed for ever
            self.rows.append((now, info(self._sock).came))
        self.due = now + self._gap_ns

    def ended(self, last: int) -> tuple[tuple[int, int], ...]:
        """With the count at the last bytes, which is that at the end."""
        if self.rows and last > self.rows[-1][0]:
            self.rows.append((last, info(self._sock).came))
        return tuple(self.rows)


def drain(sock: socket.socket, *, span_s: float = 2.0, budget: RateBudget | None = None) -> Passed:
    """Take all that comes, dropped by the kernel without a copy; `span_s`: how long it is sent for."""
    room, clock = bytearray(CHUNK), time.monotonic_ns
    trace, most = _Trace(sock, span_s), CHUNK if budget is None else budget.step(CHUNK)
    count = first = last = 0
    looked, looked_at, looks_again = 0, clock(), True
    cpu, waited = time.process_time_ns(), waited_ns()
    patience_s = sock.gettimeout()
    while got := next_bytes(sock, room, patience_s, most=most):
        last = clock()
        first = first or last
        count += got
        if last >= trace.due:
            trace.note(last)
        if looks_again and count - looked > _FAST_BYTES:
            if last - looked_at < _FAST_NS and most == CHUNK:
                _wake(sock, _AT_ONCE)
                sock.settimeout(_GAP_S)
                looks_again = False
            looked, looked_at = count, last
        if budget is not None:
            budget.take(got)
    cpu, waited = time.process_time_ns() - cpu, waited_ns() - waited
    return Passed(count, last - first, cpu, waited, trace.ended(last))


def next_bytes(sock: socket.socket, room: bytearray, patience_s: float | None, *, most: int = CHUNK) -> int:
    """Bytes that came into `room` or were dropped for it, 0 at the end; raises Stalled and LineLost.

    A socket whose time-out is shorter than `patience_s` waits for much at once. When that does not come
    in time, any byte wakes it from then on, and it waits for `patience_s`.
    """
    try:
        try:
            return sock.recv_into(room, most, _TRUNC)
        except TimeoutError:
            _wake(sock, 1)
            if sock.gettimeout() == patience_s and not select.select([sock], [], [], 0)[0]:
                raise
            sock.settimeout(patience_s)
            return sock.recv_into(room, most, _TRUNC)
    except TimeoutError:
        raise Stalled("TCP connects, and then nothing gets through") from None
    except OSError as problem:
        raise LineLost(f"the data connection broke: {problem.strerror or problem}") from None


def _wake(sock: socket.socket, count: int) -> None:
    """Wake whoever waits for this connection when so many bytes, or its end, are there."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, count)


def told(passed: Passed) -> dict[str, Any]:
    """As it travels."""
    rows = [list(row) for row in passed.trace]
    document = {"bytes": passed.count, "span_ns": passed.span_ns, "cpu_ns": passed.cpu_ns}
    return {**document, "waited_ns": passed.waited_ns, "trace": rows}


def trace_of(document: dict[str, Any]) -> tuple[tuple[int, int], ...]:
    """The trace of what `told` wrote."""
    return tuple((int(at), int(count)) for at, count in document["trace"])
