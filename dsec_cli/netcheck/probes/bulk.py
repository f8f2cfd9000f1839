"""How much TCP carries, there and back, with what it had to send again and what held it."""

from __future__ import annotations

from typing import Any

from dsec_cli.netcheck import tcp
from dsec_cli.netcheck.line import joined
from dsec_cli.netcheck.probe import Probe
from dsec_cli.netcheck.rates import rates
from dsec_cli.netcheck.readings import Bulk, uneven

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dsec_cli.netcheck.line import Ask, End, Line
    from dsec_cli.netcheck.tcp import Kernel


_AGAIN = 2
"""Times that a way is given to show that it is not the slower one."""
_ROUND_TRIPS = 24
"""TCP needs about a dozen to find the rate of a long path, and as many to show that it holds it."""
_LONGEST_S = 20.0

_SOME = 8
"""Of the busy time: a window of 4 KiB holds a sender for a quarter to a third of it by the kernel's count."""


def repeated(once: Callable[[], Bulk]) -> Bulk:
    """Where the ways differ, up to twice more; all processes of a measurement at a time, as before.

    A way that is slower is so every time; a host that was busy for a moment is not.
    """
    found = once()
    for _ in range(_AGAIN):
        if not uneven(found):
            break
        found = _best(found, once())
    return found


def _best(first: Bulk, second: Bulk) -> Bulk:
    """Of each way what it carried at most."""
    there, back = (max((first, second), key=by) for by in (_forward, _back))
    return there._replace(back_bps=back.back_bps, back_resent=back.back_resent, back_cpu_ns=back.back_cpu_ns)


def _forward(one: Bulk) -> int:
    return one.forward_bps or 0


def _back(one: Bulk) -> int:
    return one.back_bps or 0


def measure(line: Line, ask: Ask) -> Bulk:
    """One connection each way, one after the other."""
    span_s = min(ask.span_ms / 1000, line.limits.span_s)
    span_s = max(span_s, min(_ROUND_TRIPS * line.rtt_s, _LONGEST_S, line.limits.span_s))
    allowed = line.limits.rate_bps
    port = int(line.call("bulk", span_ms=int(span_s * 1000), bps=allowed)["port"])
    with joined(line, port) as sock:
        tcp.pace(sock, allowed)
        sent = tcp.pour(sock, span_s)
        there = line.answer(within_s=span_s + 10)
        kernel = tcp.info(sock)
    with joined(line, port) as sock:
        back = tcp.drain(sock, span_s=span_s)
    ended = line.answer(within_s=10)
    forward_trace = tcp.trace_of(there)
    forward = rates((forward_trace,))
    return Bulk(
        forward_bps=forward.steady_bps,
        forward_resent=kernel.resent,
        forward_segments=kernel.segments,
        rtt_ns=kernel.rtt_ns,
        least_rtt_ns=kernel.least_rtt_ns,
        limited=_limited(kernel),
        cpu_ns_here=sent.cpu_ns,
        cpu_ns_peer=int(there["cpu_ns"]),
        back_bps=rates((back.trace,)).steady_bps,
        back_resent=int(ended["resent"]),
        streams=1,
        back_cpu_ns=back.cpu_ns + int(ended["cpu_ns"]),
        waited_ns=sent.waited_ns + back.waited_ns + int(there["waited_ns"]) + int(ended["waited_ns"]),
        span_ns=sent.span_ns + back.span_ns,
        lasting_bps=forward.lasting_bps,
        first_bps=forward.first_bps,
        allowed_bps=allowed,
        forward_trace=forward_trace,
        back_trace=back.trace,
    )


def _limited(kernel: Kernel) -> str:
    """Which end the sender waited for in some of its busy time (the kernel counts by its tick, not all)."""
    held, who = max((kernel.window_us, "receiver"), (kernel.buffer_us, "sender"))
    return who if held * _SOME > kernel.busy_us else "network"


def answer(end: End, args: dict[str, Any]) -> dict[str, Any]:
    """Take what comes, tell how much it was, then send for as long."""
    span_s = end.bounded(args, "span_ms")
    allowed = min(end.limits.rate_bps, max(1, int(args.get("bps", end.limits.rate_bps))))
    listening = end.listening()
    with listening:
        with end.connection(listening) as sock:
            end.channel.send(tcp.told(tcp.drain(sock, span_s=span_s, budget=end.budget)))
        with end.connection(listening) as sock:
            tcp.pace(sock, allowed)
            sent = tcp.pour(sock, span_s, budget=end.budget)
            return {"resent": tcp.info(sock).resent, "cpu_ns": sent.cpu_ns, "waited_ns": sent.waited_ns}


def combined(rows: Sequence[Bulk]) -> Bulk:
    """Connections of several processes as one: all bytes over the time in which all were under way."""
    summed = ["forward_resent", "forward_segments", "cpu_ns_here", "cpu_ns_peer"]
    summed += ["streams", "back_cpu_ns", "allowed_bps"]
    limits = [row.limited for row in rows]
    forward, back = (
        rates(traces) for traces in ([row.forward_trace for row in rows], [row.back_trace for row in rows])
    )
    return rows[0]._replace(
        forward_bps=forward.steady_bps,
        lasting_bps=forward.lasting_bps,
        first_bps=forward.first_bps,
        back_bps=back.steady_bps,
        waited_ns=max(row.waited_ns for row in rows),
        span_ns=max(row.span_ns for row in rows),
        forward_trace=(),
        back_trace=(),
        rtt_ns=max(row.rtt_ns for row in rows),
        least_rtt_ns=min(row.least_rtt_ns for row in rows),
        limited=max(limits, key=limits.count),
        back_resent=sum(row.back_resent or 0 for row in rows),
        **{name: sum(getattr(row, name) for row in rows) for name in summed},
    )


PROBE = Probe("bulk", 40, Bulk, measure, answer, combined, repeated)
