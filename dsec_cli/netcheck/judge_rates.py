"""What TCP and the flow's own messages say: which way is slower, what bounds it, does the flow fit."""

from __future__ import annotations

from dsec_cli.netcheck.judge_loss import device, held_here
from dsec_cli.netcheck.judge_windows import windows
from dsec_cli.netcheck.readings import hosts_bound, uneven
from dsec_cli.netcheck.statement import NOTE, OK, PROBLEM, UNKNOWN, Statement
from dsec_cli.netcheck.wording import MESSAGES, many, ms, rate, share
from dsec_cli.words import joined, say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.netcheck.readings import Bulk, Delays
    from dsec_cli.netcheck.replay import Floor, Leg

_NEARLY = 0.95
"""What counts as all of it."""
_BACKLOG_NS = 100_000_000
"""What a stall of either host may hold up, without the path being too narrow."""
_ROUND_TRIPS = 10
"""What a message may wait beside that on a long path, on which TCP has yet to find its rate."""
_RESENT = 0.01
_ALLOWED = 0.8
"""Of what a server allows: from there on its limit was measured, not the path."""
_CREDIT = 1.5
"""How much faster than the end the beginning is where a burst was let through."""


def bulk(leg: Leg, floor: Floor) -> list[Statement]:
    """What TCP carries both ways."""
    found = leg.found.bulk
    if found is None:
        return []
    if found.forward_bps is None:
        little = say("too little came over TCP to tell a rate")
        return [Statement("tcp", UNKNOWN, little, mend=say("--duration 10s sends more"))]
    back = say("not measured") if found.back_bps is None else rate(found.back_bps)
    text: str = say(
        "TCP carries {forward} there and {back} back{by_iperf}{use}",
        forward=rate(found.forward_bps),
        back=back,
        by_iperf=_by_iperf(leg),
        use=_use(leg, found),
    )
    own = floor.found.bulk
    if own is not None and own.forward_bps is not None:
        text = joined("", [text, say(" (this host alone: {forward})", forward=rate(own.forward_bps))])
    rows = [Statement("tcp", OK, text)]
    held = windows(leg)
    if _uneven(found, own) and not (held and found.forward_bps < (found.back_bps or 0)):
        rows.append(_slower(found, leg))
    rows += held
    rows += _allowed(found, leg)
    rows += _burst(found, own)
    if found.forward_resent > _RESENT * max(1, found.forward_segments):
        resent = share(found.forward_resent, found.forward_segments)
        rows.append(
            Statement("tcp", NOTE, say("TCP sent {resent} of its segments again", resent=resent), "path")
        )
    return rows


def _slower(found: Bulk, leg: Leg) -> Statement:
    """Which way is the slower one, and where to look."""
    ways = found.forward_bps or 0, found.back_bps or 0
    low, high = sorted(ways)
    there = ways[0] < ways[1]
    way = say("the way there") if there else say("the way back")
    here = there and held_here(leg.found.stream)
    where = (
        say("`tc -s qdisc show dev {device}` on {source}", device=device(leg), source=leg.flow.source)
        if here
        else say("`tc -s qdisc` on each hop")
    )
    return Statement(
        "tcp",
        NOTE,
        say("{way} is the slower one: {low} of {high}", way=way, low=rate(low), high=rate(high)),
        "here" if here else "path",
        say(
            "nothing, where the line is sold so; else look at what shapes {way}: {where}, and the duplex "
            "of its links",
            way=way,
            where=where,
        ),
    )


def allowed_only(found: int | None, allowed: int | None) -> bool:
    """Whether the limit of a server was measured, not the path."""
    return found is not None and allowed is not None and found >= _ALLOWED * allowed


def _allowed(found: Bulk, leg: Leg) -> list[Statement]:
    if found.allowed_bps is None or not allowed_only(found.forward_bps, found.allowed_bps):
        return []
    text = say(
        "the servers let no more than {allowed} be sent: the path may carry more",
        allowed=rate(found.allowed_bps),
    )
    mend = say("`ds-netcheck serve --max-rate` on {target} takes more", target=leg.flow.target)
    return [Statement("tcp", OK, text, "peer", mend)]


def _burst(found: Bulk, own: Bulk | None) -> list[Statement]:
    """A hop that lets the first bytes through faster than what follows."""
    if not found.first_bps or not found.lasting_bps or found.first_bps <= _CREDIT * found.lasting_bps:
        return []
    if hosts_bound(found, found.lasting_bps, None if own is None else own.forward_bps):
        return []
    text = say(
        "it began with {first} and ended with {late}: a hop lets a burst through, then holds to its rate",
        first=rate(found.first_bps),
        late=rate(found.lasting_bps),
    )
    return [Statement("tcp", NOTE, text, "path", say("--duration 30s, where the burst may last longer"))]


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
        if speed and found.forward_bps is not None
        else ""
    )


def _uneven(found: Bulk, own: Bulk | None) -> bool:
    low = min(found.forward_bps or 0, found.back_bps or 0)
    alone = None if own is None else min(own.forward_bps or 0, own.back_bps or 0)
    return uneven(found) and not hosts_bound(found, low, alone)


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
    if not found.asked and not found.done:
        return [Statement("flow", UNKNOWN, say("no message was sent"))]
    whole, long_ns = found.done >= found.asked, _ROUND_TRIPS * found.rtt_ns
    enough = found.achieved_bps >= _NEARLY * found.asked_bps
    if whole and (enough or _kept_up(times, besides_ns=long_ns)):
        return [Statement("flow", OK, text)]
    if found.allowed_bps is not None and found.asked_bps > _ALLOWED * found.allowed_bps:
        limit = rate(found.allowed_bps)
        text = say("{text}; the servers let no more than {allowed} be sent", text=text, allowed=limit)
        mend = say("`ds-netcheck serve --max-rate` on {target} takes more", target=leg.flow.target)
        return [Statement("flow", UNKNOWN, text, "peer", mend)]
    if whole and _kept_up(times, besides_ns=long_ns + found.waited_ns):
        busy = say(
            "{text}; the hosts were too busy: their programs waited {waited} for a processor",
            text=text,
            waited=ms(found.waited_ns),
        )
        return [Statement("flow", NOTE, busy, "here", say("fewer programs beside it, on both hosts"))]
    mend = say("fewer or smaller messages, or the mend of what is said above")
    cause = _bound_by(leg)
    if cause == "path":
        text = say("the path does not carry the flow: {text}", text=text)
    else:
        text = say("an end does not carry the flow: {text}", text=text)
    return [Statement("flow", PROBLEM, text, cause, mend)]


def _bound_by(leg: Leg) -> str:
    """Who holds the flow: an end's own queue or setting, else the path."""
    if held_here(leg.found.stream):
        return "here"
    return next((one.cause for one in windows(leg)), "path")


def _kept_up(times: Delays | None, *, besides_ns: int = 0) -> bool:
    """Whether no message waited long behind others: on a path that is too narrow they wait ever longer."""
    return times is not None and times.most_ns - times.least_ns <= _BACKLOG_NS + besides_ns
