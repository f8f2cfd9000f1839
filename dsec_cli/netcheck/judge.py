"""What the readings of a flow mean: per aspect what is so, whose doing it is, and the mending command."""

from __future__ import annotations

from dsec.record import Record
from dsec_cli.netcheck.judge_contract import contract
from dsec_cli.netcheck.judge_ends import clocks, ends, names
from dsec_cli.netcheck.judge_loss import back, stream, udp_state
from dsec_cli.netcheck.judge_rates import bulk, messages
from dsec_cli.netcheck.judge_sizes import sizes
from dsec_cli.netcheck.statement import NOTE, OK, PROBLEM, UNKNOWN, Statement
from dsec_cli.netcheck.wording import DATAGRAMS, many, ms, share
from dsec_cli.words import joined, said, say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dsec_cli.netcheck.flows import Wants
    from dsec_cli.netcheck.readings import Echo
    from dsec_cli.netcheck.replay import Floor, Leg

_NOISY = 3
"""A reading that is not three times this host's own noise says little about the path."""
PROBES = ("echo", "sizes", "stream", "back", "bulk", "messages")
_SOME_LOST = 3
_ENOUGH = 10
"""Answers below which nothing is said of marks."""


class Verdict(Record):
    """All that is said of one flow."""

    state: str
    """`ok`, `note`, `problem`, or `unknown`: it could not be measured to its end."""
    statements: tuple[Statement, ...]


def judge(leg: Leg, floor: Floor, wants: Wants) -> Verdict:
    """Every aspect in a fixed order; what was not measured says why."""
    found: list[Statement] = []
    if leg.found.lost:
        found.append(_lost(leg))
    found += _unmeasured(leg)
    found += _echo(leg, floor)
    found += sizes(leg)
    found += _ecn(leg)
    found += stream(leg, floor, wants)
    found += back(leg, floor)
    found += bulk(leg, floor)
    found += messages(leg)
    found += contract(leg, wants, floor)
    found += ends(leg)
    found += names(leg)
    found += clocks(leg)
    return Verdict(_state(found), tuple(found))


def _state(found: Sequence[Statement]) -> str:
    states = {one.state for one in found}
    return next((state for state in (PROBLEM, UNKNOWN, NOTE) if state in states), OK)


def _unmeasured(leg: Leg) -> list[Statement]:
    """Probes that were wanted and gave no reading: what was not measured is not fit, it is unknown."""
    if leg.found.lost:
        return []
    names = leg.asked or PROBES
    left = [name for name in names if getattr(leg.found, name, None) is None]
    if leg.asked and not left:
        return []
    if not leg.asked and len(left) < len(names):  # a report of a version that did not keep what was asked
        return []
    text = say("{names} was asked for, and not measured", names=", ".join(left))
    mend = say("use the same version of DSec on both ends")
    return [Statement("reach", UNKNOWN, text, mend=mend)]


def _lost(leg: Leg) -> Statement:
    found, target = leg.found, leg.flow.target
    if leg.refused:
        return Statement("reach", UNKNOWN, say("refused: {lost}", lost=found.lost), mend=found.lost_hint)
    if not found.lost_at:
        return Statement(
            "reach", UNKNOWN, say("not measured, because {why}", why=said(found.lost)), mend=found.lost_hint
        )
    if found.stalled:
        text = say("{lost} (during {lost_at})", lost=found.lost, lost_at=found.lost_at)
        told = bool(sizes(leg))  # where datagrams are filtered, their sizes say nothing of the path
        hole = found.sizes is not None and "silent" in (found.sizes.forward_by, found.sizes.back_by)
        why = say(": so it goes where long packets vanish, see mtu") if hole and told else ""
        mend: str = say("`tracepath -n` finds the hop; then see mtu")
        if hole and not told:
            mend = say("`ping -M do -s 1472 {target}`, and shorter: do long packets vanish?", target=target)
        return Statement("tcp", PROBLEM, joined("", [text, why]), "path", mend)
    done = [name for name in PROBES if getattr(found, name) is not None]
    if found.blocked:
        return _blocked(leg)
    if found.lost_here:
        text = say(
            "{source} itself failed during {lost_at}: {lost}",
            source=leg.flow.source,
            lost_at=found.lost_at,
            lost=found.lost,
        )
        mend = say("on {source}: `nft list ruleset` (output), `ip route`", source=leg.flow.source)
        return Statement("reach", UNKNOWN, text, "here", mend)
    kept = say("; {done} had been measured", done=", ".join(done)) if done else ""
    return Statement(
        "reach",
        UNKNOWN,
        say(
            "{target} went away during {lost_at}: {lost}{kept}",
            target=target,
            lost_at=found.lost_at,
            lost=found.lost,
            kept=kept,
        ),
        mend=found.lost_hint
        or say("look at that host: its log, `dmesg`, and whether `ds-netcheck serve` still runs"),
    )


def _blocked(leg: Leg) -> Statement:
    text = say(
        "{lost}, while {target} answers on its control port: a filter lets only that one through",
        lost=leg.found.lost,
        target=leg.flow.target,
    )
    mend = say(
        "let TCP and UDP to the ports of `sysctl net.ipv4.ip_local_port_range` of {target} through: "
        "`nft list ruleset` on both hosts and hops",
        target=leg.flow.target,
    )
    return Statement("reach", UNKNOWN, text, "path", mend)


def _echo(leg: Leg, floor: Floor) -> list[Statement]:
    echo = leg.found.echo
    if echo is None:
        return []
    if echo.delays is None:
        return [_deaf(leg, echo)]
    delays = echo.delays
    parts = [
        say(
            "round trip {median} median, {p99} p99, jitter {jitter}",
            median=ms(delays.median_ns),
            p99=ms(delays.p99_ns),
            jitter=ms(delays.jitter_ns),
        )
    ]
    own = floor.found.echo
    lost = echo.sent - echo.back
    rows = []
    if own is not None and own.delays is not None:
        times = (own.delays.median_ns, own.delays.p99_ns, own.delays.jitter_ns)
        parts.append(say(" (this host alone: {times})", times=", ".join(map(ms, times))))
        if delays.jitter_ns < _NOISY * own.delays.jitter_ns:
            parts.append(say("; the jitter is not above this host's own noise"))
    if lost:
        parts.append(say("; {lost} of {sent} did not come back", lost=lost, sent=echo.sent))
    rows.append(Statement("latency", OK, joined("", parts)))
    return rows + _small_lost(leg, echo)


def _deaf(leg: Leg, echo: Echo) -> Statement:
    """No datagram came back, while the control connection, which is TCP, goes on."""
    mend = say("let UDP through: `nft list ruleset` on both hosts and hops")
    if echo.refused_by:
        why = say("{source} itself refuses to send UDP: {why}", source=leg.flow.source, why=echo.refused_by)
        return Statement("latency", udp_state(leg), why, "here", mend)
    if echo.arrived:
        text = say(
            "{arrived} of {sent} small datagrams arrive and none comes back: the way back drops UDP",
            arrived=echo.arrived,
            sent=echo.sent,
        )
    else:
        text = say("none of {sent} small datagrams came back, while TCP gets through", sent=echo.sent)
    if echo.by_tcp is not None:
        text = say(
            "{text}; round trip by TCP {median} median, {p99} p99",
            text=text,
            median=ms(echo.by_tcp.median_ns),
            p99=ms(echo.by_tcp.p99_ns),
        )
    return Statement("latency", udp_state(leg), text, "path", mend)


def _small_lost(leg: Leg, echo: Echo) -> list[Statement]:
    """Losses of small datagrams, where no stream that way tells more of them."""
    if echo.arrived is None:
        return []
    rows = []
    ways = (
        (say("the way there"), echo.sent, echo.sent - echo.arrived, leg.found.stream),
        (say("the way back"), echo.arrived, echo.arrived - echo.back, leg.found.back),
    )
    for way, sent, lost, better in ways:
        if better is None and lost >= _SOME_LOST and lost * 100 > sent:
            text = say("{lost} of {sent} small datagrams were lost on {way}", lost=lost, sent=sent, way=way)
            mend = say("--probes stream,back says why")
            rows.append(Statement("loss", PROBLEM, text, "path", mend))
    return rows


def _ecn(leg: Leg) -> list[Statement]:
    echo, flow = leg.found.echo, leg.found.stream
    there = [0, 0, 0]
    if echo is not None:
        there = [echo.kept_there, echo.marked_there, echo.back - echo.kept_there - echo.marked_there]
    if flow is not None:
        there = [there[0] + flow.kept, there[1] + flow.marked, there[2] + flow.bleached]
    if sum(there) < _ENOUGH:
        return []
    rows = [_marks(say("the way there"), there, leg)]
    if echo is not None and echo.back >= _ENOUGH:
        back = [echo.kept_back, echo.marked_back, echo.back - echo.kept_back - echo.marked_back]
        if back[1] or back[2]:
            rows.append(_marks(say("the way back"), back, leg))
    return rows


def _marks(way: str, counts: Sequence[int], leg: Leg) -> Statement:
    kept, marked, bleached = counts
    total = sum(counts)
    if bleached * 2 > total:
        grave = PROBLEM if "rdma" in leg.flow.protocol else NOTE
        return Statement(
            "ecn",
            grave,
            say(
                "a hop on {way} removes ECN marks ({bleached} of {total} arrived without theirs)",
                way=way,
                bleached=bleached,
                total=total,
            ),
            "path",
            say(
                "on each hop: `nft list ruleset | grep ecn`, and DSCP rewriting that clears the "
                "whole byte; until then ECN cannot warn of congestion here"
            ),
        )
    if marked * 100 > total:
        return Statement(
            "ecn",
            PROBLEM,
            say(
                "a hop on {way} is congested: it marked {marked} of {total} ({share})",
                way=way,
                marked=marked,
                total=total,
                share=share(marked, total),
            ),
            "path",
            say("find the full link: `tc -s qdisc` on each hop (ecn_mark), and move or slow what shares it"),
        )
    return Statement(
        "ecn",
        OK,
        say(
            "ECN marks are kept on {way} ({kept} of {total})",
            way=way,
            kept=kept,
            total=many(total, DATAGRAMS),
        ),
    )
