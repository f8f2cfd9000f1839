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
from dsec_cli.netcheck.wording import (
    DATAGRAMS,
    MESSAGES,
    PACKETS,
    below,
    many,
    ms,
    rate,
    share,
)
from dsec_cli.words import joined, say

TYPE_CHECKING = False
if TYPE_CHECKING:
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
        text = say("none of {sent} arrived", sent=many(found.sent, PACKETS))
        mend = say("let UDP through: `nft list ruleset` on both hosts and hops")
        return [*rows, Statement("loss", PROBLEM, text, "path", mend)]
    rows.append(_lost(found, lost, leg) if lost else _none_lost(found))
    if found.peer_drops:
        unfetched = many(found.peer_drops, DATAGRAMS)
        text = say(
            "{target} did not fetch {unfetched} in time: not lost on the path",
            target=leg.flow.target,
            unfetched=unfetched,
        )
        mend = say("`sysctl -w net.core.rmem_max=8388608` there, or fewer programs beside it")
        rows.append(Statement("loss", NOTE, text, "peer", mend))
    if found.late or found.twice:
        text = say(
            "{late} came out of order, {twice} twice: the path has several ways",
            late=found.late,
            twice=found.twice,
        )
        rows.append(Statement("order", NOTE, text, "path"))
    return rows + _waiting(found, lost, floor)


def _own(found: Stream, leg: Leg) -> list[Statement]:
    """What this host put on the wire of what was asked."""
    sent = rate_bps(found.sent * found.size_bytes, found.sent_ns)
    asked = say("{sent} of {asked} asked", sent=rate(sent), asked=rate(found.asked_bps))
    if sent >= _NEARLY * found.asked_bps:
        return [Statement("rate", OK, say("sent {asked}", asked=asked))]
    if _held_here(found):
        drops = say(", and refused {own_drops}", own_drops=found.own_drops) if found.own_drops else ""
        device = _device(leg)
        text = say(
            "{source}'s own queue let out {asked}{drops}: the limit is that host's, not the path's",
            source=leg.flow.source,
            asked=asked,
            drops=drops,
        )
        mend = say(
            "`tc -s qdisc show dev {device}` there; `tc qdisc del dev {device} root` removes what shapes it",
            device=device,
        )
        return [Statement("rate", PROBLEM, text, "here", mend)]
    text = say(
        "{source} could send only {asked}: its processors were too busy or too slow",
        source=leg.flow.source,
        asked=asked,
    )
    carried = leg.found.messages is not None and messages(leg)[0].state == OK
    state = NOTE if carried or sent >= _MOSTLY * found.asked_bps else UNKNOWN
    return [Statement("rate", state, text, "here", say("--streams 4 measures with several processes"))]


def _held_here(found: Stream | None) -> bool:
    """Whether this host's own queue would take no more."""
    return found is not None and bool(found.own_drops or found.blocked_ns * 10 > found.sent_ns)


def _device(leg: Leg) -> str:
    facts = leg.before[0]
    return facts.interface.name if facts is not None and facts.interface.name else "DEVICE"


def _none_lost(found: Stream) -> Statement:
    seen = max(1, found.sent - found.peer_drops)
    bound = below(at_most_ppm(0, seen))
    return Statement(
        "loss",
        OK,
        say(
            "0 of {seen} lost (less than {bound} with 95 % confidence)", seen=many(seen, PACKETS), bound=bound
        ),
    )


def _lost(found: Stream, lost: int, leg: Leg) -> Statement:
    arrived = rate_bps(found.received * found.size_bytes, found.received_ns)
    bound = below(at_most_ppm(lost, found.sent))
    text = say(
        "{lost} of {sent} lost ({share}, at most {bound})",
        lost=lost,
        sent=many(found.sent, PACKETS),
        share=share(lost, found.sent),
        bound=bound,
    )
    if lost < _FEW or not found.slower_sent:
        return Statement(
            "loss",
            PROBLEM,
            say("{text}; too few to tell why", text=text),
            "path",
            say("--duration 20s sees more"),
        )
    again = found.slower_sent - found.slower_received
    half = say("at half the rate {slower_sent}", slower_sent=share(again, found.slower_sent))
    shares = lost / found.sent, again / found.slower_sent
    if shares[1] * 3 < shares[0] or _as_much(found):
        return Statement(
            "loss",
            PROBLEM,
            say(
                "{text}; {half}: a hop carries only {arrived} of {asked}, drops the rest",
                text=text,
                half=half,
                arrived=rate(arrived),
                asked=rate(found.asked_bps),
            ),
            "path",
            say(
                "find the hop: `tc -s qdisc show` on routers, `ethtool DEVICE | grep Speed` on "
                "links, and what shares them; or state a bandwidth that the path has"
            ),
        )
    return Statement(
        "loss",
        PROBLEM,
        say("{text}; {half}: loss that does not depend on the rate", text=text, half=half),
        "path",
        say(
            "`ip -s link show dev {device}` and `ethtool -S` on each end and hop (errors, drops), "
            "then cables, optics and filters: `nft list ruleset`",
            device=_device(leg),
        ),
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
    text = say(
        "waits {median} median, {p95} p95 in queues",
        median=ms(found.waiting.median_ns),
        p95=ms(found.waiting.p95_ns),
    )
    beside = _beside(own)
    if found.waiting.median_ns < max(_LONG_NS, 5 * own.median_ns if own is not None else 0):
        return [Statement("queue", OK, joined("", [text, beside]))]
    if _held_here(found):
        return [
            Statement(
                "queue", NOTE, say("{text}{beside}: in that host's own", text=text, beside=beside), "here"
            )
        ]
    cause = (
        say("that of the hop that drops")
        if lost
        else say("of a hop that is full, though nothing is lost yet")
    )
    return [
        Statement(
            "queue",
            NOTE,
            say("{text}{beside}: {cause}", text=text, beside=beside, cause=cause),
            "path",
            say("a shorter queue there: fq_codel or cake"),
        )
    ]


def _beside(own: Delays | None) -> str:
    return (
        ""
        if own is None
        else say(" (this host alone: {median}, {p95})", median=ms(own.median_ns), p95=ms(own.p95_ns))
    )


def bulk(leg: Leg, floor: Floor) -> list[Statement]:
    """What TCP carries both ways."""
    found = leg.found.bulk
    if found is None:
        return []
    back = say("not measured") if found.back_bps is None else rate(found.back_bps)
    text: str = say(
        "TCP carries {forward} there and {back} back{by_iperf}{use}",
        forward=rate(found.forward_bps),
        back=back,
        by_iperf=_by_iperf(leg),
        use=_use(leg, found),
    )
    own = floor.found.bulk
    if own is not None:
        text = joined("", [text, say(" (this host alone: {forward})", forward=rate(own.forward_bps))])
    rows = [Statement("tcp", OK, text)]
    held = windows(leg)
    if _uneven(found, own) and not (held and found.forward_bps < (found.back_bps or 0)):
        rows.append(_slower(found, leg))
    rows += held
    if found.forward_resent > _RESENT * max(1, found.forward_segments):
        resent = share(found.forward_resent, found.forward_segments)
        rows.append(
            Statement("tcp", NOTE, say("TCP sent {resent} of its segments again", resent=resent), "path")
        )
    return rows


def _slower(found: Bulk, leg: Leg) -> Statement:
    """Which way is the slower one, and where to look."""
    low, high = sorted((found.forward_bps, found.back_bps or 0))
    there = found.forward_bps < (found.back_bps or 0)
    way = say("the way there") if there else say("the way back")
    here = there and _held_here(leg.found.stream)
    where = (
        say("`tc -s qdisc show dev {device}` on {source}", device=_device(leg), source=leg.flow.source)
        if here
        else say("`tc -s qdisc` on each hop")
    )
    return Statement(
        "tcp",
        PROBLEM,
        say("{way} is the slower one: {low} of {high}", way=way, low=rate(low), high=rate(high)),
        "here" if here else "path",
        say("look at what shapes {way}: {where}, and the duplex of its links", way=way, where=where),
    )


def _by_iperf(leg: Leg) -> str:
    if leg.iperf_bps is not None:
        return say(
            "; iperf3 {iperf} there and {iperf_back} back",
            iperf=rate(leg.iperf_bps),
            iperf_back=rate(leg.iperf_back_bps or 0),
        )
    return say("; no cross-check: {check}", check=leg.check) if leg.check else ""


def _use(leg: Leg, found: Bulk) -> str:
    """The share of the link, where the driver tells its speed."""
    facts = leg.before[0]
    speed = facts.interface.speed_bps if facts is not None else None
    return (
        say(", {forward} of the {speed} link", forward=share(found.forward_bps, speed), speed=rate(speed))
        if speed
        else ""
    )


def _uneven(found: Bulk, own: Bulk | None) -> bool:
    low = min(found.forward_bps, found.back_bps or 0)
    return uneven(found) and (own is None or low * _CEILING < min(own.forward_bps, own.back_bps or 0))


def messages(leg: Leg) -> list[Statement]:
    """The flow itself."""
    found = leg.found.messages
    if found is None:
        return []
    times = found.delays
    parts: list[str] = [
        say("{done} of {asked} delivered", done=found.done, asked=many(found.asked, MESSAGES))
    ]
    if times is not None:
        parts.append(
            say(
                ", {median} median and {p99} p99 until acknowledged",
                median=ms(times.median_ns),
                p99=ms(times.p99_ns),
            )
        )
    if found.asked_bps:
        parts.append(
            say(
                "; {achieved} of {asked} asked",
                achieved=rate(found.achieved_bps),
                asked=rate(found.asked_bps),
            )
        )
    else:
        parts.append(say("; {achieved}", achieved=rate(found.achieved_bps)))
    text = joined("", parts)
    if found.done >= found.asked and (found.achieved_bps >= _NEARLY * found.asked_bps or _kept_up(times)):
        return [Statement("flow", OK, text)]
    if found.done >= found.asked and _kept_up(times, besides_ns=found.waited_ns):
        busy = say(
            "{text}; the hosts were too busy: their programs waited {waited} for a processor",
            text=text,
            waited=ms(found.waited_ns),
        )
        return [Statement("flow", NOTE, busy, "here", say("fewer programs beside it, on both hosts"))]
    mend = say("fewer or smaller messages, or the mend of what is said above")
    return [
        Statement("flow", PROBLEM, say("the path does not carry the flow: {text}", text=text), "path", mend)
    ]


def _kept_up(times: Delays | None, *, besides_ns: int = 0) -> bool:
    """Whether no message waited long behind others: on a path that is too narrow they wait ever longer."""
    return times is not None and times.most_ns - times.least_ns <= _BACKLOG_NS + besides_ns
