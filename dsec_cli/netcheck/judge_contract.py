"""What was measured against what the contract says of the network."""

from __future__ import annotations

from dsec_cli.netcheck.statement import OK, PROBLEM, UNKNOWN, Statement
from dsec_cli.netcheck.wording import contract_rate, ms, rate
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.netcheck.flows import Wants
    from dsec_cli.netcheck.replay import Leg


def contract(leg: Leg, wants: Wants) -> list[Statement]:
    """Against bandwidth_min, bandwidth_cap and latency_cap."""
    rows: list[Statement] = []
    found = leg.found
    if wants.bandwidth_min_bps is not None and found.bulk is not None:
        both = [found.bulk.forward_bps, *([found.bulk.back_bps] if found.bulk.back_bps is not None else [])]
        text = say(
            "bandwidth_min {bandwidth_min}: the path has {both}",
            bandwidth_min=contract_rate(wants.bandwidth_min_bps),
            both=rate(min(both)),
        )
        enough = min(both) >= wants.bandwidth_min_bps
        mend = (
            ""
            if enough
            else say(
                "lower bandwidth_min to at most {both}, or see above",
                both=contract_rate(min(both) // 10**6 * 10**6),
            )
        )
        rows.append(Statement("contract", OK if enough else PROBLEM, text, "" if enough else "path", mend))
    if wants.bandwidth_cap_bps is not None:
        rows.append(_cap(leg, wants.bandwidth_cap_bps))
    if wants.latency_cap_ns is not None:
        rows += _latency(leg, wants.latency_cap_ns)
    return rows


def _cap(leg: Leg, cap: int) -> Statement:
    asked = leg.flow.asked_bps or (leg.found.messages.achieved_bps if leg.found.messages is not None else 0)
    text = say("bandwidth_cap {cap}: the flow uses {asked}", cap=contract_rate(cap), asked=rate(asked))
    if asked <= cap:
        return Statement("contract", OK, text)
    return Statement(
        "contract",
        PROBLEM,
        say("{text}: the breaker would slow its Step down", text=text),
        "here",
        say("raise bandwidth_cap to {asked}, or send less", asked=contract_rate(asked)),
    )


def _latency(leg: Leg, cap: int) -> list[Statement]:
    echo = leg.found.echo
    if echo is None or echo.delays is None:
        return [
            Statement("contract", UNKNOWN, say("latency_cap {cap}: no round trip was measured", cap=ms(cap)))
        ]
    worst = echo.delays.p99_ns
    text = say("latency_cap {cap}: round trips take {worst} (p99)", cap=ms(cap), worst=ms(worst))
    if worst <= cap:
        return [Statement("contract", OK, text)]
    mend = say("place both Steps nearer to each other, or raise latency_cap")
    return [Statement("contract", PROBLEM, text, "path", mend)]
