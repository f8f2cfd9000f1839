"""What the readings of a flow mean: per aspect what is so, whose doing it is, and the mending command."""

from __future__ import annotations

from dsec.record import Record
from dsec_cli.netcheck.judge_contract import contract
from dsec_cli.netcheck.judge_ends import clocks, ends
from dsec_cli.netcheck.judge_rates import bulk, messages, stream
from dsec_cli.netcheck.judge_sizes import sizes
from dsec_cli.netcheck.statement import NOTE, OK, PROBLEM, UNKNOWN, Statement
from dsec_cli.netcheck.wording import DATAGRAMS, many, ms, share
from dsec_cli.words import joined, said, say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dsec_cli.netcheck.flows import Wants
    from dsec_cli.netcheck.replay import Floor, Leg

_NOISY = 3
"""A reading that is not three times this host's own noise says little about the path."""
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
    found += _echo(leg, floor)
    found += sizes(leg)
    found += _ecn(leg)
    found += stream(leg, floor)
    found += bulk(leg, floor)
    found += messages(leg)
    found += contract(leg, wants)
    found += ends(leg)
    found += clocks(leg)
    return Verdict(_state(found), tuple(found))


def _state(found: Sequence[Statement]) -> str:
    states = {one.state for one in found}
    return next((state for state in (PROBLEM, UNKNOWN, NOTE) if state in states), OK)


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
        hole = found.sizes is not None and "silent" in (found.sizes.forward_by, found.sizes.back_by)
        why = say(": so it goes where long packets vanish, see mtu") if hole else ""
        return Statement(
            "tcp", PROBLEM, joined("", [text, why]), "path", say("`tracepath -n` finds the hop; then see mtu")
        )
    done = [
        name for name in ("echo", "sizes", "stream", "bulk", "messages") if getattr(found, name) is not None
    ]
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


def _echo(leg: Leg, floor: Floor) -> list[Statement]:
    echo = leg.found.echo
    if echo is None:
        return []
    if echo.delays is None:
        text = say("none of {sent} small datagrams came back, while TCP gets through", sent=echo.sent)
        return [
            Statement(
                "latency",
                PROBLEM,
                text,
                mend=say("let UDP through: `nft list ruleset` on both hosts and hops"),
            )
        ]
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
