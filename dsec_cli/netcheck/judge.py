"""What the readings of a flow mean: per aspect what is so, whose doing it is, and the mending command."""

from __future__ import annotations

from dsec.record import Record
from dsec_cli.netcheck.judge_ends import clocks, ends
from dsec_cli.netcheck.judge_rates import bulk, contract, messages, stream
from dsec_cli.netcheck.judge_sizes import sizes
from dsec_cli.netcheck.statement import NOTE, OK, PROBLEM, UNKNOWN, Statement
from dsec_cli.netcheck.wording import many, ms, share

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
        return Statement("reach", UNKNOWN, f"refused: {found.lost}", mend=found.lost_hint)
    if not found.lost_at:
        return Statement("reach", UNKNOWN, f"not measured, because {found.lost}", mend=found.lost_hint)
    if found.stalled:
        text = f"{found.lost} (during {found.lost_at})"
        hole = found.sizes is not None and "silent" in (found.sizes.forward_by, found.sizes.back_by)
        why = ": so it goes where long packets vanish, see mtu" if hole else ""
        return Statement("tcp", PROBLEM, text + why, "path", "`tracepath -n` finds the hop; then see mtu")
    done = [
        name for name in ("echo", "sizes", "stream", "bulk", "messages") if getattr(found, name) is not None
    ]
    kept = f"; {', '.join(done)} had been measured" if done else ""
    return Statement(
        "reach",
        UNKNOWN,
        f"{target} went away during {found.lost_at}: {found.lost}{kept}",
        mend=found.lost_hint
        or "look at that host: its log, `dmesg`, and whether `ds-netcheck serve` still runs",
    )


def _echo(leg: Leg, floor: Floor) -> list[Statement]:
    echo = leg.found.echo
    if echo is None:
        return []
    if echo.delays is None:
        text = f"none of {echo.sent} small datagrams came back, while TCP gets through"
        return [
            Statement(
                "latency", PROBLEM, text, mend="let UDP through: `nft list ruleset` on both hosts and hops"
            )
        ]
    delays = echo.delays
    text = f"round trip {ms(delays.median_ns)} median, {ms(delays.p99_ns)} p99, jitter {ms(delays.jitter_ns)}"
    own = floor.found.echo
    lost = echo.sent - echo.back
    rows = []
    if own is not None and own.delays is not None:
        times = (own.delays.median_ns, own.delays.p99_ns, own.delays.jitter_ns)
        text += f" (this host alone: {', '.join(map(ms, times))})"
        if delays.jitter_ns < _NOISY * own.delays.jitter_ns:
            text += "; the jitter is not above this host's own noise"
    if lost:
        text += f"; {lost} of {echo.sent} did not come back"
    rows.append(Statement("latency", OK, text))
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
    rows = [_marks("there", there, leg)]
    if echo is not None and echo.back >= _ENOUGH:
        back = [echo.kept_back, echo.marked_back, echo.back - echo.kept_back - echo.marked_back]
        if back[1] or back[2]:
            rows.append(_marks("back", back, leg))
    return rows


def _marks(way: str, counts: Sequence[int], leg: Leg) -> Statement:
    kept, marked, bleached = counts
    total = sum(counts)
    if bleached * 2 > total:
        grave = PROBLEM if "rdma" in leg.flow.protocol else NOTE
        return Statement(
            "ecn",
            grave,
            f"a hop on the way {way} removes ECN marks ({bleached} of {total} arrived without theirs)",
            "path",
            "on each hop: `nft list ruleset | grep ecn`, and DSCP rewriting that clears the whole byte; "
            "until then ECN cannot warn of congestion here",
        )
    if marked * 100 > total:
        return Statement(
            "ecn",
            PROBLEM,
            f"a hop on the way {way} is congested: it marked {marked} of {total} ({share(marked, total)})",
            "path",
            "find the full link: `tc -s qdisc` on each hop (ecn_mark), and move or slow what shares it",
        )
    return Statement("ecn", OK, f"ECN marks are kept on the way {way} ({kept} of {many(total, 'datagram')})")
