"""One instruction's effect on what is known of registers and of the stack frame."""

from __future__ import annotations

import operator

from dsec_cli.plugins.decoding import R11, RAX, RCX, RDI, RDX, RSP, SCRATCH
from dsec_cli.plugins.values import FIXED, FREE, MASK, combine, extend, join, narrow, number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from dsec_cli.plugins.decoding import Operand, Operation
    from dsec_cli.plugins.state import State
    from dsec_cli.plugins.values import Value

    Reader = Callable[[int, int], Value]
    """(address, bytes): what constant memory holds."""


def address_of(state: State, operand: Operand) -> Value:
    """The address that a memory operand names."""
    _, base, index, scale, displacement, _, absolute = operand
    if absolute is not None:
        return number(absolute)
    if base == -2:
        return None
    value = state.registers[base] if base >= 0 else number(0)
    if value is None:
        return None
    if index >= 0:
        times = combine(state.registers[index], number(scale), operator.mul, 8)
        if isinstance(value, tuple) and value[0] in ("imp", "off"):
            value = ("off", value[1])
        else:
            value = combine(value, times, operator.add, 8)
    return shifted(value, displacement)


def shifted(value: Value, by: int) -> Value:
    """A value plus a constant."""
    if isinstance(value, tuple):
        if value[0] == "sp":
            return ("sp", value[1] + by)
        if value[0] in ("imp", "off"):
            return value if by == 0 else ("off", value[1])
        return value if by == 0 else None
    return combine(value, number(by), operator.add, 8)


def read(state: State, operand: Operand, reader: Reader) -> Value:
    """The value of an operand."""
    if operand[0] == "r":
        return narrow(state.registers[operand[1]], operand[2])
    if operand[0] == "i":
        return number(operand[1])
    if operand[0] == "m":
        return _read_memory(state, operand, reader)
    return None


def _read_memory(state: State, operand: Operand, reader: Reader) -> Value:
    size = operand[5]
    address = address_of(state, operand)
    if isinstance(address, tuple) and address[0] == "sp":
        held = state.slots.get(address[1])
        return narrow(held[0], size) if held is not None and held[1] >= size else None
    if isinstance(address, frozenset):
        values = [reader(one, size) for one in sorted(address)]
        found = values[0]
        for value in values[1:]:
            found = join(found, value)
        return found
    return _table_entry(state, operand, size)


def _table_entry(state: State, operand: Operand, size: int) -> Value:
    """A constant table read by an index that is not known."""
    base, index, scale = operand[1], operand[2], operand[3]
    start = state.registers[base] if base >= 0 else number(0)
    if index < 0 or not isinstance(start, frozenset) or len(start) != 1:
        return None
    return ("tab", next(iter(start)) + operand[4], size, scale)


def write(state: State, operand: Operand, value: Value) -> None:
    """Store a value where an operand says."""
    if operand[0] == "r":
        register, size = operand[1], operand[2]
        state.registers[register] = value if size >= 4 else _merged(state.registers[register], value, size)
        return
    if operand[0] != "m":
        return
    address = address_of(state, operand)
    size = operand[5]
    if isinstance(address, tuple) and address[0] == "sp":
        at = address[1]
        for other in [o for o, (_, held) in state.slots.items() if o < at + size and at < o + held]:
            del state.slots[other]
        if value is not None:
            state.slots[at] = (value, size)
        return
    state.tell(value)
    state.spoil()


def _merged(old: Value, value: Value, size: int) -> Value:
    mask = (1 << size * 8) - 1
    return combine(old, value, lambda a, b: (a & ~mask) | (b & mask), 8)


def step(state: State, operation: Operation, reader: Reader) -> None:
    """Change `state` as the instruction does; calls and branches only lose what they may change."""
    _, _, name, operands, _, written = operation
    effect = _EFFECTS.get(name)
    if effect is not None:
        effect(state, operands, reader)
        return
    if name in ("call", "syscall", "int80", "sysenter"):
        _after_call(state, name)
        return
    if name in _QUIET:
        return
    for register in written:
        state.registers[register] = None
    if operands and operands[0][0] == "m":
        write(state, operands[0], None)
    elif operands and operands[0][0] == "?":  # a string instruction stores where rdi points
        state.tell(state.registers[RDI])
        state.spoil()


_QUIET = frozenset(("jmp", "jcc", "ret", "test", "cmp", "nop", "endbr64", "ud2", "hlt", "int3"))


def _after_call(state: State, name: str) -> None:
    if name == "call":
        for register in SCRATCH:
            state.tell(state.registers[register])
            state.registers[register] = None
    else:
        for register in (RAX, RCX, R11):
            state.registers[register] = None
    state.spoil()


def _mov(state: State, operands: tuple[Operand, ...], reader: Reader) -> None:
    value = read(state, operands[1], reader)
    if operands[0][0] == "r" and operands[1][0] == "i":
        value = narrow(value, operands[0][2])
    elif operands[0][0] == "m" and operands[1][0] == "i":
        value = narrow(value, operands[0][5])
    write(state, operands[0], value)


def _movzx(state: State, operands: tuple[Operand, ...], reader: Reader) -> None:
    write(state, operands[0], read(state, operands[1], reader))


def _width(operand: Operand) -> int:
    return operand[2] if operand[0] == "r" else operand[5] if operand[0] == "m" else 8


def _movsx(state: State, operands: tuple[Operand, ...], reader: Reader) -> None:
    value = extend(read(state, operands[1], reader), _width(operands[1]) or 4)
    write(state, operands[0], narrow(value, _width(operands[0])))


def _lea(state: State, operands: tuple[Operand, ...], reader: Reader) -> None:
    del reader
    value = address_of(state, operands[1])
    wide = _width(operands[0]) == 8
    _, base, index, _, displacement, _, _ = operands[1]
    if value is None and wide and base >= 0 and (index >= 0 or displacement):
        indexed = state.registers[index] if index >= 0 else None
        value = _together(state.registers[base], indexed, fixed=index < 0)
    write(state, operands[0], value if wide else narrow(value, 4))


def _binary(how: Callable[[int, int], int]) -> Callable[[State, tuple[Operand, ...], Reader], None]:
    def effect(state: State, operands: tuple[Operand, ...], reader: Reader) -> None:
        size = _width(operands[0])
        one = read(state, operands[0], reader)
        other = read(state, operands[1], reader) if len(operands) > 1 else number(1)
        value = combine(one, other, how, size)
        if value is None and size == 8 and operands[0][0] == "r":
            value = _together(one, other, fixed=operands[-1][0] == "i")
        write(state, operands[0], value)

    return effect


def _together(one: Value, other: Value, *, fixed: bool) -> Value:
    """What two values give of which one is unknown; a table's entry and its base are a compiler's jump."""
    if any(isinstance(each, tuple) and each[0] == "tab" for each in (one, other)):
        return None
    return FIXED if fixed else FREE


def _turned(state: State, operands: tuple[Operand, ...], reader: Reader) -> None:
    """Rotations and the like, which nothing is known of."""
    del reader
    write(state, operands[0], FREE if _width(operands[0]) == 8 else None)


def _add(sign: int) -> Callable[[State, tuple[Operand, ...], Reader], None]:
    plain = _binary(operator.add if sign > 0 else operator.sub)

    def effect(state: State, operands: tuple[Operand, ...], reader: Reader) -> None:
        value = read(state, operands[0], reader)
        if sign < 0 and operands[0] == operands[1]:
            write(state, operands[0], number(0))
            return
        by = read(state, operands[1], reader)
        if isinstance(value, tuple) and value[0] in ("imp", "off"):
            write(state, operands[0], ("off", value[1]))
            return
        if isinstance(value, tuple) and value[0] == "sp":
            wanted = by if isinstance(by, frozenset) and len(by) == 1 else None
            moved = shifted(value, sign * _signed(next(iter(wanted)))) if wanted else None
            write(state, operands[0], moved)
            return
        plain(state, operands, reader)

    return effect


def _one_more(by: int) -> Callable[[State, tuple[Operand, ...], Reader], None]:
    add = _add(by)

    def effect(state: State, operands: tuple[Operand, ...], reader: Reader) -> None:
        add(state, (operands[0], ("i", 1)), reader)

    return effect


def _signed(value: int) -> int:
    return value - (1 << 64) if value >= 1 << 63 else value


def _xor(state: State, operands: tuple[Operand, ...], reader: Reader) -> None:
    if operands[0] == operands[1] and operands[0][0] == "r":
        write(state, operands[0], number(0))
        return
    _binary(operator.xor)(state, operands, reader)


def _and(state: State, operands: tuple[Operand, ...], reader: Reader) -> None:
    value = read(state, operands[0], reader)
    if isinstance(value, tuple) and value[0] == "sp":
        write(state, operands[0], None)  # an aligned frame: distances from the entry are gone
        return
    mask = read(state, operands[1], reader)
    if not isinstance(value, frozenset) and isinstance(mask, frozenset) and len(mask) == 1:
        write(state, operands[0], _parts(next(iter(mask)) & ((1 << 8 * _width(operands[0])) - 1)))
        return
    _binary(operator.and_)(state, operands, reader)


def _parts(mask: int) -> Value:
    """All that an unknown number can be behind a mask of few bits."""
    if mask.bit_count() > 3:
        return None
    found, part = {0}, mask
    while part:
        found.add(part)
        part = (part - 1) & mask
    return frozenset(found)


def _or(state: State, operands: tuple[Operand, ...], reader: Reader) -> None:
    if operands[1] == ("i", MASK) or (operands[1][0] == "i" and operands[1][1] == 0xFFFFFFFF):
        write(state, operands[0], narrow(number(MASK), _width(operands[0])))
        return
    _binary(operator.or_)(state, operands, reader)


def _unary(how: Callable[[int], int]) -> Callable[[State, tuple[Operand, ...], Reader], None]:
    def effect(state: State, operands: tuple[Operand, ...], reader: Reader) -> None:
        value = read(state, operands[0], reader)
        write(state, operands[0], combine(value, number(0), lambda a, _: how(a), _width(operands[0])))

    return effect


def _push(state: State, operands: tuple[Operand, ...], reader: Reader) -> None:
    value = read(state, operands[0], reader)
    state.registers[RSP] = shifted(state.registers[RSP], -8)
    write(state, ("m", RSP, -1, 1, 0, 8, None), value)


def _pop(state: State, operands: tuple[Operand, ...], reader: Reader) -> None:
    value = read(state, ("m", RSP, -1, 1, 0, 8, None), reader)
    state.registers[RSP] = shifted(state.registers[RSP], 8)
    write(state, operands[0], value)


def _leave(state: State, operands: tuple[Operand, ...], reader: Reader) -> None:
    del operands
    state.registers[RSP] = state.registers[5]
    _pop(state, (("r", 5, 8),), reader)


def _cmov(state: State, operands: tuple[Operand, ...], reader: Reader) -> None:
    write(state, operands[0], join(read(state, operands[0], reader), read(state, operands[1], reader)))


def _xchg(state: State, operands: tuple[Operand, ...], reader: Reader) -> None:
    one, other = (read(state, operand, reader) for operand in operands[:2])
    write(state, operands[0], other)
    write(state, operands[1], one)


def _set(state: State, operands: tuple[Operand, ...], reader: Reader) -> None:
    del reader
    write(state, operands[0], frozenset((0, 1)))


def _sbb(state: State, operands: tuple[Operand, ...], reader: Reader) -> None:
    del reader
    same = operands[0] == operands[1]
    write(state, operands[0], narrow(frozenset((0, MASK)), _width(operands[0])) if same else None)


def _imul(state: State, operands: tuple[Operand, ...], reader: Reader) -> None:
    if len(operands) == 1:
        state.registers[RAX] = state.registers[RDX] = None
        return
    one, other = (read(state, operand, reader) for operand in operands[-2:])
    write(state, operands[0], combine(one, other, operator.mul, _width(operands[0])))


def _sign(register: int, size: int, *, wide: int) -> Callable[[State, tuple[Operand, ...], Reader], None]:
    def effect(state: State, operands: tuple[Operand, ...], reader: Reader) -> None:
        del operands, reader
        state.registers[register] = narrow(extend(state.registers[register], size), wide)

    return effect


def _lost(register: int) -> Callable[[State, tuple[Operand, ...], Reader], None]:
    def effect(state: State, operands: tuple[Operand, ...], reader: Reader) -> None:
        del operands, reader
        state.registers[register] = None

    return effect


def _shift(how: Callable[[int, int], int]) -> Callable[[State, tuple[Operand, ...], Reader], None]:
    return _binary(lambda a, b: how(a, b & 63))


_EFFECTS: dict[str, Callable[[State, tuple[Operand, ...], Reader], None]] = {
    "mov": _mov,
    "movzx": _movzx,
    "movsx": _movsx,
    "lea": _lea,
    "xor": _xor,
    "or": _or,
    "and": _and,
    "add": _add(1),
    "sub": _add(-1),
    "shl": _shift(operator.lshift),
    "shr": _shift(operator.rshift),
    "inc": _one_more(1),
    "dec": _one_more(-1),
    "neg": _unary(operator.neg),
    "not": _unary(operator.invert),
    "push": _push,
    "pop": _pop,
    "leave": _leave,
    "cmov": _cmov,
    "xchg": _xchg,
    "set": _set,
    "sbb": _sbb,
    "imul": _imul,
    "cdqe": _sign(RAX, 4, wide=8),
    "cwde": _sign(RAX, 2, wide=4),
    "turn": _turned,
    "cdq": _lost(RDX),
    "cqo": _lost(RDX),
}
