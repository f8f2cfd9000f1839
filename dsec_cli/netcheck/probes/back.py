"""Datagrams from the peer to this host: acknowledgements take that way, and what it loses slows TCP down."""

from __future__ import annotations

import select
import time
from typing import Any

from dsec_cli.netcheck import packets
from dsec_cli.netcheck.datagram_stream import Catcher, Sender, reading
from dsec_cli.netcheck.packets import LEAST
from dsec_cli.netcheck.probe import Probe
from dsec_cli.netcheck.probes.stream import LEAST_BPS, alive, halved
from dsec_cli.netcheck.readings import Stream

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.netcheck.line import Ask, End, Line

_SHARE = 2
"""Of the rate there: enough to see losses by, and less than a way back that is narrower may carry."""


def measure(line: Line, ask: Ask) -> Stream:
    """At half the rate of the stream there."""
    return halved(line, ask, min(ask.stream_bps, line.limits.rate_bps) // _SHARE, one=_one)


def _one(line: Line, rate: int, *, size: int, span_ns: int) -> Stream:
    catcher = Catcher(line.session, line.peer, line.here)
    until = time.monotonic() + 3 * span_ns / 1e9 + 10
    with packets.open_socket(line.family, line.here) as sock:
        sock.setblocking(False)
        port = sock.getsockname()[1]
        opened = line.call("back", port=port, bps=rate, size=size, span_ms=span_ns // 1_000_000)
        while time.monotonic() < until and not line.channel.ready():
            if select.select([sock, line.channel.sock], [], [], 0.2)[0]:
                catcher.fetch(sock)
        sent = line.answer()
        catcher.wait(sock, int(sent["sent"]), line.rtt_s)
    return reading(min(rate, int(opened["bps"])), size, sent, catcher.told())


def answer(end: End, args: dict[str, Any]) -> dict[str, Any]:
    """Send to the address that asked, at the rate that is still free here."""
    least = packets.headers(end.family) + LEAST
    size = max(least, min(int(args["size"]), 9000))
    wanted = max(LEAST_BPS // 2, int(args["bps"]))
    port = int(args["port"])
    granted = end.budget.promise(wanted)
    try:
        if granted < min(wanted, LEAST_BPS // 2):
            return {"failed": f"other sessions use all of {end.limits.rate_bps} bit/s (--max-rate)"}
        end.channel.send({"bps": granted})
        with packets.open_socket(end.family, end.here) as sock:
            sender = Sender(sock, (end.peer, port), end.session, alive=lambda: alive(end), budget=end.budget)
            sender.send(granted, size, span_ns=int(end.bounded(args, "span_ms") * 1e9))
        return sender.told()
    finally:
        end.budget.release(granted)


PROBE = Probe("back", 35, Stream, measure, answer)
