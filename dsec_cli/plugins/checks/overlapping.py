"""Asks: is there code that begins inside other instructions and does something that those hide."""

from __future__ import annotations

from bisect import bisect_left

from dsec_cli.plugins.check import Check
from dsec_cli.plugins.reasons import finding

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.plugins.facts import Facts
    from dsec_cli.plugins.graph import Graph
    from dsec_cli.plugins.package import Unit
    from dsec_cli.plugins.result import Finding


def check(facts: Facts) -> Iterator[Finding]:
    """One finding for each overlap that reaches a gate, a call or a jump elsewhere."""
    for index, unit in enumerate(facts.package.units):
        graph = unit.analysis.graph
        if graph is None or unit.analysis.swept:
            continue
        for start, origin in sorted(graph.functions.overlaps.items()):
            if _hides(graph, start):
                told = f"{start:#x}, reached from {unit.label(origin)}"
                yield finding("overlap-bytes", told, facts, unit=index, node=start)
        yield from _computed(facts, index, unit)


def _computed(facts: Facts, index: int, unit: Unit) -> Iterator[Finding]:
    """Calls and jumps to a constant address that is in the middle of an instruction."""
    graph, resolver = unit.analysis.graph, unit.analysis.resolver
    assert graph is not None  # the caller looked
    assert resolver is not None  # who has a graph has one
    for start, function in graph.functions.by_start.items():
        if not function.flow.indirect or not _names_code(graph, start):
            continue
        followed = resolver.followed(start)
        for event in followed.events if followed is not None else ():
            targets = event.target if isinstance(event.target, frozenset) else frozenset[int]()
            if event.kind == "jmp" and len(targets) > 1:
                continue  # a compiler's table: a bound that is not followed leaves some entries out
            for target in sorted(targets):
                if _between(graph, target):
                    told = f"{target:#x} is computed"
                    yield finding("overlap-bytes", told, facts, unit=index, node=start, ip=event.ip)


def _names_code(graph: Graph, start: int) -> bool:
    """Whether a function takes an address of code: a constant target can come from there only."""
    flow = graph.functions.by_start[start].flow
    segments = (graph.image.load_of(address) for _, address, how in flow.refs if how == "lea")
    return any(segment is not None and segment.executable for segment in segments)


def _between(graph: Graph, address: int) -> bool:
    function = graph.functions.holding(address)
    if function is None:
        segment = graph.image.load_of(address)
        return segment is not None and segment.executable and address not in graph.functions.stubs
    at = bisect_left(function.flow.ips, address)
    return at >= len(function.flow.ips) or function.flow.ips[at] != address


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
