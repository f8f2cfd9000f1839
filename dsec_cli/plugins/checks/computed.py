"""Asks: does code go where nobody can follow: to sums, other segments, contexts, out of signal handlers."""

from __future__ import annotations

from dsec_cli.plugins.check import Check
from dsec_cli.plugins.reasons import finding
from dsec_cli.plugins.symbols import STT_FUNC
from dsec_cli.plugins.values import FIXED, FREE, NUMBER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.plugins.elf import Image, Segment
    from dsec_cli.plugins.facts import Facts
    from dsec_cli.plugins.graph import Graph
    from dsec_cli.plugins.package import Unit
    from dsec_cli.plugins.result import Finding

_PAGE = 4096
_HANDLERS = frozenset(("sigaction", "__sigaction", "rt_sigaction"))
_CONTEXTS = frozenset(("setcontext", "swapcontext", "rt_sigreturn"))


def check(facts: Facts) -> Iterator[Finding]:
    """One finding for each function or use of a kind."""
    for use in facts.uses:
        code = (
            "signal-handler" if use.name in _HANDLERS else "context-switch" if use.name in _CONTEXTS else ""
        )
        if code:
            linked = facts.tier(use.unit, use.function) == "linked"
            severity = "info" if linked else "error" if use.name == "rt_sigreturn" else ""
            yield finding(
                code,
                use.name,
                facts,
                unit=use.unit,
                node=use.function,
                ip=use.ip,
                severity=severity,
                blind=not linked,
            )
    for index, unit in enumerate(facts.package.units):
        if unit.analysis.graph is not None and not unit.analysis.swept:
            yield from _far(facts, index, unit, unit.analysis.graph)
            yield from _sums(facts, index, unit, unit.analysis.graph)
            yield from _astray(facts, index, unit.analysis.graph)


def _far(facts: Facts, index: int, unit: Unit, graph: Graph) -> Iterator[Finding]:
    resolver = unit.analysis.resolver
    assert resolver is not None  # who has a graph has one
    for start, function in graph.functions.by_start.items():
        if not function.flow.far or function.flow.invalid:
            continue
        led = resolver.led_to(start)
        sure = [ip for ip in function.flow.far if ip in led]
        if sure:
            yield finding("far-transfer", "", facts, unit=index, node=start, ip=sure[0])
        elif function.flow.indirect:
            ip = function.flow.far[0]
            yield finding("far-transfer", "", facts, unit=index, node=start, ip=ip, severity="warning")


def _sums(facts: Facts, index: int, unit: Unit, graph: Graph) -> Iterator[Finding]:
    resolver = unit.analysis.resolver
    assert resolver is not None  # who has a graph has one
    for start, function in graph.functions.by_start.items():
        places = {ip for ip, kind in function.flow.indirect if kind != "memory"}
        followed = resolver.followed(start) if places else None
        for event in followed.events if followed is not None else ():
            if event.ip not in places:
                continue
            if event.target in (FREE, NUMBER) and event.kind == "jmp" and _has_table(graph, start):
                continue  # a jump of compilers whose base was kept elsewhere
            if event.target in (FIXED, FREE, NUMBER):
                yield finding("computed-call", "", facts, unit=index, node=start, ip=event.ip)
            elif isinstance(event.target, frozenset):
                outside = sorted(one for one in event.target if one and graph.image.load_of(one) is None)
                for one in outside[:1]:
                    told = f"{one:#x} is outside of the file"
                    yield finding(
                        "computed-call", told, facts, unit=index, node=start, ip=event.ip, severity="error"
                    )


def _astray(facts: Facts, index: int, graph: Graph) -> Iterator[Finding]:
    """Branches to where no code is, and pointers into what is mapped with the code by whole pages only."""
    image = graph.image
    for start, function in graph.functions.by_start.items():
        if function.flow.invalid:
            continue  # data among code reads as anything
        for ip, target, _ in function.flow.branches:
            segment = image.load_of(target)
            if target and (segment is None or not segment.executable):  # 0: a weak name that nobody has
                told = f"{target:#x} is outside of the code"
                yield finding("computed-call", told, facts, unit=index, node=start, ip=ip, severity="error")
                break
    pads = [pad for segment in image.loads if segment.executable for pad in _pads(segment)]
    shifted = graph.bindings.shifted
    symbols = ((graph.symbols[graph.bindings.named[slot]], behind) for slot, behind in shifted.items())
    values = {one.value + behind for one, behind in symbols if not one.imported}
    exported = {one.value for one in graph.symbols if not one.imported and one.kind == STT_FUNC}
    for value in sorted(values | exported | set(graph.bindings.relative.values())):
        for low, high, offset in pads:
            if low <= value < high and image.load_of(value) is None and _holds(image, offset + value - low):
                told = f"{value:#x} is outside of the code, on one of its pages"
                yield finding("computed-call", told, facts, unit=index, ip=value, severity="error")


def _holds(image: Image, offset: int) -> bool:
    """Whether more than zeros stand there, as linkers leave them."""
    return any(image.data[offset : offset + 2])


def _pads(segment: Segment) -> tuple[tuple[int, int, int], ...]:
    """(first address, address behind, offset in the file) of what lies on a segment's pages around it."""
    low, high = segment.vaddr & -_PAGE, -(-segment.end // _PAGE) * _PAGE
    before = segment.offset - (segment.vaddr - low)
    after = (segment.end, high, segment.offset + segment.filesz)
    return ((low, segment.vaddr, before), after) if before >= 0 else (after,)


def _has_table(graph: Graph, start: int) -> bool:
    """Whether a function names constant data, where tables of jumps are."""
    refs = graph.functions.by_start[start].flow.refs
    segments = (graph.image.load_of(address) for _, address, how in refs if how == "lea")
    return any(segment is not None and not segment.writable for segment in segments)


CHECK = Check("computed", ("computed-call", "far-transfer", "context-switch", "signal-handler"), check)
