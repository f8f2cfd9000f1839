"""The protocol of each communication, from where its two ends are placed."""

from __future__ import annotations

from dsec.core.links import Impossible, Ways
from dsec.plan import Link
from dsec_cli.diagnostics import Finding, Severity
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dsec.inventory import Inventory
    from dsec_cli.contract.values import Contract
    from dsec_cli.contract.values import Link as Stated
    from dsec_cli.dag.graph import StepGraph


def links_of(
    graph: StepGraph,
    contract: Contract,
    places: Sequence[tuple[str, ...]],
    inventory: Inventory,
    *,
    placed: bool = True,
) -> tuple[tuple[Link, ...], list[Finding]]:
    """One link for each communication between known Steps, and what is declared and cannot be.

    `places`: the devices of each Step of the graph; not `placed`: they only stand for some.
    """
    if not contract.communication:
        return (), []
    ways = Ways(inventory, nvlink=contract.nvlink_mode != "off", placed=placed)
    links: list[Link] = []
    findings: list[Finding] = []
    for stated in contract.communication:
        if stated.source not in graph.numbers or stated.target not in graph.numbers:
            continue
        one, two = (places[graph.numbers[name]] for name in (stated.source, stated.target))
        way = ways.way(one, two, stated.protocol)
        if isinstance(way, Impossible):
            findings.append(_impossible(stated, way, inventory))
        else:
            links.append(Link(stated.source, stated.target, *way[:3], bool(stated.protocol), way.reason))
    return tuple(links), findings


def _impossible(stated: Stated, why: Impossible, inventory: Inventory) -> Finding:
    return Finding(
        code="DS509",
        severity=Severity.ERROR,
        where=(*stated.path, "protocol"),
        message=say(
            "{source} cannot reach {target} by {protocol}: {why}",
            "unreachable",
            source=stated.source,
            target=stated.target,
            protocol=stated.protocol,
            why=why.text,
        ),
        reason=say("so it is where both are placed on this inventory ({origin})", origin=inventory.origin),
        help=say("leave protocol out to have the best way there is, or plan for another machine"),
    )
