"""A plugin with the libraries of its package: one graph, and what is reached from where."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from dsec_cli.plugins.debug_symbols import inner_names
from dsec_cli.plugins.symbols import STT_OBJECT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import TypeAlias

    from dsec_cli.plugins.analysis import Analysis
    from dsec_cli.plugins.resolving import Site

    At: TypeAlias = tuple[int, "int | str"]
    """(index of the unit, node); unit -1: a name that nothing of the package provides."""
    Step: TypeAlias = tuple[At, int, str]
    """(from where, address of the instruction or pointer, how)"""

OUTSIDE = -1
_INTERFACE = ("ds_plugin_abi", "ds_step_run")
"""Exports of a plugin of ours: its host calls these and their like, and nothing else that it exports."""


@dataclass(slots=True)
class Unit:
    """One image of the package."""

    name: str
    path: str
    analysis: Analysis
    exports: dict[str, int] = field(default_factory=dict)
    _labels: dict[int, str] | None = None
    _imported: frozenset[str] | None = None

    def imported(self) -> frozenset[str]:
        """The names that it needs from others."""
        if self._imported is None:
            self._imported = frozenset(one.name for one in self.analysis.imports())
        return self._imported

    def label(self, node: int | str) -> str:
        """A node as people can find it again: a symbol's name, or an address."""
        if isinstance(node, str):
            return node
        if self._labels is None:
            named = (s for s in self.analysis.symbols if not s.imported and s.value and s.name)
            self._labels = inner_names(self.analysis.image)
            self._labels |= {s.value: s.name for s in sorted(named, key=lambda s: s.name, reverse=True)}
        return self._labels.get(node) or f"{node:#x}"


@dataclass(slots=True)
class Package:
    """The plugin (first) and the libraries that come with it."""

    units: list[Unit]
    extra: dict[At, list[tuple[int, str]]] = field(default_factory=dict)
    """Names that functions look up while they run (dlsym), with the address of the call."""
    _providers: dict[str, tuple[int, int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for at in reversed(range(len(self.units))):
            for name, address in self.units[at].exports.items():
                self._providers[name] = (at, address)

    def resolve(self, unit: int, node: int | str) -> At | None:
        """Where a node of a unit's graph really is: names may be provided by another unit."""
        if isinstance(node, int):
            return (unit, node)
        provider = self._providers.get(node)
        if provider is None:
            return (OUTSIDE, node)
        graph = self.units[provider[0]].analysis.graph
        found = graph.node(provider[1]) if graph is not None else None
        return (provider[0], found) if found is not None else None

    def following(self, at: At) -> Iterator[tuple[At, int, str]]:
        """What a node leads to, with the address and the manner."""
        unit, node = at
        if unit == OUTSIDE:
            return
        graph = self.units[unit].analysis.graph
        if graph is None:
            return
        for ip, other, how in graph.of(node):
            found = self.resolve(unit, other)
            if found is not None:
                yield found, ip, how
        for ip, name in self.extra.get(at, ()):
            found = self.resolve(unit, name)
            if found is not None:
                yield found, ip, "looked up"

    def roots(self, *, load: bool) -> list[tuple[At, str]]:
        """Where code is entered: what the loader runs, or what the plugin exports."""
        found: list[tuple[At, str]] = []
        for index, unit in enumerate(self.units):
            graph = unit.analysis.graph
            if graph is None or (index and not load):
                continue
            ours = not load and any(root.name in _INTERFACE for root in unit.analysis.roots)
            for root in unit.analysis.roots:
                if root.load != load or (ours and not root.name.startswith("ds_")):
                    continue
                node: int | str | None = root.imported or graph.node(root.address)
                at = self.resolve(index, node) if node is not None else None
                if at is not None:
                    found.append((at, root.name))
        return found

    def imports(self) -> list[str]:
        """Every name that the package needs from outside of it, sorted."""
        names = {s.name for unit in self.units for s in unit.analysis.imports()}
        names.update(name for pairs in self.extra.values() for _, name in pairs)
        return sorted(names - set(self._providers))

    def sites(self) -> Iterator[tuple[int, Site]]:
        """Every way into the kernel, with its unit."""
        for index, unit in enumerate(self.units):
            for site in unit.analysis.sites:
                yield index, site


@dataclass(slots=True)
class Reach:
    """What is reached from roots, and over which step first."""

    came: dict[At, Step | None]
    names: dict[At, str]

    def __contains__(self, at: At) -> bool:
        return at in self.came

    def way(self, at: At) -> list[tuple[At, int, str]]:
        """The shortest way: each node with the address by which it goes on; the last goes nowhere."""
        found = []
        ip, how = 0, ""
        current: At | None = at
        while current is not None:
            found.append((current, ip, how))
            step = self.came[current]
            if step is None:
                break
            current, ip, how = step
        found.reverse()
        return found


def reach(package: Package, roots: Iterable[tuple[At, str]]) -> Reach:
    """Walk from roots over every kind of edge, nearest first."""
    came: dict[At, Step | None] = {}
    names: dict[At, str] = {}
    waiting: deque[At] = deque()
    for at, name in roots:
        if at not in came:
            came[at] = None
            names[at] = name
            waiting.append(at)
    while waiting:
        at = waiting.popleft()
        for other, ip, how in package.following(at):
            if other not in came:
                came[other] = (at, ip, how)
                waiting.append(other)
    return Reach(came, names)


def chain(package: Package, found: Reach, at: At) -> tuple[str, ...]:
    """A way in words: `ds_step_run+0x1c`, `0x1240+0x8`, `connect`."""
    way = found.way(at)
    words = []
    for (unit, node), ip, how in way:
        if unit == OUTSIDE:
            words.append(f"{node} (looked up by name)" if how == "looked up" else str(node))
            continue
        label = package.units[unit].label(node)
        inside = ip - node if ip and isinstance(node, int) and how != "table" else 0
        where = f"{label}{inside:+#x}" if inside else label
        words.append(f"{package.units[unit].name}:{where}" if unit else where)
    first = way[0][0]
    name = found.names.get(first, "")
    if name and not words[0].startswith(name):
        words.insert(0, name)
    return tuple(words)


def exports_of(analysis: Analysis) -> dict[str, int]:
    """The functions (and tables) that an image offers to others."""
    return {
        s.name: s.value
        for s in analysis.symbols
        if not s.imported and not s.hidden and s.value and s.name and s.kind in (0, 2, 10, STT_OBJECT)
    }
