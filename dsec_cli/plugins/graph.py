"""Who leads to whom in an image: functions, tables of pointers, and names that others provide.

A node is an address (of a function, or of a table in data) or the name of an import. A table reaches
from its address to the next one that anything refers to.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import TypeAlias

    from dsec_cli.plugins.elf import Image
    from dsec_cli.plugins.functions import Function, Functions
    from dsec_cli.plugins.symbols import Bindings, Symbol

    Node: TypeAlias = int | str
    Edge: TypeAlias = tuple[int, Node, str]
    """(address of the instruction or pointer, node, `call` | `jmp` | `taken` | `table`)"""

_HOW = {"call": "call", "jmp": "jmp", "lea": "taken", "load": "taken"}


@dataclass(slots=True)
class Graph:
    """The edges of an image."""

    image: Image
    functions: Functions
    symbols: tuple[Symbol, ...]
    bindings: Bindings
    edges: dict[Node, list[Edge]] = field(default_factory=dict)
    wholes: tuple[tuple[int, int], ...] = ()
    """Ranges of tables of which any part stands for all (stdio's vtables)."""
    loads: bool = True
    """Whether a table follows from a load of a pointer to it."""
    inside: dict[int, list[int]] = field(default_factory=dict)
    """Function start to addresses in its middle that other code jumps to or points at."""
    _bounds: list[int] = field(default_factory=list)
    _pointers: list[int] = field(default_factory=list)

    def targets(self, slot: int) -> Node | None:
        """What the pointer at an address leads to: an import, code, or a table; None: nothing known."""
        index = self.bindings.named.get(slot)
        if index is not None:
            symbol = self.symbols[index]
            if symbol.imported:
                return symbol.name
            # Into code it matters how far behind the symbol; tables are known by where they begin.
            behind = symbol.value + self.bindings.shifted.get(slot, 0)
            segment = self.image.load_of(behind)
            return behind if segment is not None and segment.executable else symbol.value
        found = self.bindings.relative.get(slot)
        return found if found is not None else self.bindings.resolvers.get(slot)

    def node(self, address: int) -> Node | None:
        """The node at an address of this image; None where it lies outside of the file."""
        slot = self.functions.stubs.get(address)
        if slot is not None:
            target = self.targets(slot)
            return target if isinstance(target, str) or target is None else self.node(target)
        function = self.functions.holding(address)
        if function is not None:
            return function.start
        segment = self.image.load_of(address)
        return self._table(address) if segment is not None and not segment.executable else None

    def _table(self, address: int) -> int:
        for start, end in self.wholes:
            if start <= address < end:
                return start
        return address

    def of(self, node: Node) -> list[Edge]:
        """The edges that leave a node."""
        found = self.edges.get(node)
        if found is None:
            found = self.edges[node] = list(self._of_table(node)) if isinstance(node, int) else []
        return found

    def _of_table(self, start: int) -> Iterator[Edge]:
        whole = next((end for first, end in self.wholes if first == start), None)
        at = bisect_right(self._bounds, start)
        end = whole or (self._bounds[at] if at < len(self._bounds) else start + 4096)
        if self.bindings.relative.get(start) == start:
            end = start + 8  # __dso_handle: a word that holds its own address
        first = bisect_left(self._pointers, start)
        for slot in self._pointers[first : bisect_left(self._pointers, end)]:
            if slot in self.bindings.linkage:
                continue
            target = self.targets(slot)
            node = target if isinstance(target, str) or target is None else self.node(target)
            if node is not None and node != start:
                yield (slot, node, "table")

    def table_of(self, slot: int) -> int:
        """The table that a pointer in data belongs to: the last address before it that anything refers to."""
        at = bisect_right(self._bounds, slot) - 1
        return self._bounds[at] if at >= 0 else slot

    def bound_after(self, address: int) -> int:
        """The first address above that anything refers to."""
        at = bisect_right(self._bounds, address)
        return self._bounds[at] if at < len(self._bounds) else address + 4096


def build_graph(
    image: Image,
    functions: Functions,
    symbols: tuple[Symbol, ...],
    bindings: Bindings,
    *,
    wholes: tuple[tuple[int, int], ...] = (),
    loads: bool = True,
) -> Graph:
    """Turn what the functions refer to into edges between nodes."""
    graph = Graph(image, functions, symbols, bindings, wholes=wholes, loads=loads)
    graph._pointers = sorted((*bindings.named, *bindings.relative, *bindings.resolvers))
    graph._bounds = sorted(set(_bounds(graph)))
    for start, function in functions.by_start.items():
        if start not in functions.stubs:
            graph.edges[start] = list(_of_function(graph, function))
    return graph


def _bounds(graph: Graph) -> Iterable[int]:
    for function in graph.functions.by_start.values():
        for _, address, how in function.flow.refs:
            if how == "lea":
                yield address
    yield from graph.bindings.relative.values()
    for symbol in graph.symbols:
        if not symbol.imported and symbol.value:
            yield symbol.value
            yield symbol.value + symbol.size
    for segment in graph.image.loads:
        yield segment.vaddr
        yield segment.end


def _of_function(graph: Graph, function: Function) -> Iterator[Edge]:
    start, end = function.start, function.end
    for ip, target, how in function.flow.branches:
        if start <= target < end and how != "call":
            continue
        node = graph.node(target)
        if node is not None and (node != start or how == "call"):
            _middle(graph, target, node)
            yield (ip, node, "call" if how == "call" else "jmp")
    if function.flow.open and function.flow.ips:
        node = graph.node(end)
        if node is not None:
            yield (function.flow.ips[-1], node, "jmp")
    for ip, address, how in function.flow.refs:
        yield from _of_ref(graph, ip, address, how)


def _middle(graph: Graph, target: int, node: Node) -> None:
    if isinstance(node, int) and node != target and target not in graph.functions.stubs:
        function = graph.functions.by_start.get(node)
        if function is not None:
            graph.inside.setdefault(node, []).append(target)


def _of_ref(graph: Graph, ip: int, address: int, how: str) -> Iterator[Edge]:
    if how == "lea":
        node = graph.node(address)
        if node is not None:
            _middle(graph, address, node)
            yield (ip, node, "taken")
        return
    target = graph.targets(address)
    if target is None:
        return
    if isinstance(target, str):
        yield (ip, target, _HOW[how])
        return
    node = graph.node(target)
    # In libc, what is loaded through a pointer to data is rarely a table of functions: there it would
    # give clock_gettime dozens of system calls.
    if node is not None and (graph.loads or isinstance(node, str) or node in graph.functions.by_start):
        yield (ip, node, _HOW[how])
