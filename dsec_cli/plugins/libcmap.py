"""The map of a library: which system calls and which other libraries' names each export can lead to.

Built by disassembly. What is known of glibc's ways:
- error paths end the process: calls of functions that never return, and are not there to leave, count not;
- a stream may use any of stdio's tables of functions, so any part of that section stands for all;
- what the loader offers libc is called through a table of the loader (`_rtld_global_ro`);
- name services and character sets are loaded by name while the program runs (`@nss`, `@gconv`).
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from dsec_cli.plugins.analysis import Analysis, analyse
from dsec_cli.plugins.closure import closure, numbers
from dsec_cli.plugins.elf import Image, Malformed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.plugins.decoding import Door
    from dsec_cli.plugins.functions import Function
    from dsec_cli.plugins.graph import Edge, Graph, Node

NUMBERS = 1024
"""Bits below are numbers of system calls, those from here on are names of other libraries."""
_ENDINGS = frozenset(
    ["abort", "__assert_fail", "__assert_perror_fail", "__stack_chk_fail", "__chk_fail", "__fortify_fail"]
)
_LEAVERS = frozenset(
    ["exit", "_exit", "_Exit", "quick_exit", "pthread_exit", "thrd_exit", "__libc_start_main", "longjmp"]
)
_LATE = ((b"libnss_", "@nss"), (b"gconv-modules", "@gconv"), (b"libgcc_s.so.1", "@libgcc_s"))
"""Strings by which libc's own dynamic loading is known."""
_OBJECT, _TLS = 1, 6
_SHORT = 16
"""Instructions of a function that calls something for ever: `while (1) message(abort)`."""


@dataclass(frozen=True, slots=True)
class LibraryMap:
    """What each export of a library leads to."""

    exports: dict[str, int]
    """Name to a group. `@load`: what runs when it is loaded, `@start`: its entry, `@all`: everything."""
    groups: tuple[tuple[tuple[int, ...], tuple[str, ...]], ...]
    """(numbers of system calls, names that others provide)"""
    sites: int
    unresolved: int
    needed: tuple[str, ...]
    objects: frozenset[str] = frozenset()
    """Exports that are data."""

    def of(self, name: str) -> tuple[tuple[int, ...], tuple[str, ...]] | None:
        """The system calls and the imports that an export leads to."""
        group = self.exports.get(name)
        return self.groups[group] if group is not None else None


def map_library(image: Image, door: Door) -> LibraryMap:
    """Disassemble a library and close what each export leads to."""
    tables = _stdio_tables(image)
    analysis = analyse(image, door, wholes=tables, loads=not tables)
    graph = analysis.graph
    assert graph is not None  # a door was given, and the machine is one it knows
    bits, names = _own(analysis, graph)
    dying = _dying(analysis, graph)

    def following(node: Node) -> Iterator[Node]:
        for _, other, how in graph.of(node):
            if isinstance(other, int) and not (
                other in dying and how in ("call", "jmp") and node not in dying
            ):
                yield other

    starts = _starts(analysis, graph)
    reached = closure(
        sorted({node for nodes in starts.values() for node in nodes}),
        following,
        lambda node: bits.get(node, 0),
    )
    whole = 0
    for value in bits.values():
        whole |= value
    exported = {name: _joined(reached, nodes) for name, nodes in starts.items()} | {"@all": whole}
    return _grouped(analysis, exported, names)


def _joined(reached: dict[Node, int], nodes: set[Node]) -> int:
    found = 0
    for node in nodes:
        found |= reached[node]
    return found


def _grouped(analysis: Analysis, exported: dict[str, int], names: list[str]) -> LibraryMap:
    order = {value: at for at, value in enumerate(sorted(set(exported.values())))}
    groups = []
    for value in order:
        positions = numbers(value)
        groups.append(
            (
                tuple(at for at in positions if at < NUMBERS),
                tuple(sorted(names[at - NUMBERS] for at in positions if at >= NUMBERS)),
            )
        )
    sites = {site.ip: site.numbers is not None for site in analysis.sites}
    return LibraryMap(
        {name: order[value] for name, value in sorted(exported.items())},
        tuple(groups),
        len(sites),
        sum(not known for known in sites.values()),
        analysis.image.names(1),
        frozenset(s.name for s in analysis.symbols if s.kind in (_OBJECT, _TLS) and not s.imported),
    )


def _own(analysis: Analysis, graph: Graph) -> tuple[dict[Node, int], list[str]]:
    """The bits of each function's own, and the names that the upper bits stand for."""
    bits: dict[Node, int] = {}
    index: dict[str, int] = {}
    for site in analysis.sites:
        for number in site.numbers or ():
            if number < NUMBERS:
                bits[site.function] = bits.get(site.function, 0) | 1 << number
    for start, function in graph.functions.by_start.items():
        for name in _names(graph, function):
            at = index.setdefault(name, NUMBERS + len(index))
            bits[start] = bits.get(start, 0) | 1 << at
    for node in list(graph.edges):
        _add_names(graph, node, bits, index)
    return bits, list(index)


def _add_names(graph: Graph, node: Node, bits: dict[Node, int], index: dict[str, int]) -> None:
    for _, other, how in graph.of(node):
        if isinstance(other, str):
            at = index.setdefault(other, NUMBERS + len(index))
            bits[node] = bits.get(node, 0) | 1 << at
        elif how in ("table", "taken") and other not in graph.edges:
            _add_names(graph, other, bits, index)


def _names(graph: Graph, function: Function) -> Iterator[str]:
    """What a function leads to that no pointer of the file says."""
    edges = graph.edges.get(function.start, ())
    through = any(how == "memory" for _, how in function.flow.indirect)
    if through and any(node == "_rtld_global_ro" for _, node, _ in edges):
        yield "@rtld"
    for _, address, how in function.flow.refs:
        if how == "lea":
            yield from _late(graph.image, address)


def _late(image: Image, address: int) -> Iterator[str]:
    segment = image.load_of(address)
    if segment is None or segment.writable:
        return
    try:
        text = image.take(address, min(24, segment.end - address))
    except Malformed:
        return
    for start, name in _LATE:
        if start in text.split(b"\0")[0]:
            yield name


def _starts(analysis: Analysis, graph: Graph) -> dict[str, set[Node]]:
    """Every export, and what the loader runs, to the nodes it begins at."""
    found: dict[str, set[Node]] = {"@load": set(), "@start": set()}
    for one in analysis.symbols:
        if one.imported or not one.value or not one.name:
            continue
        node = graph.node(one.value)
        if one.kind not in (_OBJECT, _TLS) and (node is None or isinstance(node, str)):
            continue
        if one.kind == _TLS or (one.kind == _OBJECT and not one.name.startswith("_ZTV")):
            if one.name == "_rtld_global_ro":
                found["@rtld"] = _pointed(graph, one.value, one.size)
            continue
        if isinstance(node, int):
            found.setdefault(one.name, set()).add(node)
    for root in analysis.roots:
        node = None if root.imported else graph.node(root.address)
        if isinstance(node, int) and (root.load or root.name == "entry point"):
            found["@load" if root.load else "@start"].add(node)
    return found


def _pointed(graph: Graph, start: int, size: int) -> set[Node]:
    """The functions that the pointers of an object lead to."""
    found: set[Node] = set()
    for slot in range(start, start + size, 8):
        target = graph.targets(slot)
        node = graph.node(target) if isinstance(target, int) else None
        if isinstance(node, int) and node in graph.functions.by_start:
            found.add(node)
    return found


def _dying(analysis: Analysis, graph: Graph) -> set[Node]:
    """Functions that never return and are not there to leave: error paths that end in an abort."""
    leavers = {one.value for one in analysis.symbols if one.name in _LEAVERS and not one.imported}
    dying: set[Node] = {one.value for one in analysis.symbols if one.name in _ENDINGS and one.value}
    dying |= _ENDINGS
    grown = True
    while grown:
        grown = False
        for start, function in graph.functions.by_start.items():
            if start not in dying and start not in leavers and _dies(graph, function, dying, leavers):
                dying.add(start)
                grown = True
    return dying


def _dies(graph: Graph, function: Function, dying: set[Node], leavers: set[int]) -> bool:
    flow = function.flow
    if flow.returns or flow.indirect or not flow.ips or not function.known:
        return False
    edges: list[Edge] = graph.edges.get(function.start, [])
    if any(node in leavers or node in _LEAVERS for _, node, _ in edges):
        return False
    if any(how == "jmp" and node not in dying for _, node, how in edges):
        return False
    ends = any(node in dying for _, node, how in edges if how in ("call", "jmp"))
    return ends or len(flow.ips) <= _SHORT


def _stdio_tables(image: Image) -> tuple[tuple[int, int], ...]:
    """Where stdio's tables of functions lie, by the section headers of a library that is trusted."""
    try:
        found = _section(image, b"__libc_IO_vtables")
    except struct.error:
        return ()
    return (found,) if found is not None else ()


def _section(image: Image, wanted: bytes) -> tuple[int, int] | None:
    (offset,) = struct.unpack("<Q", image.data[40:48])
    size, count, names = struct.unpack("<HHH", image.data[58:64])
    if size != 64 or not count or offset + size * count > image.size or names >= count:
        return None
    rows = [
        struct.unpack("<IIQQQQ", image.data[at : at + 40]) for at in range(offset, offset + 64 * count, 64)
    ]
    table = rows[names]
    for name, _, _, address, _, length in rows:
        start = table[4] + name
        if image.data[start : start + len(wanted) + 1] == wanted + b"\0":
            return address, address + length
    return None
