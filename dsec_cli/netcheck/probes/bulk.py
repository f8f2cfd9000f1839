"""How much TCP carries, there and back, with what it had to send again and what held it."""

from __future__ import annotations

from typing import Any

from dsec_cli.netcheck import tcp
from dsec_cli.netcheck.line import joined
from dsec_cli.netcheck.probe import Probe
from dsec_cli.netcheck.readings import Bulk, rate_bps, uneven

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dsec_cli.netcheck.line import Ask, End, Line
    from dsec_cli.netcheck.tcp import Kernel


_AGAIN = 2
"""Times that a way is given to show that it is not the slower one."""

_SOME = 8
"""Of the busy time: a window of 4 KiB holds a sender for a quarter to a third of it by the kernel's count."""


def measure(line: Line, ask: Ask) -> Bulk:
    """One connection each way, one after the other; where the ways differ, up to twice more.

    A way that is slower is so every time; a host that was busy for a moment is not.
    """
    found = _once(line, ask)
    for _ in range(_AGAIN):
        if not uneven(found):
            break
        found = _best(found, _once(line, ask))
    return found


def _best(first: Bulk, second: Bulk) -> Bulk:
    """Of each way what it carried at most."""
    there, back = (max((first, second), key=by) for by in (_forward, _back))
    return there._replace(back_bps=back.back_bps, back_resent=back.back_resent, back_cpu_ns=back.back_cpu_ns)


def _forward(one: Bulk) -> int:
    return one.forward_bps


def _back(one: Bulk) -> int:
    return one.back_bps or 0


def _once(line: Line, ask: Ask) -> Bulk:
    span_s = min(ask.span_ms / 1000, line.limits.span_s)
    port = int(line.call("bulk", span_ms=int(span_s * 1000))["port"])
    with joined(line, port) as sock:
        tcp.pace(sock, line.limits.rate_bps)
        sent = tcp.pour(sock, span_s)
        there = line.answer(within_s=span_s + 10)
        kernel = tcp.info(sock)
    with joined(line, port) as sock:
        back = tcp.drain(sock)
    ended = line.answer(within_s=10)
    return Bulk(
        forward_bps=rate_bps(int(there["bytes"]), int(there["span_ns"])),
        forward_resent=kernel.resent,
        forward_segments=kernel.segments,
        rtt_ns=kernel.rtt_ns,
        least_rtt_ns=kernel.least_rtt_ns,
        limited=_limited(kernel),
        cpu_ns_here=sent.cpu_ns,
        cpu_ns_peer=int(there["cpu_ns"]),
        back_bps=rate_bps(back.count, back.span_ns),
        back_resent=int(ended["resent"]),
        streams=1,
        back_cpu_ns=back.cpu_ns + int(ended["cpu_ns"]),
    )


def _limited(kernel: Kernel) -> str:
    """Which end the sender waited for in some of its busy time (the kernel counts by its tick, not all)."""
    held, who = max((kernel.window_us, "receiver"), (kernel.buffer_us, "sender"))
    return who if held * _SOME > kernel.busy_us else "network"


def answer(end: End, args: dict[str, Any]) -> dict[str, Any]:
    """Take what comes, tell how much it was, then send for as long."""
    span_s = end.bounded(args, "span_ms")
    throttle = tcp.Throttle(end.limits.rate_bps)
    listening = end.listening()
    with listening:
        with end.connection(listening) as sock:
            end.channel.send(tcp.told(tcp.drain(sock, throttle=throttle)))
        with end.connection(listening) as sock:
            tcp.pace(sock, end.limits.rate_bps)
            sent = tcp.pour(sock, span_s)
            return {"resent": tcp.info(sock).resent, "cpu_ns": sent.cpu_ns}


def combined(rows: Sequence[Bulk]) -> Bulk:
    """Connections of several processes as one."""
    summed = ["forward_bps", "forward_resent", "forward_segments", "cpu_ns_here", "cpu_ns_peer"]
    summed += ["streams", "back_cpu_ns"]
    limits = [row.limited for row in rows]
    return rows[0]._replace(
        rtt_ns=max(row.rtt_ns for row in rows),
        least_rtt_ns=min(row.least_rtt_ns for row in rows),
        limited=max(limits, key=limits.count),
        back_bps=sum(row.back_bps or 0 for row in rows),
        back_resent=sum(row.back_resent or 0 for row in rows),
        **{name: sum(getattr(row, name) for row in rows) for name in summed},
    )


PROBE = Probe("bulk", 40, Bulk, measure, answer, combined)
