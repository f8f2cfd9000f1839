"""Follows constants through one function: what every call, system call and stored pointer gets.

A block that nothing in the function leads to may be entered from anywhere (a landing pad, a jump table),
so nothing is known there; padding between blocks is no block. What is proved holds on every way.
"""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heappop, heappush

from dsec_cli.plugins.decoding import ARGUMENTS, RAX
from dsec_cli.plugins.machine import address_of, read, step
from dsec_cli.plugins.state import State, entry_state, unknown_state

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from dsec_cli.plugins.decoding import Operand, Operation
    from dsec_cli.plugins.machine import Reader
    from dsec_cli.plugins.values import Value

_ENDS = frozenset(("jmp", "ret", "ud2", "hlt"))
_GATES = frozenset(("syscall", "int80", "sysenter"))
_PADDING = frozenset(("nop", "int3"))
_MOST_ROUNDS = 12
"""Changes of what is known at the head of a block before what still changes is given up as unknown."""


@dataclass(frozen=True, slots=True)
class Event:
    """A call, a jump out, or a gate into the kernel, with the registers as they are then."""

    ip: int
    kind: str
    """`call`, `jmp`, or the gate."""
    target: Value
    """Where a call goes: addresses, an import, or unknown."""
    registers: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Leak:
    """An import's address that is stored or handed on: whoever reads it may call it."""

    ip: int
    name: str


@dataclass(slots=True)
class Followed:
    """What was found in one function."""

    events: list[Event]
    leaks: list[Leak]
    peeks: list[tuple[int, str, str]]
    """(ip, import, what): reads, or goes, to where the code of an import lies."""


def follow(
    operations: list[Operation], start: int, *, reader: Reader, entries: Iterable[int], end: int
) -> Followed | None:
    """Run through a function; None where it has no code. `entries`: where others jump into its middle."""
    if not operations:
        return None
    blocks = _blocks(operations, start, end, {*entries})
    seen = _settle(blocks, (start, end), reader, {*entries})
    found = Followed([], [], [])
    for first in sorted(seen):
        found.events += seen[first].events
        found.leaks += seen[first].leaks
        found.peeks += seen[first].peeks
    return found


def always_passes(operations: list[Operation], start: int, end: int, ip: int) -> bool:
    """Whether no way from the start of a function to an end of it goes past an instruction."""
    blocks = _blocks(operations, start, end, set())
    waiting, seen = [start], {start}
    while waiting:
        block = blocks.get(waiting.pop())
        if block is None:
            return False  # it goes on where nothing is known
        if any(operation[0] == ip for operation in block.operations):
            continue
        last = block.operations[-1]
        leaves = last[4] is not None and last[2] == "jcc" and not start <= last[4] < end
        if not block.following or leaves:
            return False
        for way in block.following:
            if way not in seen:
                seen.add(way)
                waiting.append(way)
    return True


def led_to(operations: list[Operation], start: int, end: int, entries: set[int]) -> set[int]:
    """The instructions that are reached from the start of a function, or from `entries`, by its branches."""
    blocks = _blocks(operations, start, end, entries)
    waiting, seen = [start, *entries], {start, *entries}
    found: set[int] = set()
    while waiting:
        block = blocks.get(waiting.pop())
        for operation in block.operations if block is not None else ():
            found.add(operation[0])
        for way in block.following if block is not None else ():
            if way not in seen:
                seen.add(way)
                waiting.append(way)
    return found


@dataclass(slots=True)
class _Block:
    operations: list[Operation]
    following: tuple[int, ...]


def _blocks(operations: list[Operation], start: int, end: int, entries: set[int]) -> dict[int, _Block]:
    leaders = {start, *entries}
    for ip, following, name, _, target, _ in operations:
        del ip
        if target is not None and name != "call" and start <= target < end:
            leaders.add(target)
        if name in _ENDS or name == "jcc":
            leaders.add(following)
    found: dict[int, _Block] = {}
    current: list[Operation] = []
    for operation in operations:
        if operation[0] in leaders and current:
            found[current[0][0]] = _Block(current, _following(current[-1], start, end))
            current = []
        current.append(operation)
    if current:
        found[current[0][0]] = _Block(current, _following(current[-1], start, end))
    return found


def _following(last: Operation, start: int, end: int) -> tuple[int, ...]:
    _, following, name, _, target, _ = last
    ways = []
    if target is not None and name != "call" and start <= target < end:
        ways.append(target)
    if name not in _ENDS:
        ways.append(following)
    return tuple(ways)


def _settle(
    blocks: dict[int, _Block], extent: tuple[int, int], reader: Reader, entries: set[int]
) -> dict[int, Followed]:
    """What is seen in every block, with the state at its head that holds on every way to it."""
    states = _known_heads(blocks, extent[0], entries)
    order = _order(blocks, states)
    waiting = sorted((order[first], first) for first in states)
    queued = set(states)
    rounds: dict[int, int] = {}
    seen: dict[int, Followed] = {}
    while waiting:
        _, first = heappop(waiting)
        queued.discard(first)
        block = blocks[first]
        state = states[first].copy()
        seen[first] = found = Followed([], [], [])
        for operation in block.operations:
            operands = operation[3]
            if operation[2] in _TURNS or (
                operands and (operands[0][0] == "m" or operands[-1][0] == "m" or len(operands) > 2)
            ):
                _observe(state, operation, reader, found=found, extent=extent)
            step(state, operation, reader)
        for way in block.following:
            if way in blocks and _flow_into(states, way, state, rounds) and way not in queued:
                queued.add(way)
                heappush(waiting, (order[way], way))
    return seen


def _known_heads(blocks: dict[int, _Block], start: int, entries: set[int]) -> dict[int, State]:
    """The blocks that the function is entered by, with what is known then."""
    led = {way for block in blocks.values() for way in block.following}
    states: dict[int, State] = {start: entry_state()} if start in blocks else {}
    for first, block in blocks.items():
        orphan = first not in led and first != start and not _padding(block)
        if orphan or (first in entries and first != start):
            states[first] = unknown_state()
    return states


def _order(blocks: dict[int, _Block], roots: Iterable[int]) -> dict[int, int]:
    """A number for every block that is reached: before those that it leads to, but for loops."""
    found: dict[int, int] = {}
    last = len(blocks)
    for root in roots:
        waiting = [(root, iter(blocks[root].following))] if root not in found else []
        found.setdefault(root, 0)
        while waiting:
            first, ways = waiting[-1]
            way = next((one for one in ways if one in blocks and one not in found), None)
            if way is None:
                found[first] = last
                last -= 1
                waiting.pop()
            else:
                found[way] = 0
                waiting.append((way, iter(blocks[way].following)))
    return found


def _flow_into(states: dict[int, State], way: int, state: State, rounds: dict[int, int]) -> bool:
    """Join a state into a block's head; whether that changed it."""
    known = states.get(way)
    if known is None:
        states[way] = state.copy()
        return True
    if known.same(state):
        return False
    joined = known.joined(state)
    if joined.same(known):
        return False
    rounds[way] = rounds.get(way, 0) + 1
    if rounds[way] > _MOST_ROUNDS:
        joined.forget_what_differs(known)
        if joined.same(known):
            return False
    states[way] = joined
    return True


def _padding(block: _Block) -> bool:
    return all(operation[2] in _PADDING or _idle(operation) for operation in block.operations)


def _idle(operation: Operation) -> bool:
    """`xchg ax, ax` and `lea rsi, [rsi]`, which fill up lines as well."""
    _, _, name, operands, _, _ = operation
    if name == "xchg":
        return bool(operands[0] == operands[1])
    if name == "lea" and operands[1][0] == "m":
        return bool(operands[1][1] == operands[0][1] and operands[1][2] == -1 and operands[1][4] == 0)
    return False


_TURNS = frozenset(("call", "jmp", "ret", "push", *_GATES))
"""Instructions to look at though they name no memory."""
_UNTOUCHING = frozenset(("lea", "nop"))
"""Those that name memory and do not touch it."""


def _observe(
    state: State, operation: Operation, reader: Reader, *, found: Followed, extent: tuple[int, int]
) -> None:
    ip, _, name, operands, target, _ = operation
    if name not in _UNTOUCHING:
        _peek(state, operation, found)
    if name in _GATES:
        found.events.append(Event(ip, name, None, tuple(state.registers)))
    elif name == "call" or (name == "jmp" and (target is None or not extent[0] <= target < extent[1])):
        where = _target(state, operands, target, reader)
        found.events.append(Event(ip, name, where, tuple(state.registers)))
        for register in ARGUMENTS:
            _leak(state.registers[register], ip, found)
    elif name == "ret":
        _leak(state.registers[RAX], ip, found)
    elif name in ("mov", "push", "xchg", "other") and operands:
        _observe_store(state, operation, reader, found)


def _peek(state: State, operation: Operation, found: Followed) -> None:
    ip, _, name, operands, target, _ = operation
    for operand in operands:
        if operand[0] == "m" and operand[1] >= 0:
            value = state.registers[operand[1]]
            if isinstance(value, tuple) and value[0] in ("imp", "off"):
                found.peeks.append((ip, value[1], "it reads the code of"))
    if name in ("call", "jmp", "push") and target is None and operands and operands[0][0] == "r":
        value = state.registers[operands[0][1]]
        if isinstance(value, tuple) and value[0] == "off":
            found.peeks.append((ip, value[1], "it goes to an address computed from"))


def _observe_store(state: State, operation: Operation, reader: Reader, found: Followed) -> None:
    ip, _, name, operands, _, _ = operation
    if name == "push" or operands[0][0] != "m" or len(operands) < 2:
        return
    address = address_of(state, operands[0])
    if isinstance(address, tuple) and address[0] == "sp":
        return  # a slot of the frame, which is followed
    _leak(read(state, operands[1], reader), ip, found)


def _leak(value: Value, ip: int, found: Followed) -> None:
    if isinstance(value, tuple) and value[0] == "imp":
        found.leaks.append(Leak(ip, str(value[1])))


def _target(state: State, operands: tuple[Operand, ...], target: int | None, reader: Reader) -> Value:
    if target is not None:
        return frozenset((target,))
    return read(state, operands[0], reader) if operands else None
