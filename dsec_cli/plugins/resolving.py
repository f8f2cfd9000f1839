"""What enters the kernel: the number of every system call, followed through wrappers to their callers.

A wrapper is a function whose number is what its caller left in a register. Its callers are asked, and
theirs, up to four deep; one that is exported or whose address is handed out has callers nobody knows.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from dsec_cli.plugins.decoding import RAX, RDI
from dsec_cli.plugins.elf import Malformed
from dsec_cli.plugins.propagation import Event, Followed, always_passes, follow, led_to
from dsec_cli.plugins.values import join, narrow

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dsec_cli.plugins.decoding import Door, Operation
    from dsec_cli.plugins.graph import Graph
    from dsec_cli.plugins.values import Value

_DEEPEST = 4
_MOST_TABLE = 1024


@dataclass(frozen=True, slots=True)
class Site:
    """A way into the kernel: a number in a function's code, or why none is known."""

    ip: int
    function: int
    gate: str
    """`syscall`, `int80`, `sysenter`, or `libc` for a call of libc's `syscall`."""
    numbers: frozenset[int] | None
    reason: str
    """A reason code where `numbers` is None."""
    event: Event | None = None


@dataclass(slots=True)
class Resolver:
    """Follows constants in the functions of one image, each once."""

    graph: Graph
    door: Door
    exported: frozenset[int]
    most: int = 60_000
    """Instructions of a function that constants are followed through; a longer one is unknown."""
    _followed: dict[int, Followed | None] = field(default_factory=dict)
    _callers: dict[int, set[int]] | None = None
    _taken: set[int] = field(default_factory=set)

    def followed(self, start: int) -> Followed | None:
        """What constants reach in a function."""
        if start not in self._followed:
            self._followed[start] = self._follow(start)
        return self._followed[start]

    def always_passes(self, start: int, ip: int) -> bool:
        """Whether every way through a function passes an instruction."""
        function = self.graph.functions.by_start.get(start)
        if function is None or len(function.flow.ips) > self.most:
            return False
        return always_passes(self.operations(start), start, function.end, ip)

    def led_to(self, start: int) -> set[int]:
        """The instructions of a function that its branches lead to; what lies between may be constants."""
        function = self.graph.functions.by_start[start]
        if len(function.flow.ips) > self.most:
            return set()
        entries = self.graph.inside.get(start, ())
        return led_to(self.operations(start), start, function.end, {*entries})

    def operations(self, start: int) -> list[Operation]:
        """The instructions of a function."""
        function = self.graph.functions.by_start[start]
        code = bytes(self.graph.image.take(start, function.end - start))
        return self.door.operations(code, start)

    def _follow(self, start: int) -> Followed | None:
        function = self.graph.functions.by_start[start]
        if len(function.flow.ips) > self.most:
            return None
        inside = self.graph.inside.get(start, ())
        return follow(self.operations(start), start, reader=self.constant, entries=inside, end=function.end)

    def constant(self, address: int, size: int) -> Value:
        """What memory that nobody writes holds; pointers that the loader sets count."""
        graph = self.graph
        target = graph.targets(address) if size == 8 else None
        if isinstance(target, str):
            return ("imp", target)
        if target is not None:
            return frozenset((target,)) if address not in graph.bindings.resolvers else None
        segment = graph.image.load_of(address)
        if segment is None or segment.writable or size not in (1, 2, 4, 8):
            return None
        if graph.image.is_header(address) or (size == 8 and segment.executable and graph.image.parted()):
            return None  # a null pointer plus a distance, or code that a wrong address leads into
        try:
            return frozenset((int.from_bytes(graph.image.take(address, size), "little"),))
        except Malformed:
            return None

    def callee(self, value: Value) -> int | str | None:
        """The import or the function that a call goes to."""
        if isinstance(value, tuple):
            return str(value[1]) if value[0] == "imp" else None
        if value is None or len(value) != 1:
            return None
        return self.graph.node(next(iter(value)))

    def sites(self) -> list[Site]:
        """Every way into the kernel of the image, by address."""
        found = []
        for start, function in self.graph.functions.by_start.items():
            gates = dict(function.flow.gates)
            if gates:
                found += self._gates(start, gates)
        for start in self.users("syscall"):
            found += self._calls_of_syscall(start)
        found += [Site(slot, at, "libc", None, "syscall-escapes") for slot, at in self.stored("syscall")]
        return sorted(found, key=lambda site: (site.ip, site.function))

    def users(self, name: str) -> list[int]:
        """The functions that refer to an import, by start."""
        by_start = self.graph.functions.by_start
        edges = self.graph.edges
        return sorted(s for s in by_start if any(node == name for _, node, _ in edges.get(s, ())))

    def stored(self, name: str) -> list[tuple[int, int]]:
        """(pointer, table) of every place in data that holds the address of an import."""
        graph = self.graph
        slots = (slot for slot, at in graph.bindings.named.items() if graph.symbols[at].name == name)
        kept = sorted(slot for slot in slots if slot not in graph.bindings.linkage)
        return [(slot, graph.table_of(slot)) for slot in kept]

    def _gates(self, start: int, gates: dict[int, str]) -> list[Site]:
        followed = self.followed(start)
        events = {event.ip: event for event in followed.events if event.ip in gates} if followed else {}
        found = []
        for ip, gate in gates.items():
            event = events.get(ip)
            if event is None:
                # Nothing leads there in this function; were it never run it would not matter.
                found.append(Site(ip, start, gate, None, "nr-computed"))
                continue
            found += self._numbers(ip, start, gate, event, register=RAX, depth=0)
        return found

    def _calls_of_syscall(self, start: int) -> list[Site]:
        followed = self.followed(start)
        if followed is None:
            return [Site(start, start, "libc", None, "nr-computed")]
        found = []
        for event in followed.events:
            if self.callee(event.target) == "syscall":
                found += self._numbers(event.ip, start, "libc", event, register=RDI, depth=0)
        found += [
            Site(leak.ip, start, "libc", None, "syscall-escapes")
            for leak in followed.leaks
            if leak.name == "syscall"
        ]
        if not found:
            found.append(Site(start, start, "libc", None, "syscall-escapes"))
        return found

    def _numbers(
        self, ip: int, start: int, gate: str, event: Event, *, register: int, depth: int
    ) -> list[Site]:
        value = narrow(event.registers[register], 4)
        if isinstance(value, frozenset):
            return [Site(ip, start, gate, value, "", event)]
        if value is None:
            return [Site(ip, start, gate, None, "nr-computed", event)]
        if value[0] == "tab":
            entries = self.table(value)
            return [Site(ip, start, gate, entries, "" if entries else "nr-table", event)]
        if value[0] != "in":
            return [Site(ip, start, gate, None, "nr-computed", event)]
        return self._from_callers(ip, start, gate, event, register=value[1], depth=depth)

    def _from_callers(
        self, ip: int, start: int, gate: str, event: Event, *, register: int, depth: int
    ) -> list[Site]:
        """The numbers that the callers of a wrapper leave in a register."""
        callers = self.callers_of(start)
        if depth >= _DEEPEST or start in self.exported or start in self._taken or not callers:
            return [Site(ip, start, gate, None, "nr-computed", event)]
        found = []
        for caller in sorted(callers):
            followed = self.followed(caller)
            events = [e for e in followed.events if self.callee(e.target) == start] if followed else []
            if not events:
                found.append(Site(ip, start, gate, None, "nr-computed", event))
            for one in events:
                found += self._numbers(one.ip, caller, gate, one, register=register, depth=depth + 1)
        return found

    def given(self, start: int, value: Value, depth: int = 0) -> Value:
        """A value in a function as its callers give it, where all of them are known; else the value."""
        if not isinstance(value, tuple) or value[0] != "in":
            return value
        callers = self.callers_of(start)
        if depth >= _DEEPEST or start in self.exported or start in self._taken or not callers:
            return value
        found: list[Value] = []
        for caller in sorted(callers):
            followed = self.followed(caller)
            events = [e for e in followed.events if self.callee(e.target) == start] if followed else []
            if not events:
                return value
            found += [self.given(caller, one.registers[value[1]], depth + 1) for one in events]
        joined = found[0]
        for one in found[1:]:
            joined = join(joined, one)
        return joined if isinstance(joined, frozenset) else value

    def callers_of(self, start: int) -> set[int]:
        """The functions that call or jump to one; fills `_taken` with those whose address is handed out."""
        if self._callers is None:
            self._callers = {}
            for node, edges in list(self.graph.edges.items()):
                self._note_callers(node, edges)
            self._taken.update(self.graph.bindings.relative.values())
        return self._callers.get(start, set())

    def _note_callers(self, node: int | str, edges: list[tuple[int, int | str, str]]) -> None:
        assert self._callers is not None
        for _, target, how in edges:
            if not isinstance(target, int):
                continue
            if how in ("call", "jmp") and isinstance(node, int):
                self._callers.setdefault(target, set()).add(node)
            else:
                self._taken.add(target)

    def table(self, value: tuple[Any, ...]) -> frozenset[int] | None:
        """All entries of a constant table, up to what else is referred to behind it."""
        _, address, size, scale = value
        end = self.graph.bound_after(address)
        if scale < size or not 0 < (end - address) // scale <= _MOST_TABLE:
            return None
        found: set[int] = set()
        for at in range(address, end - size + 1, scale):
            held = self.constant(at, size)
            if not isinstance(held, frozenset):
                return None
            found |= held
        # A table of numbers ends where alignment does; anything that is no number says it is none.
        return frozenset(found) if found and max(found) < 1024 else None
