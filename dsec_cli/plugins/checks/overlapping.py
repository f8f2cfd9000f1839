"""Asks: is there code that begins inside other instructions and does something that those hide."""

from __future__ import annotations

from dsec_cli.plugins.check import Check
from dsec_cli.plugins.reasons import finding

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.plugins.facts import Facts
    from dsec_cli.plugins.graph import Graph
    from dsec_cli.plugins.result import Finding


def check(facts: Facts) -> Iterator[Finding]:
    """One finding for each overlap that reaches a gate, a call or a jump elsewhere."""
    for index, unit in enumerate(facts.package.units):
        graph = unit.analysis.graph
        if graph is None:
            continue
        for start, origin in sorted(graph.functions.overlaps.items()):
            if _hides(graph, start):
                told = f"{start:#x}, reached from {unit.label(origin)}"
                yield finding("overlap-bytes", told, facts, unit=index, node=start)


def _hides(graph: Graph, start: int) -> bool:
    """Whether the code of an overlap, up to where it is in step again, does more than compute."""
    function = graph.functions.by_start[start]
    before = graph.functions.starts
    outer = [graph.functions.by_start[one] for one in before if one < start]
    shared = set(outer[-1].flow.ips) if outer and outer[-1].end >= start else set()
    apart = {ip for ip in function.flow.ips if ip not in shared}
    flow = function.flow
    if any(ip in apart for ip, _ in flow.gates):
        return True
    return any(ip in apart and how == "call" for ip, _, how in (*flow.branches, *flow.refs))


CHECK = Check("overlapping", ("overlap-bytes",), check)
