"""One image taken apart: symbols, bindings, functions, graph and ways into the kernel, as far as can be."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import NamedTuple

from dsec_cli.plugins.elf import EM_X86_64, Image, Malformed
from dsec_cli.plugins.functions import find_functions
from dsec_cli.plugins.graph import build_graph
from dsec_cli.plugins.resolving import Resolver
from dsec_cli.plugins.sweeping import sweep
from dsec_cli.plugins.symbols import read_bindings, read_symbols

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.plugins.decoding import Door
    from dsec_cli.plugins.graph import Graph
    from dsec_cli.plugins.resolving import Site
    from dsec_cli.plugins.symbols import Bindings, Symbol

DT_INIT, DT_FINI, DT_INIT_ARRAY, DT_FINI_ARRAY = 12, 13, 25, 26
DT_INIT_ARRAYSZ, DT_FINI_ARRAYSZ, DT_PREINIT_ARRAY, DT_PREINIT_ARRAYSZ = 27, 28, 32, 33
_MOST_ARRAY = 65536
_MOST_SWEPT = 1_000
"""Instructions of a function of a large image that constants are followed through."""


class Root(NamedTuple):
    """Code that the loader or the host enters."""

    address: int
    name: str
    """`DT_INIT`, `init_array[0]`, `ifunc resolver`, or the exported name."""
    load: bool
    """Whether it runs when the image is loaded or unloaded, without being called."""
    imported: str = ""
    """The name of a function that another object provides, instead of an address."""


@dataclass(slots=True)
class Analysis:
    """An image and what its code leads to; without a disassembler there is no graph."""

    image: Image
    symbols: tuple[Symbol, ...]
    bindings: Bindings
    roots: tuple[Root, ...]
    door: Door | None = None
    graph: Graph | None = None
    resolver: Resolver | None = None
    sites: tuple[Site, ...] = ()
    swept: bool = False
    """Whether it is so large that only calls of watched names were looked for."""

    def imports(self) -> tuple[Symbol, ...]:
        """What others must provide."""
        return tuple(one for one in self.symbols if one.imported and one.name)


def analyse(
    image: Image,
    door: Door | None,
    *,
    wholes: tuple[tuple[int, int], ...] = (),
    loads: bool = True,
    wanted: frozenset[str] | None = None,
) -> Analysis:
    """Take an image apart; machines that the disassembler does not know are read by their tables only.

    `wanted`: decode only what holds a gate or refers to one of these imports.
    """
    symbols = _symbols(image)
    bindings = read_bindings(image, symbols)
    found = Analysis(image, symbols, bindings, _roots(image, symbols, bindings))
    if door is None or image.machine != EM_X86_64:
        return found
    starts = tuple(root.address for root in found.roots if not root.imported)
    if wanted is None:
        functions = find_functions(image, symbols, bindings, door, starts)
    else:
        found.swept = True
        functions = sweep(image, symbols, bindings, door, wanted)
    found.door = door
    found.graph = build_graph(image, functions, symbols, bindings, wholes=wholes, loads=loads)
    exported = frozenset(one.value for one in symbols if not one.imported and not one.hidden)
    found.resolver = Resolver(found.graph, door, exported, 60_000 if wanted is None else _MOST_SWEPT)
    found.sites = tuple(found.resolver.sites())
    return found


def _symbols(image: Image) -> tuple[Symbol, ...]:
    try:
        return read_symbols(image)
    except Malformed as problem:
        image.problems.append(f"the symbols cannot be read: {problem}")
        return ()


def _roots(image: Image, symbols: tuple[Symbol, ...], bindings: Bindings) -> tuple[Root, ...]:
    found = [
        Root(address, "ifunc resolver", load=True) for address in sorted(set(bindings.resolvers.values()))
    ]
    for tag, size_tag, name in (
        (DT_PREINIT_ARRAY, DT_PREINIT_ARRAYSZ, "preinit_array"),
        (DT_INIT_ARRAY, DT_INIT_ARRAYSZ, "init_array"),
        (DT_FINI_ARRAY, DT_FINI_ARRAYSZ, "fini_array"),
    ):
        found += _array(image, (symbols, bindings), tag, size_tag, name=name)
    for tag, name in ((DT_INIT, "DT_INIT"), (DT_FINI, "DT_FINI")):
        found += [Root(address, name, load=True) for address in image.dynamic.get(tag, ()) if address]
    if image.entry:
        found.append(Root(image.entry, "entry point", load=False))
    for one in symbols:
        if not one.imported and one.value and one.kind in (0, 2, 10):
            kind = "ifunc resolver" if one.kind == 10 else one.name
            found.append(Root(one.value, kind, load=one.kind == 10))
    _check(image, found)
    return tuple(found)


def _check(image: Image, roots: list[Root]) -> None:
    """What the loader would enter must be code."""
    for root in roots:
        segment = image.load_of(root.address)
        if root.load and not root.imported and (segment is None or not segment.executable):
            image.problems.append(f"{root.name} leads to no code")


def _array(
    image: Image, bound: tuple[tuple[Symbol, ...], Bindings], tag: int, size_tag: int, *, name: str
) -> list[Root]:
    start, size = image.first(tag), image.first(size_tag)
    if start is None or not size:
        return []
    count = min(size // 8, _MOST_ARRAY, image.left(start) // 8)
    if start % 8 or size % 8:
        image.problems.append(f"the {name} does not lie as pointers do")
    if count < size // 8:
        image.problems.append(f"the {name} runs past the end of its segment")
    found = []
    for at in range(count):
        target, imported = _entry(image, bound, start + at * 8)
        if imported or target not in (0, (1 << 64) - 1):
            found.append(Root(target, f"{name}[{at}]", load=True, imported=imported))
    return found


def _entry(image: Image, bound: tuple[tuple[Symbol, ...], Bindings], slot: int) -> tuple[int, str]:
    """What a pointer in an array of start functions holds: an address, or the name of an import."""
    symbols, bindings = bound
    if slot in bindings.named:
        symbol = symbols[bindings.named[slot]]
        return (0, symbol.name) if symbol.imported else (symbol.value + bindings.shifted.get(slot, 0), "")
    if slot in bindings.relative:
        return bindings.relative[slot], ""
    return int(struct.unpack("<Q", image.take(slot, 8))[0]), ""
