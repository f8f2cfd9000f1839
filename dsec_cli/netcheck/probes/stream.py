"""Datagrams at a steady rate: what is lost, where it waits, and who marks it.

When datagrams are lost the stream is repeated at half its rate: a full link loses nothing then, a bad
one loses as before.
"""

from __future__ import annotations

import select
import time
from typing import Any

from dsec_cli.netcheck import packets
from dsec_cli.netcheck.datagram_stream import Catcher, Sender, reading
from dsec_cli.netcheck.packets import LEAST
from dsec_cli.netcheck.probe import Probe
from dsec_cli.netcheck.readings import Stream, union_ns, widest
from dsec_cli.netcheck.wire import LineLost

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dsec_cli.netcheck.line import Ask, End, Line

_USUAL = 1500
_SAFE = 1280
_LARGEST = 9000
_FEW = 3
"""Losses below which the slower stream would tell nothing."""
LEAST_BPS = 64_000


def measure(line: Line, ask: Ask) -> Stream:
    """At most the rate and time that both ends allow."""
    return halved(line, ask, min(ask.stream_bps, line.limits.rate_bps), one=_one)


def halved(line: Line, ask: Ask, rate: int, *, one: Callable[..., Stream]) -> Stream:
    """A stream, and where it loses some another one of half its rate."""
    rate = max(LEAST_BPS, rate)
    size = ask.packet_bytes or (min(_USUAL, line.path_bytes) if line.path_bytes else _SAFE)
    size = max(LEAST + packets.headers(line.family), min(size, _LARGEST))
    span_ns = min(ask.span_ms * 1_000_000, line.limits.span_s * 1_000_000_000)
    first = one(line, rate, size=size, span_ns=span_ns)
    if first.sent - first.received - first.peer_drops < _FEW:
        return first
    again = one(line, max(LEAST_BPS // 2, first.asked_bps // 2), size=size, span_ns=span_ns)
    return first._replace(
        slower_sent=again.sent,
        slower_received=min(again.sent, again.received + again.peer_drops),
        slower_waiting=again.waiting,
        damaged=first.damaged,
    )


def _one(line: Line, rate: int, *, size: int, span_ns: int) -> Stream:
    opened = line.call("stream", span_ms=2 * span_ns // 1_000_000 + 5000, bps=rate)
    rate = min(rate, int(opened["bps"]))
    with packets.open_socket(line.family, line.here) as sock:
        sender = Sender(sock, (line.peer, int(opened["port"])), line.session, alive=line.alive)
        sender.send(rate, size, span_ns=span_ns)
    seen = line.call("done", sent=sender.sent, within_s=10.0)
    return reading(rate, size, sender.told(), seen)


def answer(end: End, args: dict[str, Any]) -> dict[str, Any]:
    """Count what comes until the other end is done; no more than this end allows all sessions together."""
    wanted = max(LEAST_BPS // 2, int(args.get("bps", end.limits.rate_bps)))
    granted = end.budget.promise(wanted)
    try:
        if granted < min(wanted, LEAST_BPS // 2):
            return {"failed": f"other sessions use all of {end.limits.rate_bps} bit/s (--max-rate)"}
        return _caught(end, args, granted)
    finally:
        end.budget.release(granted)


def _caught(end: End, args: dict[str, Any], rate: int) -> dict[str, Any]:
    catcher = Catcher(end.session, end.peer, end.here)
    until = time.monotonic() + end.bounded(args, "span_ms")
    with packets.open_socket(end.family, end.here) as sock:
        sock.setblocking(False)
        end.channel.send({"port": sock.getsockname()[1], "bps": rate})
        while time.monotonic() < until:
            ready = select.select([sock, end.channel.sock], [], [], 0.2)[0]
            if sock in ready and end.budget.charge(catcher.fetch(sock)) > _TOO_MUCH_S:
                raise PermissionError(f"more than {end.limits.rate_bps} bit/s came")
            if end.channel.sock in ready:
                break
        sent = int(end.channel.receive(within_s=5.0).get("sent", 0))
        catcher.wait(sock, sent, end.rtt_s)
    return catcher.told()


_TOO_MUCH_S = 1.5
"""How far what comes may be ahead of the rate: datagrams that waited in a queue come at once."""


def alive(end: End) -> None:
    """Raise LineLost where the asking end said that it is enough, or went."""
    if end.channel.ready():
        raise LineLost("the other end has enough")


def combined(rows: Sequence[Stream]) -> Stream:
    """Streams of several processes as one: all of them over the time from the first to the last."""

    def total(name: str) -> int:
        return sum(getattr(row, name) for row in rows)

    if len(rows) == 1:
        return rows[0]
    summed = ["asked_bps", "sent", "own_drops", "received", "twice", "late", "peer_drops"]
    summed += ["kept", "marked", "bleached", "slower_sent", "slower_received"]
    lost = total("sent") - total("received") - total("peer_drops")
    return rows[0]._replace(
        waiting=widest(row.waiting for row in rows),
        slower_waiting=widest(row.slower_waiting for row in rows),
        blocked_ns=max(row.blocked_ns for row in rows),
        sent_ns=union_ns((row.sent_from_ns, row.sent_ns) for row in rows),
        received_ns=union_ns((row.received_from_ns, row.received_ns) for row in rows),
        sent_from_ns=min(row.sent_from_ns for row in rows),
        received_from_ns=min(row.received_from_ns for row in rows),
        # Counters of a whole host: each process saw the others', too.
        damaged=min(max(0, lost), max(row.damaged for row in rows)),
        others_sender_bps=None,
        others_receiver_bps=None,
        refused_by=next((row.refused_by for row in rows if row.refused_by), ""),
        **{name: total(name) for name in summed},
    )


PROBE = Probe("stream", 30, Stream, measure, answer, combined)
