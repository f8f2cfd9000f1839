"""What rates, losses and waiting say: whose queue, which kind of loss, and whether the flow fits.

Loss has three faces. Where half the rate loses (almost) nothing, or arrives as fast as the whole did, a
hop carries no more than what arrived. Where half the rate loses the same share, the loss does not
depend on the load. And what this host's own queue refused, or the peer did not fetch, was never lost on
the path.
"""

from __future__ import annotations

from dsec_cli.netcheck.judge_windows import windows
from dsec_cli.netcheck.readings import at_most_ppm, rate_bps, uneven
from dsec_cli.netcheck.statement import NOTE, OK, PROBLEM, UNKNOWN, Statement
from dsec_cli.netcheck.wording import below, contract_rate, many, ms, rate, share

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.netcheck.flows import Wants
    from dsec_cli.netcheck.readings import Bulk, Delays, Stream
    from dsec_cli.netcheck.replay import Floor, Leg

_NEARLY = 0.95
"""What counts as all of it."""
_MOSTLY = 0.7
"""What of a stream says enough about the path, when its sender was too slow."""
_FEW = 10
"""Losses from which their kind can be told."""
_LONG_NS = 5_000_000
"""Waiting that is worth a word, when it is also five times this host's own."""
_BACKLOG_NS = 100_000_000
"""What a stall of either host may hold up, without the path being too narrow."""
_RESENT = 0.01
_CEILING = 4
"""Rates above a quarter of what this host can do at all are bounded by hosts, not by the path."""


def stream(leg: Leg, floor: Floor) -> list[Statement]:
    """The steady stream: achieved, lost, waiting."""
    found = leg.found.stream
    if found is None:
        return []
    lost = max(0, found.sent - found.received - found.peer_drops)
    rows = _own(found, leg)
    if found.sent and not found.received and not found.peer_drops:
        text = f"none of {many(found.sent, 'packet')} arrived"
        mend = "let UDP through: `nft list ruleset` on both hosts and hops"
        return [*rows, Statement("loss", PROBLEM, text, "path", mend)]
    rows.append(_lost(found, lost, leg) if lost else _none_lost(found))
    if found.peer_drops:
        unfetched = many(found.peer_drops, "datagram")
        text = f"{leg.flow.target} did not fetch {unfetched} in time: not lost on the path"
        mend = "`sysctl -w net.core.rmem_max=8388608` there, or fewer programs beside it"
        rows.append(Statement("loss", NOTE, text, "peer", mend))
    if found.late or found.twice:
        text = f"{found.late} came out of order, {found.twice} twice: the path has several ways"
        rows.append(Statement("order", NOTE, text, "path"))
    return rows + _waiting(found, lost, floor)


def _own(found: Stream, leg: Leg) -> list[Statement]:
    """What this host put on the wire of what was asked."""
    sent = rate_bps(found.sent * found.size_bytes, found.sent_ns)
    asked = f"{rate(sent)} of {rate(found.asked_bps)} asked"
    if sent >= _NEARLY * found.asked_bps:
        return [Statement("rate", OK, f"sent {asked}")]
    if _held_here(found):
        drops = f", and refused {found.own_drops}" if found.own_drops else ""
        device = _device(leg)
        text = (
            f"{leg.flow.source}'s own queue let out {asked}{drops}: the limit is that host's, not the path's"
        )
        mend = (
            f"`tc -s qdisc show dev {device}` there; `tc qdisc del dev {device} root` removes what shapes it"
        )
        return [Statement("rate", PROBLEM, text, "here", mend)]
    text = f"{leg.flow.source} could send only {asked}: its processors were too busy or too slow"
    carried = leg.found.messages is not None and messages(leg)[0].state == OK
    state = NOTE if carried or sent >= _MOSTLY * found.asked_bps else UNKNOWN
    return [Statement("rate", state, text, "here", "--streams 4 measures with several processes")]


def _held_here(found: Stream | None) -> bool:
    """Whether this host's own queue would take no more."""
    return found is not None and bool(found.own_drops or found.blocked_ns * 10 > found.sent_ns)


def _device(leg: Leg) -> str:
    facts = leg.before[0]
    return facts.interface.name if facts is not None and facts.interface.name else "DEVICE"


def _none_lost(found: Stream) -> Statement:
    seen = max(1, found.sent - found.peer_drops)
    bound = below(at_most_ppm(0, seen))
    return Statement("loss", OK, f"0 of {many(seen, 'packet')} lost (less than {bound} with 95 % confidence)")


def _lost(found: Stream, lost: int, leg: Leg) -> Statement:
    arrived = rate_bps(found.received * found.size_bytes, found.received_ns)
    bound = below(at_most_ppm(lost, found.sent))
    text = f"{lost} of {many(found.sent, 'packet')} lost ({share(lost, found.sent)}, at most {bound})"
    if lost < _FEW or not found.slower_sent:
        return Statement("loss", PROBLEM, f"{text}; too few to tell why", "path", "--duration 20s sees more")
    again = found.slower_sent - found.slower_received
    half = f"at half the rate {share(again, found.slower_sent)}"
    shares = lost / found.sent, again / found.slower_sent
    if shares[1] * 3 < shares[0] or _as_much(found):
        return Statement(
            "loss",
            PROBLEM,
            f"{text}; {half}: a hop carries only {rate(arrived)} of {rate(found.asked_bps)}, drops the rest",
            "path",
            "find the hop: `tc -s qdisc show` on routers, `ethtool DEVICE | grep Speed` on links, and what "
            "shares them; or state a bandwidth that the path has",
        )
    return Statement(
        "loss",
        PROBLEM,
        f"{text}; {half}: loss that does not depend on the rate",
        "path",
        f"`ip -s link show dev {_device(leg)}` and `ethtool -S` on each end and hop (errors, drops), then "
        "cables, optics and filters: `nft list ruleset`",
    )


def _as_much(found: Stream) -> bool:
    """Whether as much arrived a second when half was sent."""
    first = found.received / max(1, found.sent) * found.asked_bps
    second = found.slower_received / max(1, found.slower_sent) * found.asked_bps / 2
    return second > 0.75 * first


def _waiting(found: Stream, lost: int, floor: Floor) -> list[Statement]:
    """Queueing, where it is more than this host's own noise."""
    if found.waiting is None:
        return []
    own = floor.found.stream.waiting if floor.found.stream is not None else None
    text = f"waits {ms(found.waiting.median_ns)} median, {ms(found.waiting.p95_ns)} p95 in queues"
    beside = _beside(own)
    if found.waiting.median_ns < max(_LONG_NS, 5 * own.median_ns if own is not None else 0):
        return [Statement("queue", OK, text + beside)]
    if _held_here(found):
        return [Statement("queue", NOTE, f"{text}{beside}: in that host's own", "here")]
    cause = "that of the hop that drops" if lost else "of a hop that is full, though nothing is lost yet"
    return [
        Statement(
            "queue", NOTE, f"{text}{beside}: {cause}", "path", "a shorter queue there: fq_codel or cake"
        )
    ]


def _beside(own: Delays | None) -> str:
    return "" if own is None else f" (this host alone: {ms(own.median_ns)}, {ms(own.p95_ns)})"


def bulk(leg: Leg, floor: Floor) -> list[Statement]:
    """What TCP carries both ways."""
    found = leg.found.bulk
    if found is None:
        return []
    back = "not measured" if found.back_bps is None else rate(found.back_bps)
    text = f"TCP carries {rate(found.forward_bps)} there and {back} back{_by_iperf(leg)}{_use(leg, found)}"
    own = floor.found.bulk
    if own is not None:
        text += f" (this host alone: {rate(own.forward_bps)})"
    rows = [Statement("tcp", OK, text)]
    held = windows(leg)
    if _uneven(found, own) and not (held and found.forward_bps < (found.back_bps or 0)):
        rows.append(_slower(found, leg))
    rows += held
    if found.forward_resent > _RESENT * max(1, found.forward_segments):
        resent = share(found.forward_resent, found.forward_segments)
        rows.append(Statement("tcp", NOTE, f"TCP sent {resent} of its segments again", "path"))
    return rows


def _slower(found: Bulk, leg: Leg) -> Statement:
    """Which way is the slower one, and where to look."""
    low, high = sorted((found.forward_bps, found.back_bps or 0))
    way = "there" if found.forward_bps < (found.back_bps or 0) else "back"
    here = way == "there" and _held_here(leg.found.stream)
    where = (
        f"`tc -s qdisc show dev {_device(leg)}` on {leg.flow.source}" if here else "`tc -s qdisc` on each hop"
    )
    return Statement(
        "tcp",
        PROBLEM,
        f"the way {way} is the slower one: {rate(low)} of {rate(high)}",
        "here" if here else "path",
        f"look at what shapes the way {way}: {where}, and the duplex of its links",
    )


def _by_iperf(leg: Leg) -> str:
    if leg.iperf_bps is not None:
        return f"; iperf3 {rate(leg.iperf_bps)} there and {rate(leg.iperf_back_bps or 0)} back"
    return f"; no cross-check: {leg.check}" if leg.check else ""


def _use(leg: Leg, found: Bulk) -> str:
    """The share of the link, where the driver tells its speed."""
    facts = leg.before[0]
    speed = facts.interface.speed_bps if facts is not None else None
    return f", {share(found.forward_bps, speed)} of the {rate(speed)} link" if speed else ""


def _uneven(found: Bulk, own: Bulk | None) -> bool:
    low = min(found.forward_bps, found.back_bps or 0)
    return uneven(found) and (own is None or low * _CEILING < min(own.forward_bps, own.back_bps or 0))


def messages(leg: Leg) -> list[Statement]:
    """The flow itself."""
    found = leg.found.messages
    if found is None:
        return []
    times = found.delays
    text = f"{found.done} of {many(found.asked, 'message')} delivered"
    if times is not None:
        text += f", {ms(times.median_ns)} median and {ms(times.p99_ns)} p99 until acknowledged"
    if found.asked_bps:
        text += f"; {rate(found.achieved_bps)} of {rate(found.asked_bps)} asked"
    else:
        text += f"; {rate(found.achieved_bps)}"
    if found.done >= found.asked and (found.achieved_bps >= _NEARLY * found.asked_bps or _kept_up(times)):
        return [Statement("flow", OK, text)]
    if found.done >= found.asked and _kept_up(times, besides_ns=found.waited_ns):
        busy = f"{text}; the hosts were too busy: their programs waited {ms(found.waited_ns)} for a processor"
        return [Statement("flow", NOTE, busy, "here", "fewer programs beside it, on both hosts")]
    mend = "fewer or smaller messages, or the mend of what is said above"
    return [Statement("flow", PROBLEM, f"the path does not carry the flow: {text}", "path", mend)]


def _kept_up(times: Delays | None, *, besides_ns: int = 0) -> bool:
    """Whether no message waited long behind others: a path that is too narrow makes them wait ever longer."""
    return times is not None and times.most_ns - times.least_ns <= _BACKLOG_NS + besides_ns


def contract(leg: Leg, wants: Wants) -> list[Statement]:
    """Against bandwidth_min, bandwidth_cap and latency_cap."""
    rows: list[Statement] = []
    found = leg.found
    if wants.bandwidth_min_bps is not None and found.bulk is not None:
        both = [found.bulk.forward_bps, *([found.bulk.back_bps] if found.bulk.back_bps is not None else [])]
        text = f"bandwidth_min {contract_rate(wants.bandwidth_min_bps)}: the path has {rate(min(both))}"
        enough = min(both) >= wants.bandwidth_min_bps
        mend = (
            ""
            if enough
            else f"lower bandwidth_min to at most {contract_rate(min(both) // 10**6 * 10**6)}, or see above"
        )
        rows.append(Statement("contract", OK if enough else PROBLEM, text, "" if enough else "path", mend))
    if wants.bandwidth_cap_bps is not None:
        rows.append(_cap(leg, wants.bandwidth_cap_bps))
    if wants.latency_cap_ns is not None:
        rows += _latency(leg, wants.latency_cap_ns)
    return rows


def _cap(leg: Leg, cap: int) -> Statement:
    asked = leg.flow.asked_bps or (leg.found.messages.achieved_bps if leg.found.messages is not None else 0)
    text = f"bandwidth_cap {contract_rate(cap)}: the flow uses {rate(asked)}"
    if asked <= cap:
        return Statement("contract", OK, text)
    return Statement(
        "contract",
        PROBLEM,
        f"{text}: the breaker would slow its Step down",
        "here",
        f"raise bandwidth_cap to {contract_rate(asked)}, or send less",
    )


def _latency(leg: Leg, cap: int) -> list[Statement]:
    echo = leg.found.echo
    if echo is None or echo.delays is None:
        return [Statement("contract", UNKNOWN, f"latency_cap {ms(cap)}: no round trip was measured")]
    worst = echo.delays.p99_ns
    text = f"latency_cap {ms(cap)}: round trips take {ms(worst)} (p99)"
    if worst <= cap:
        return [Statement("contract", OK, text)]
    mend = "place both Steps nearer to each other, or raise latency_cap"
    return [Statement("contract", PROBLEM, text, "path", mend)]
