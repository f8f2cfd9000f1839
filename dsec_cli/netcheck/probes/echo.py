"""Round trips of small datagrams: delay, loss, and what becomes of their ECN mark on both ways."""

from __future__ import annotations

import os
import select
import time

from dsec_cli.netcheck import echoing, packets
from dsec_cli.netcheck.datagram_stream import NOT_SENT
from dsec_cli.netcheck.packets import CE, ECT, HEAD, LEAST, PING, PONG
from dsec_cli.netcheck.probe import Probe
from dsec_cli.netcheck.readings import Delays, Echo, delays_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket

    from dsec_cli.netcheck.line import Ask, Line
    from dsec_cli.netcheck.packets import Arrived

COUNT = 200
_EACH_S = 0.002
_ASKED = 20
_LATE_S = 1.0
"""How long the last answers are waited for."""


def measure(line: Line, ask: Ask) -> Echo:
    """Up to 200 datagrams, one after the other, at most one every 2 ms."""
    port = int(line.call("echo", span_ms=10_000)["port"])
    count = max(20, min(COUNT, ask.span_ms // 4))
    tally, refused_by = _Tally(), ""
    with packets.open_socket(line.family, line.here) as sock:
        sock.setblocking(False)
        for number in range(count):
            data = packets.packet(line.session, PING, number, at_ns=time.time_ns())
            number_of = packets.try_send(sock, data, (line.peer, port))
            refused_by = os.strerror(number_of) if number_of in NOT_SENT else ""
            if refused_by:
                break
            _wait(sock, tally, line, number=number)
            if number % 16 == 0:
                line.alive()
        _drain(sock, tally, line, count=count)
    done = line.call("done")
    found = tally.reading(count)._replace(arrived=int(done["arrived"]), refused_by=refused_by)
    return found if found.back else found._replace(by_tcp=_by_tcp(line))


def _by_tcp(line: Line) -> Delays | None:
    """Round trips of the control connection, which stand in where datagrams are filtered."""
    times = []
    for _ in range(_ASKED):
        begun = time.monotonic_ns()
        line.call("clock")
        times.append(time.monotonic_ns() - begun)
    return delays_of(times)


class _Tally:
    """Answers, as they come."""

    def __init__(self) -> None:
        self.times: dict[int, int] = {}
        self.there: list[int] = []
        self.backs: list[int] = []

    def take(self, one: Arrived, session: bytes) -> None:
        if len(one.data) < LEAST:
            return
        found, kind, tos, _, number, at_ns = HEAD.unpack_from(one.data)
        if found != session or kind != PONG or number in self.times:
            return
        self.times[number] = max(0, (one.at_ns or time.time_ns()) - at_ns)
        self.there.append(tos & 3)
        self.backs.append(one.tos & 3)

    def reading(self, sent: int) -> Echo:
        return Echo(
            sent=sent,
            back=len(self.times),
            delays=delays_of([self.times[number] for number in sorted(self.times)]),
            kept_there=self.there.count(ECT),
            marked_there=self.there.count(CE),
            kept_back=self.backs.count(ECT),
            marked_back=self.backs.count(CE),
        )


def _wait(sock: socket.socket, tally: _Tally, line: Line, *, number: int) -> None:
    """Until this one's answer came, or it is time for the next."""
    until = time.monotonic() + _EACH_S
    while True:
        left = until - time.monotonic()
        if left <= 0:
            return
        if number in tally.times:
            time.sleep(left)
            return
        if select.select([sock], [], [], left)[0]:
            for one in echoing.arrivals(sock):
                tally.take(one, line.session)


def _drain(sock: socket.socket, tally: _Tally, line: Line, *, count: int) -> None:
    """Answers that are still under way: twice the longest so far, at most a second or three round trips."""
    longest = max(tally.times.values(), default=_LATE_S * 1e9) / 1e9
    until = time.monotonic() + max(0.1, min(max(_LATE_S, 3 * line.rtt_s), 2 * longest))
    while len(tally.times) < count and time.monotonic() < until:
        if select.select([sock], [], [], until - time.monotonic())[0]:
            for one in echoing.arrivals(sock):
                tally.take(one, line.session)


PROBE = Probe("echo", 10, Echo, measure, echoing.answer)
