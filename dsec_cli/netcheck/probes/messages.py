"""The flow itself: messages of its size at its rate over its connections, each acknowledged by a program.

A message's time runs from when it was due, not from when the sender got round to it: a path that
stalls is charged for what had to wait meanwhile.
"""

from __future__ import annotations

import contextlib
import queue
import socket
import struct
import threading
import time
from typing import Any

from dsec_cli.netcheck import tcp
from dsec_cli.netcheck.line import ANSWER_S, joined
from dsec_cli.netcheck.probe import Probe
from dsec_cli.netcheck.readings import Messages, delays_of, rate_bps, union_ns, widest
from dsec_cli.netcheck.starving import waited_ns
from dsec_cli.netcheck.wire import LineLost, Stalled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dsec_cli.netcheck.line import Ask, End, Line
    from dsec_cli.netcheck.rate_budget import RateBudget

_LENGTH = struct.Struct("!Q")
_ACK = b"\x06"
_AT_LEAST = 3
"""Messages, however rare the flow is."""
_BEFORE_S = 0.5
_MOST_CONNECTIONS = 64


def measure(line: Line, ask: Ask) -> Messages:
    """As many messages as fall into the time, at least three."""
    connections = max(1, min(ask.connections, _MOST_CONNECTIONS))
    span_ms = min(ask.span_ms, line.limits.span_s * 1000)
    asked = max(_AT_LEAST, ask.per_1000s * span_ms // 1_000_000) if ask.per_1000s else 0
    gap_ns = 1_000_000_000_000 // ask.per_1000s if ask.per_1000s else 0
    # Rare messages are not waited for: they come as soon as the last one was acknowledged.
    gap_ns = min(gap_ns, span_ms * 1_000_000 // _AT_LEAST) if asked else 0
    # The other end waits so long, this one a little less: what is on its way then counts as not delivered.
    until = time.monotonic() + min(3 * span_ms / 1000, line.limits.span_s) + ANSWER_S - _BEFORE_S
    opened = line.call("messages", connections=connections, span_ms=3 * span_ms)
    socks = [joined(line, int(opened["port"])) for _ in range(connections)]
    work = _Work(ask.size_bytes, asked, gap_ns=gap_ns, span_ns=span_ms * 1_000_000)
    threads = [threading.Thread(target=work.carry, args=(sock,), daemon=True) for sock in socks]
    for sock in socks:
        tcp.pace(sock, line.limits.rate_bps // connections)
    work.begin()
    for thread in threads:
        thread.start()
    for thread in threads:
        while thread.is_alive():
            thread.join(0.1)
            line.alive()
            if time.monotonic() > until:
                work.late = True
                for sock in socks:
                    with contextlib.suppress(OSError):  # that one is through
                        sock.shutdown(socket.SHUT_RDWR)
    kernels = [tcp.info(sock) for sock in socks]
    for sock in socks:
        sock.close()
    ended = line.answer(within_s=ANSWER_S)
    found = work.reading(ask, sum(one.resent for one in kernels), connections=connections)
    return found._replace(
        waited_ns=max(work.waits, default=0) + int(ended.get("waited_ns", 0)),
        rtt_ns=min(one.least_rtt_ns for one in kernels),
        allowed_bps=line.limits.rate_bps,
    )


class _Work:
    """Messages that several connections take from one timetable."""

    def __init__(self, size: int, asked: int, *, gap_ns: int, span_ns: int) -> None:
        self._block = memoryview(bytes(min(size, tcp.CHUNK)))
        self._size, self._asked, self._gap_ns, self._span_ns = size, asked, gap_ns, span_ns
        self._lock = threading.Lock()
        self._next = self._begun = self._ended = 0
        self._times: list[tuple[int, int]] = []
        self._broken, self._stalled = "", False
        self.waits: list[int] = []
        """How long each thread waited for a processor."""
        self.late = False
        """Whether there is no time left for what is on its way."""

    def begin(self) -> None:
        self._begun = time.monotonic_ns()

    def _take(self) -> tuple[int, int] | None:
        """(number, when it is due), or None: there are no more."""
        with self._lock:
            now = time.monotonic_ns()
            # A path that carries less than is asked is not waited for without end.
            over = now > self._begun + (2 if self._asked else 1) * self._span_ns
            if (
                self._broken
                or (over and self._next >= _AT_LEAST)
                or (self._asked and self._next >= self._asked)
            ):
                return None
            number = self._next
            self._next += 1
        return number, self._begun + number * self._gap_ns if self._gap_ns else now

    def carry(self, sock: socket.socket) -> None:
        """All of this connection's messages."""
        self._guarded(self._on_time if self._gap_ns else self._in_turn, sock)

    def _guarded(self, work: Callable[..., None], sock: socket.socket, *more: Any) -> None:
        try:
            work(sock, *more)
        except TimeoutError:
            self._stalled = True
            self._broken = "TCP connects, and then no message gets through"
        except OSError as problem:
            self._broken = f"a connection for messages broke: {problem.strerror or problem}"
        except LineLost as problem:
            self._broken = problem.what
        self.waits.append(waited_ns())

    def _in_turn(self, sock: socket.socket) -> None:
        """Each when the last one was acknowledged."""
        while (job := self._take()) is not None:
            self._send(sock)
            self._acknowledged(sock, job)

    def _on_time(self, sock: socket.socket) -> None:
        """Each when it is due, whether or not earlier ones were acknowledged: a long path has many on it."""
        jobs: queue.SimpleQueue[tuple[int, int] | None] = queue.SimpleQueue()
        reader = threading.Thread(target=self._guarded, args=(self._read, sock, jobs), daemon=True)
        reader.start()
        try:
            while (job := self._take()) is not None:
                early = job[1] - time.monotonic_ns()
                if early > 0:
                    time.sleep(early / 1e9)
                jobs.put(job)
                self._send(sock)
        finally:
            jobs.put(None)
            reader.join()

    def _read(self, sock: socket.socket, jobs: queue.SimpleQueue[tuple[int, int] | None]) -> None:
        while (job := jobs.get()) is not None:
            self._acknowledged(sock, job)

    def _send(self, sock: socket.socket) -> None:
        sock.sendall(_LENGTH.pack(self._size))
        left = self._size
        while left:
            left -= sock.send(self._block[: min(left, len(self._block))])

    def _acknowledged(self, sock: socket.socket, job: tuple[int, int]) -> None:
        while True:
            went = tcp.info(sock).went
            try:
                said = sock.recv(1)
            except TimeoutError:
                if tcp.info(sock).went == went:
                    raise
                continue  # slow, and under way
            break
        if said != _ACK:
            raise LineLost("the other end closed a connection for messages")
        ended = time.monotonic_ns()
        with self._lock:
            self._times.append((job[0], ended - job[1]))
            self._ended = max(self._ended, ended)

    def reading(self, ask: Ask, resent: int, *, connections: int) -> Messages:
        if self._broken and not self.late:
            raise (Stalled if self._stalled else LineLost)(self._broken)
        done = len(self._times)
        # The last message needs its way, too, however wide the path is.
        least = min((taken for _, taken in self._times), default=0)
        span = max(self._ended - self._begun - least, self._gap_ns * done)
        return Messages(
            size_bytes=self._size,
            asked=self._asked or (self._next if self.late else done),
            done=done,
            asked_bps=self._size * 8 * ask.per_1000s // 1000,
            achieved_bps=rate_bps(self._size * done, span),
            delays=delays_of([taken for _, taken in sorted(self._times)]),
            resent=resent,
            connections=connections,
            begun_ns=self._begun,
            span_ns=span,
        )


def answer(end: End, args: dict[str, Any]) -> dict[str, Any]:
    """Take messages from every connection until each is closed."""
    connections = max(1, min(int(args.get("connections", 1)), _MOST_CONNECTIONS))
    until = time.monotonic() + end.bounded(args, "span_ms") + ANSWER_S
    waits: list[int] = []
    with end.listening() as listening:
        threads = [
            threading.Thread(
                target=_taken, args=(end.connection(listening), until, end.budget, waits), daemon=True
            )
            for _ in range(connections)
        ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(0.0, until - time.monotonic()))
    return {"ended": True, "waited_ns": max(waits, default=0)}


def _taken(sock: socket.socket, until: float, budget: RateBudget, waits: list[int]) -> None:
    """Take messages, and note how long this thread waited for a processor."""
    _take(sock, until, budget)
    waits.append(waited_ns())


def _take(sock: socket.socket, until: float, budget: RateBudget) -> None:
    most = budget.step(tcp.CHUNK)
    room = bytearray(most)
    try:
        with sock:
            while time.monotonic() < until:
                head = _head(sock)
                if len(head) < _LENGTH.size:
                    return
                left = _LENGTH.unpack(head)[0]
                while left:
                    got = sock.recv_into(room, min(left, most), socket.MSG_TRUNC)
                    if not got:
                        return
                    left -= got
                    budget.take(got, until=until)
                sock.sendall(_ACK)
    except OSError:
        return


def _head(sock: socket.socket) -> bytes:
    found = b""
    while len(found) < _LENGTH.size:
        part = sock.recv(_LENGTH.size - len(found))
        if not part:
            return found
        found += part
    return found


def combined(rows: Sequence[Messages]) -> Messages:
    """Messages of several processes as one flow."""
    if len(rows) == 1:
        return rows[0]
    summed = ("asked", "done", "asked_bps", "resent", "connections", "allowed_bps")
    span_ns = union_ns((row.begun_ns, row.span_ns) for row in rows)
    return rows[0]._replace(
        achieved_bps=rate_bps(sum(row.size_bytes * row.done for row in rows), span_ns),
        begun_ns=min(row.begun_ns for row in rows),
        span_ns=span_ns,
        rtt_ns=min(row.rtt_ns for row in rows),
        delays=widest(row.delays for row in rows),
        waited_ns=max(row.waited_ns for row in rows),
        **{name: sum(getattr(row, name) for row in rows) for name in summed},
    )


PROBE = Probe("messages", 50, Messages, measure, answer, combined)
