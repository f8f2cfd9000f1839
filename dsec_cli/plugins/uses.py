"""Where a plugin's own code uses a name: each call with its arguments, as far as they are constant."""

from __future__ import annotations

from dataclasses import dataclass

from dsec_cli.plugins.apis import BY_NAME
from dsec_cli.plugins.decoding import ARGUMENTS, KERNEL_ARGUMENTS
from dsec_cli.plugins.syscalls import I386, name_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.plugins.package import Package, Unit
    from dsec_cli.plugins.propagation import Event
    from dsec_cli.plugins.resolving import Resolver, Site
    from dsec_cli.plugins.values import Value

LOOKUPS = frozenset(("dlsym", "dlvsym", "__libc_dlsym"))
AUXILIARY = frozenset(("getauxval", "__getauxval", "dlinfo", "dl_iterate_phdr"))
ELSEWHERE = frozenset(("sigaction", "__sigaction", "setcontext", "swapcontext"))
"""After which code can go on where it was not called."""
WATCHED = frozenset(BY_NAME) | LOOKUPS | AUXILIARY | ELSEWHERE
X32 = 0x40000000


@dataclass(frozen=True, slots=True)
class Use:
    """A name that a function refers to: called with `arguments`, or (None) only handed on."""

    name: str
    unit: int
    function: int | str
    ip: int
    arguments: tuple[Value, ...] | None
    gate: str = ""
    """How the kernel is entered, where it is by the plugin's own hand."""


def uses(package: Package) -> list[Use]:
    """Every use of a watched name or of a system call, by unit and address."""
    found: list[Use] = []
    for index, unit in enumerate(package.units):
        resolver = unit.analysis.resolver
        if resolver is not None:
            found += _of_unit(index, unit, resolver, package)
        for site in unit.analysis.sites:
            found += _of_site(index, site, resolver)
    for (index, node), pairs in package.extra.items():
        found += [Use(name, index, node, ip, None) for ip, name in pairs if name in WATCHED]
    return sorted(found, key=lambda use: (use.unit, use.ip, use.name))


def _of_unit(index: int, unit: Unit, resolver: Resolver, package: Package) -> Iterator[Use]:
    graph = unit.analysis.graph
    assert graph is not None  # who resolves has a graph
    own = {at: one.name for at, one in enumerate(graph.symbols) if one.name in WATCHED}
    for slot, at in sorted(pair for pair in graph.bindings.named.items() if pair[1] in own):
        if slot not in graph.bindings.linkage and package.resolve(index, own[at]) == (-1, own[at]):
            yield Use(own[at], index, graph.table_of(slot), slot, None)
    for node in graph.functions.by_start:
        pairs = {
            (ip, name)
            for ip, name, _ in graph.of(node)
            if isinstance(name, str) and name in WATCHED and package.resolve(index, name) == (-1, name)
        }
        if not pairs:
            continue
        yield from _of_function(index, node, resolver, pairs)


def _of_function(index: int, start: int, resolver: Resolver, pairs: set[tuple[int, str]]) -> Iterator[Use]:
    followed = resolver.followed(start)
    called = set()
    for event in followed.events if followed is not None else ():
        name = resolver.callee(event.target)
        if isinstance(name, str) and name in WATCHED:
            called.add(name)
            yield Use(name, index, start, event.ip, _arguments(resolver, start, event, ARGUMENTS))
    for ip, name in sorted(pairs):
        if name not in called:
            yield Use(name, index, start, ip, None)


def _arguments(
    resolver: Resolver | None, start: int, event: Event, registers: tuple[int, ...]
) -> tuple[Value, ...]:
    """What a call gets; where that is what its caller got, what all callers give."""
    found = tuple(event.registers[register] for register in registers)
    return found if resolver is None else tuple(resolver.given(start, value) for value in found)


def _of_site(index: int, site: Site, resolver: Resolver | None) -> Iterator[Use]:
    if site.event is None:
        return
    for number in sorted(site.numbers or ()):
        name = name_of(number & ~X32)
        registers: tuple[int, ...] = KERNEL_ARGUMENTS
        if site.gate == "libc":
            registers = ARGUMENTS[1:]
        elif site.gate in ("int80", "sysenter"):
            name, registers = I386.get(number, f"#{number}"), (3, 1, 2, 6, 7, 5)
        # Only where the number stands at the gate itself do the other registers belong to it.
        same = isinstance(site.event.registers[7 if site.gate == "libc" else 0], frozenset)
        arguments = (
            _arguments(resolver, site.function, site.event, registers)
            if same
            else tuple([None] * len(registers))
        )
        yield Use(name, index, site.function, site.ip, arguments, site.gate)
