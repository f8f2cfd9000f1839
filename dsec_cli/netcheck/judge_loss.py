"""What became of steady streams of datagrams, both ways: whose queue, which kind of loss, what waits.

What a host's own queue refused, or the receiver did not fetch, was never lost on the path, and what the
receiver's kernel counted as damaged is not missing without a reason. The rest has three faces. Where half
the rate loses (almost) nothing, or arrives as fast as the whole did, a hop carries no more than what
arrived. Where half the rate loses the same share and what arrives has waited, others fill the hop. Where
it has not waited, the loss does not depend on the load.
"""

from __future__ import annotations

from dsec.core.links import TCP
from dsec.record import Record
from dsec_cli.netcheck.readings import at_most_ppm, rate_bps
from dsec_cli.netcheck.statement import NOTE, OK, PROBLEM, UNKNOWN, Statement
from dsec_cli.netcheck.wording import DATAGRAMS, PACKETS, below, many, ms, rate, share
from dsec_cli.words import joined, say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.netcheck.flows import Wants
    from dsec_cli.netcheck.readings import Delays, Stream
    from dsec_cli.netcheck.replay import Floor, Leg

_NEARLY = 0.95
"""What counts as all of it."""
_MOSTLY = 0.7
"""What of a stream says enough about the path, when its sender was too slow."""
_FEW = 10
"""Losses from which their kind can be told."""
_LONG_NS = 5_000_000
"""Waiting that is worth a word, when it is also five times this host's own."""
_FULL_NS = 2_000_000
"""Waiting of one in twenty that a full queue causes, when it is also five times this host's own."""
_OTHERS = 0.1
"""Of what arrived, other traffic that is worth a word."""
_FILTERS = say("let UDP through: `nft list ruleset` on both hosts and hops")


class Way(Record):
    """One direction of a path, and the stream that was sent along it."""

    found: Stream
    back: bool
    sender: str
    receiver: str
    sender_cause: str
    receiver_cause: str
    device: str
    """The sender's interface."""
    wanted: bool
    """Whether somebody asks for this rate, not the probe alone."""

    def say(self, text: str) -> str:
        """The text, with the direction where it is the one that nobody expects."""
        return say("the way back: {text}", text=text) if self.back else text


def udp_state(leg: Leg) -> str:
    """How grave it is that no datagram gets through: a flow over TCP does without."""
    if leg.flow.protocol != TCP:
        return PROBLEM
    bulk, messages = leg.found.bulk, leg.found.messages
    carried = (bulk is not None and bulk.forward_bps) or (messages is not None and messages.done)
    return NOTE if carried else UNKNOWN


def device(leg: Leg, end: int = 0) -> str:
    """The interface of an end, as commands name it."""
    facts = leg.before[end]
    return facts.interface.name if facts is not None and facts.interface.name else "DEVICE"


def held_here(found: Stream | None) -> bool:
    """Whether the sender's own queue would take no more."""
    return found is not None and bool(found.own_drops or found.blocked_ns * 10 > found.sent_ns)


def missing(found: Stream | None) -> int:
    """Datagrams that were lost between both hosts; 0 where none was measured."""
    return 0 if found is None else max(0, found.sent - found.received - found.peer_drops)


def stream(leg: Leg, floor: Floor, wants: Wants) -> list[Statement]:
    """The steady stream there: achieved, lost, waiting."""
    found = leg.found.stream
    if found is None:
        return []
    wanted = bool(leg.flow.asked_bps or wants.bandwidth_min_bps)
    flow = leg.flow
    way = Way(found, False, flow.source, flow.target, "here", "peer", device(leg), wanted)
    if not found.sent:
        return [_not_sent(way, leg)]
    rows = _own(way, leg)
    if not found.received and not found.peer_drops and not found.damaged:
        return [*rows, _none_arrived(way, leg)]
    return rows + _arrived(way, floor)


def back(leg: Leg, floor: Floor) -> list[Statement]:
    """The stream that came back: what of it was lost."""
    found = leg.found.back
    if found is None:
        return []
    flow = leg.flow
    way = Way(found, True, flow.target, flow.source, "peer", "here", device(leg, 1), False)
    if not found.sent:
        return [_not_sent(way, leg)]
    if not found.received and not found.peer_drops and not found.damaged:
        return [_none_arrived(way, leg)]
    return _arrived(way, floor)


def _not_sent(way: Way, leg: Leg) -> Statement:
    """The sending host's own kernel refused."""
    if not way.found.refused_by:
        return Statement("rate", UNKNOWN, way.say(say("nothing was sent")), way.sender_cause)
    text = say("{host} itself refuses to send UDP: {why}", host=way.sender, why=way.found.refused_by)
    mend = say("on {host}: `nft list ruleset` (output), `ip route get ADDRESS`", host=way.sender)
    return Statement("rate", udp_state(leg), text, way.sender_cause, mend)


def _none_arrived(way: Way, leg: Leg) -> Statement:
    text = way.say(say("none of {sent} arrived", sent=many(way.found.sent, PACKETS)))
    state = udp_state(leg)
    if state == NOTE:
        text = say("{text}: a filter drops UDP, and TCP, which the flow uses, gets through", text=text)
    return Statement("loss", state, text, "path", _FILTERS)


def _arrived(way: Way, floor: Floor) -> list[Statement]:
    """What is so of a stream of which some came."""
    found = way.found
    lost = missing(found)
    rows: list[Statement] = []
    if damaged := min(lost, found.damaged):
        rows.append(_damaged(way, damaged))
    if lost > damaged:
        rows.append(_lost(way, lost, lost - damaged, floor=floor))
    elif not lost:
        rows.append(_none_lost(way))
    if found.peer_drops:
        rows.append(_unfetched(way))
    if found.late or found.twice:
        text = say(
            "{late} came out of order, {twice} twice: the path has several ways",
            late=found.late,
            twice=found.twice,
        )
        rows.append(Statement("order", NOTE, way.say(text), "path"))
    return rows if way.back else rows + _waiting(way, lost, floor)


def _unfetched(way: Way) -> Statement:
    unfetched = many(way.found.peer_drops, DATAGRAMS)
    text = say(
        "{target} did not fetch {unfetched} in time: not lost on the path",
        target=way.receiver,
        unfetched=unfetched,
    )
    mend = say("`sysctl -w net.core.rmem_max=8388608` there, or fewer programs beside it")
    return Statement("loss", NOTE, text, way.receiver_cause, mend)


def _damaged(way: Way, count: int) -> Statement:
    text = say(
        "{count} of {sent} arrived damaged: {host}'s kernel counted wrong checksums, and dropped them",
        count=count,
        sent=many(way.found.sent, PACKETS),
        host=way.receiver,
    )
    mend = say(
        "`nstat -az UdpInCsumErrors TcpInCsumErrors` on {host} counts them; `ethtool -S` of each link on "
        "the path, memory of hops, and `ethtool -K {device} tx off` where a card's checksums are wrong",
        host=way.receiver,
        device=way.device,
    )
    return Statement("loss", PROBLEM, way.say(text), "path", mend)


def _own(way: Way, leg: Leg) -> list[Statement]:
    """What this host put on the wire of what was asked."""
    found = way.found
    sent = rate_bps(found.sent * found.size_bytes, found.sent_ns)
    asked = say("{sent} of {asked} asked", sent=rate(sent), asked=rate(found.asked_bps))
    if sent >= _NEARLY * found.asked_bps:
        return [Statement("rate", OK, say("sent {asked}", asked=asked))]
    if held_here(found):
        drops = say(", and refused {own_drops}", own_drops=found.own_drops) if found.own_drops else ""
        text = say(
            "{source}'s own queue let out {asked}{drops}: the limit is that host's, not the path's",
            source=leg.flow.source,
            asked=asked,
            drops=drops,
        )
        mend = say(
            "`tc -s qdisc show dev {device}` there; `tc qdisc del dev {device} root` removes what shapes it",
            device=way.device,
        )
        return [Statement("rate", PROBLEM if way.wanted else NOTE, text, "here", mend)]
    text = say(
        "{source} could send only {asked}: its processors were too busy or too slow",
        source=leg.flow.source,
        asked=asked,
    )
    done = leg.found.messages
    carried = done is not None and done.done >= done.asked and bool(done.done)
    enough = carried or not way.wanted or sent >= _MOSTLY * found.asked_bps
    state = NOTE if enough else UNKNOWN
    return [Statement("rate", state, text, "here", say("--streams 4 measures with several processes"))]


def _none_lost(way: Way) -> Statement:
    seen = max(1, way.found.sent - way.found.peer_drops)
    bound = below(at_most_ppm(0, seen))
    text = say(
        "0 of {seen} lost (less than {bound} with 95 % confidence)", seen=many(seen, PACKETS), bound=bound
    )
    return Statement("loss", OK, way.say(text))


def _lost(way: Way, lost: int, undamaged: int, *, floor: Floor) -> Statement:
    found = way.found
    bound = below(at_most_ppm(undamaged, found.sent))
    text = way.say(
        say(
            "{lost} of {sent} lost ({share}, at most {bound})",
            lost=undamaged,
            sent=many(found.sent, PACKETS),
            share=share(undamaged, found.sent),
            bound=bound,
        )
    )
    if lost < _FEW or not found.slower_sent:
        few = say("{text}; too few to tell why", text=text)
        return Statement("loss", PROBLEM, few, "path", say("--duration 20s sees more"))
    again = found.slower_sent - found.slower_received
    half = say("at half the rate {slower_sent}", slower_sent=share(again, found.slower_sent))
    shares = lost / found.sent, again / found.slower_sent
    if shares[1] * 3 < shares[0] or _as_much(found):
        return _narrow(way, text, half)
    if _full_of_others(found, floor):
        text = say(
            "{text}; {half}, and what arrives has waited: other traffic fills a hop{others}",
            text=text,
            half=half,
            others=_others(way),
        )
        mend = say("find the full link: `tc -s qdisc` on each hop, and move or slow what shares it")
        return Statement("loss", PROBLEM, text, "path", mend)
    return Statement(
        "loss",
        PROBLEM,
        say("{text}; {half}: loss that does not depend on the rate", text=text, half=half),
        "path",
        say(
            "`ip -s link show dev {device}` and `ethtool -S` on each end and hop (errors, drops), "
            "then cables, optics and filters: `nft list ruleset`",
            device=way.device,
        ),
    )


def _narrow(way: Way, text: str, half: str) -> Statement:
    """A hop carries only so much; nobody's loss where only the probe asked for more."""
    found = way.found
    arrived = rate_bps(found.received * found.size_bytes, found.received_ns)
    said = say(
        "{text}; {half}: a hop carries only {arrived} of {asked}, drops the rest{others}",
        text=text,
        half=half,
        arrived=rate(arrived),
        asked=rate(found.asked_bps),
        others=_others(way),
    )
    if not way.wanted:
        said = say("{text} (the probe's rate, which no flow asks for)", text=said)
        return Statement("loss", NOTE, said, "path", say("--rate makes the probe slower"))
    mend = say(
        "find the hop: `tc -s qdisc show` on routers, `ethtool DEVICE | grep Speed` on "
        "links, and what shares them; or state a bandwidth that the path has"
    )
    return Statement("loss", PROBLEM, said, "path", mend)


def _others(way: Way) -> str:
    """Other traffic at either end, by the counters of its kernel."""
    found = way.found
    arrived = rate_bps(found.received * found.size_bytes, found.received_ns)
    ends = ((found.others_sender_bps, way.sender), (found.others_receiver_bps, way.receiver))
    parts = [
        say("; others took {rate} of {host}'s interface meanwhile", rate=rate(count), host=host)
        for count, host in ends
        if count is not None and count > _OTHERS * arrived
    ]
    return joined("", parts)


def _as_much(found: Stream) -> bool:
    """Whether as much arrived a second when half was sent."""
    first = found.received / max(1, found.sent) * found.asked_bps
    second = found.slower_received / max(1, found.slower_sent) * found.asked_bps / 2
    return second > 0.75 * first


def _full_of_others(found: Stream, floor: Floor) -> bool:
    """Whether queues were full at both rates."""
    own = floor.found.stream.waiting if floor.found.stream is not None else None
    least = max(_FULL_NS, 5 * own.p95_ns if own is not None else 0)
    return all(one is not None and one.p95_ns >= least for one in (found.waiting, found.slower_waiting))


def _waiting(way: Way, lost: int, floor: Floor) -> list[Statement]:
    """Queueing, where it is more than this host's own noise."""
    found = way.found
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
    if held_here(found):
        said = say("{text}{beside}: in that host's own", text=text, beside=beside)
        return [Statement("queue", NOTE, said, "here")]
    cause = (
        say("that of the hop that drops")
        if lost
        else say("of a hop that is full, though nothing is lost yet")
    )
    said = say("{text}{beside}: {cause}", text=text, beside=beside, cause=cause)
    return [Statement("queue", NOTE, said, "path", say("a shorter queue there: fq_codel or cake"))]


def _beside(own: Delays | None) -> str:
    return (
        ""
        if own is None
        else say(" (this host alone: {median}, {p95})", median=ms(own.median_ns), p95=ms(own.p95_ns))
    )
