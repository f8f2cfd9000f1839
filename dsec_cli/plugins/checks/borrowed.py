"""Asks: does the plugin look for code in the vDSO, in the loader's tables or inside other libraries."""

from __future__ import annotations

import re
from itertools import islice

from dsec_cli.plugins.bytesearch import find_all
from dsec_cli.plugins.check import Check
from dsec_cli.plugins.reasons import finding
from dsec_cli.plugins.symbols import STT_OBJECT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.plugins.elf import Image
    from dsec_cli.plugins.facts import Facts
    from dsec_cli.plugins.graph import Graph
    from dsec_cli.plugins.package import Unit
    from dsec_cli.plugins.result import Finding

AT_SYSINFO, AT_SYSINFO_EHDR = 32, 33
_LOADER_TABLES = frozenset(("_r_debug", "_rtld_global", "_rtld_global_ro", "_dl_find_dso_for_object"))
_DT_PLTGOT = 3
_MEMORY = re.compile(rb"(/proc/[ -~]{1,32}/mem)[^ -~]")
_VDSO = ((6, b"linux-vdso.so.1"), (2, b"__vdso_"))
"""Letters in front of `vdso`, and the whole text."""


def check(facts: Facts) -> Iterator[Finding]:
    """All ways of borrowing that are known."""
    yield from _auxiliary(facts)
    for index, unit in enumerate(facts.package.units):
        graph = unit.analysis.graph
        if graph is None:
            continue
        yield from _vdso_names(facts, index, unit)
        yield from _memory_names(facts, index, unit)
        yield from _tables(facts, index, unit, graph)
        yield from _behind(facts, index, graph)
        if not unit.analysis.swept:
            yield from _inside_others(facts, index, unit, graph)


def _auxiliary(facts: Facts) -> Iterator[Finding]:
    for use in facts.uses:
        if use.name == "dl_iterate_phdr":
            linked = facts.tier(use.unit, use.function) == "linked"
            severity = "info" if linked else "warning"
            where = (use.unit, use.function, use.ip)
            yield _walk(facts, "dl_iterate_phdr", where, severity=severity, blind=not linked)
        if use.name == "dlinfo":
            yield _walk(facts, "dlinfo", (use.unit, use.function, use.ip))
        if use.name not in ("getauxval", "__getauxval"):
            continue
        kind = use.arguments[0] if use.arguments is not None else None
        if not isinstance(kind, frozenset):
            told = f"{use.name} gets a kind that is no constant"
            yield finding(
                "vdso-walk", told, facts, unit=use.unit, node=use.function, ip=use.ip, severity="warning"
            )
        elif kind & {AT_SYSINFO, AT_SYSINFO_EHDR}:
            told = f"{use.name}(AT_SYSINFO_EHDR)"
            yield finding("vdso-walk", told, facts, unit=use.unit, node=use.function, ip=use.ip)


def _walk(
    facts: Facts, told: str, where: tuple[int, int | str, int], *, severity: str = "", blind: bool = True
) -> Finding:
    unit, node, ip = where
    return finding("loader-walk", told, facts, unit=unit, node=node, ip=ip, severity=severity, blind=blind)


def _vdso_names(facts: Facts, index: int, unit: Unit) -> Iterator[Finding]:
    image = unit.analysis.image
    for segment in image.loads:
        places = find_all(image, b"vdso", segment.offset, segment.offset + segment.filesz)
        names = ((at, name) for at in places for before, name in _VDSO if _stands(image, at - before, name))
        for at, name in islice(names, 1):
            where = segment.vaddr + at - segment.offset
            yield finding("vdso-walk", f"it holds the text {name.decode()}", facts, unit=index, ip=where)


def _memory_names(facts: Facts, index: int, unit: Unit) -> Iterator[Finding]:
    """Texts from which a process's file of its memory is named: whole, or with a number to come."""
    image = unit.analysis.image
    for segment in image.loads:
        for at in find_all(image, b"/proc/", segment.offset, segment.offset + segment.filesz):
            found = _MEMORY.match(image.data[at : at + 64])
            if found is not None:
                where = segment.vaddr + at - segment.offset
                told = f"it holds the text {found[1].decode()}"
                yield finding("self-mem", told, facts, unit=index, ip=where, severity="warning")
                return


def _stands(image: Image, at: int, name: bytes) -> bool:
    return at >= 0 and image.data[at : at + len(name)] == name


def _tables(facts: Facts, index: int, unit: Unit, graph: Graph) -> Iterator[Finding]:
    for symbol in unit.analysis.imports():
        if symbol.name in _LOADER_TABLES:
            yield finding("loader-walk", f"it uses {symbol.name}", facts, unit=index)
    got = graph.image.first(_DT_PLTGOT)
    if got is None:
        return
    jumps = graph.bindings.jumps
    end = max((slot for slot in jumps if slot >= got), default=got + 16) + 8
    for start, function in graph.functions.by_start.items():
        # The linker's own stub pushes the one and jumps through the other.
        stub = any(address == got + 16 and how == "jmp" for _, address, how in function.flow.refs)
        compiled = any(address == got for _, address, _ in function.flow.refs) and _of_clones(unit, start)
        for ip, address, how in function.flow.refs:
            if compiled and address == got:
                continue  # where lld ends the data, which the compiler's own start code compares
            if address in (got + 8, got + 16) and how == "load" and not stub:
                yield _walk(facts, "it reads the loader's words of its own table", (index, start, ip))
            elif (address in jumps and how == "load") or (how == "lea" and got <= address < end):
                yield _walk(facts, "it touches its own table of functions to call", (index, start, ip))


_CLONES = ("_ITM_deregisterTMCloneTable", "_ITM_registerTMCloneTable")


def _of_clones(unit: Unit, start: int) -> bool:
    """Whether a function is the compiler's own one for transactional clones: it reads through no pointer."""
    graph, resolver = unit.analysis.graph, unit.analysis.resolver
    if graph is None or resolver is None or not any(n in _CLONES for _, n, _ in graph.of(start)):
        return False
    read = (operation for operation in resolver.operations(start) if operation[2] not in ("nop", "lea"))
    operands = (one for operation in read for one in operation[3])
    return not any(one[0] == "?" or (one[0] == "m" and (one[1] != -1 or one[2] != -1)) for one in operands)


def _behind(facts: Facts, index: int, graph: Graph) -> Iterator[Finding]:
    """Pointers that the loader sets to a place behind the beginning of another library's function."""
    host = facts.host
    for slot, behind in sorted(graph.bindings.shifted.items()):
        symbol = graph.symbols[graph.bindings.named[slot]]
        if (
            symbol.imported
            and symbol.kind != STT_OBJECT
            and host is not None
            and host.has_function(symbol.name)
        ):
            told = f"a pointer to {symbol.name}{behind:+#x}"
            yield finding("borrowed-code", told, facts, unit=index, ip=slot)


def _inside_others(facts: Facts, index: int, unit: Unit, graph: Graph) -> Iterator[Finding]:
    resolver = unit.analysis.resolver
    assert resolver is not None  # who has a graph has one
    host = facts.host
    names = {s.name for s in unit.analysis.imports() if host is not None and host.has_function(s.name)}
    for start in graph.functions.by_start:
        taken = any(node in names and how == "taken" for _, node, how in graph.edges.get(start, ()))
        followed = resolver.followed(start) if taken else None
        for ip, name, told in sorted(set(followed.peeks)) if followed is not None else ():
            if name in names:
                yield finding("borrowed-code", f"{told} {name}", facts, unit=index, node=start, ip=ip)


CHECK = Check("borrowed", ("vdso-walk", "loader-walk", "borrowed-code", "self-mem"), check)
