"""What was measured against what the contract says of the network."""

from __future__ import annotations

from dsec_cli.netcheck.judge_rates import allowed_only
from dsec_cli.netcheck.statement import OK, PROBLEM, UNKNOWN, Statement
from dsec_cli.netcheck.wording import contract_rate, ms, rate
from dsec_cli.words import joined, say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.netcheck.flows import Wants
    from dsec_cli.netcheck.readings import Bulk
    from dsec_cli.netcheck.replay import Floor, Leg

_NEAR = 8
"""Rates above an eighth of what a host can do alone say little of the path."""
_NEARLY = 0.99
"""What a measurement may be off."""


def contract(leg: Leg, wants: Wants, floor: Floor) -> list[Statement]:
    """Against bandwidth_min, bandwidth_cap and latency_cap."""
    rows: list[Statement] = []
    if wants.bandwidth_min_bps is not None:
        rows.append(_least(leg, wants.bandwidth_min_bps, floor))
    if wants.bandwidth_cap_bps is not None:
        rows.append(_cap(leg, wants.bandwidth_cap_bps))
    if wants.latency_cap_ns is not None:
        rows += _latency(leg, wants.latency_cap_ns)
    return rows


def _least(leg: Leg, least: int, floor: Floor) -> Statement:
    """In the flow's own direction, and as interfaces count: with headers, which a link's rate includes."""
    bulk, wanted = leg.found.bulk, contract_rate(least)
    have = None if bulk is None else bulk.forward_bps if bulk.lasting_bps is None else bulk.lasting_bps
    if bulk is None or have is None:
        text = say("bandwidth_min {bandwidth_min}: the path's rate was not measured", bandwidth_min=wanted)
        return Statement("contract", UNKNOWN, text, mend=say("measure it: --probes bulk"))
    ways = [say("{rate} there", rate=rate(have))]
    ways += [say("{rate} back", rate=rate(bulk.back_bps))] if bulk.back_bps is not None else []
    text = say(
        "bandwidth_min {bandwidth_min}: the path has {both}", bandwidth_min=wanted, both=joined(", ", ways)
    )
    framed = int(have * _framing(leg))
    if framed >= _NEARLY * least:
        return Statement("contract", OK, text)
    if allowed_only(have, bulk.allowed_bps) or _out_of_reach(bulk, have, least, floor=floor):
        text = say("{text}, and the servers let no more be sent", text=text)
        mend = say("`ds-netcheck serve --max-rate {least}` on {target}", least=wanted, target=leg.flow.target)
        return Statement("contract", UNKNOWN, text, "peer", mend)
    lower = contract_rate(have // 10**6 * 10**6 or have)
    mend = say("lower bandwidth_min to at most {both}, or see above", both=lower)
    return Statement("contract", PROBLEM, text, "path", mend)


def _out_of_reach(bulk: Bulk, have: int, least: int, *, floor: Floor) -> bool:
    """Whether the servers do not let as much be sent as is asked for, and hosts held what was sent."""
    alone = floor.found.bulk.forward_bps if floor.found.bulk is not None else None
    return bool(alone and bulk.allowed_bps and least > bulk.allowed_bps and have * _NEAR >= alone)


def _framing(leg: Leg) -> float:
    """What Ethernet, IP and TCP add to the data of a full segment."""
    mtu = leg.found.sizes.forward_bytes if leg.found.sizes is not None else None
    mtu = max(576, mtu or 1500)
    return (mtu + 14) / (mtu - 52)


def _cap(leg: Leg, cap: int) -> Statement:
    """A cap bounds what the plan's Step may send; how much the path could carry is no matter of it."""
    asked = leg.flow.asked_bps
    if not asked:
        text = say(
            "bandwidth_cap {cap}: the flow states no rate, and the breaker holds it to that",
            cap=contract_rate(cap),
        )
        return Statement("contract", OK, text)
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
    times = None if echo is None else echo.delays or echo.by_tcp
    if times is None:
        return [
            Statement("contract", UNKNOWN, say("latency_cap {cap}: no round trip was measured", cap=ms(cap)))
        ]
    worst = times.p99_ns
    text = say("latency_cap {cap}: round trips take {worst} (p99)", cap=ms(cap), worst=ms(worst))
    if worst <= cap:
        return [Statement("contract", OK, text)]
    mend = say("place both Steps nearer to each other, or raise latency_cap")
    return [Statement("contract", PROBLEM, text, "path", mend)]
