"""Asks: do executable bytes that nothing leads to hold what looks like a system call."""

from __future__ import annotations

from dsec_cli.plugins.check import Check
from dsec_cli.plugins.reasons import finding
from dsec_cli.plugins.straying import plausible, stray_gates

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.plugins.facts import Facts
    from dsec_cli.plugins.result import Finding

_MOST = 8


def check(facts: Facts) -> Iterator[Finding]:
    """One finding for each such place, the first few of them."""
    for index, unit in enumerate(facts.package.units):
        graph, door = unit.analysis.graph, unit.analysis.door
        if graph is None or door is None:
            continue
        places = stray_gates(graph)
        if unit.analysis.swept:  # half of such a file is constant data that may be executed, too
            starts = graph.functions.starts
            places = [at for at in places if starts and starts[0] < at < starts[-1]]
        found = [at for at in places if plausible(graph, door, at)]
        for at in found[:_MOST]:
            more = f" and {len(found) - _MOST} more" if len(found) > _MOST and at == found[_MOST - 1] else ""
            yield finding("exec-data-hit", f"at {at:#x}{more}", facts, unit=index, ip=at)


CHECK = Check("stray", ("exec-data-hit",), check)
