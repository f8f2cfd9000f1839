"""iced-x86 behind the door of `decoding`."""

from __future__ import annotations

from array import array
from importlib.metadata import version

import iced_x86 as iced
from iced_x86 import Decoder, FlowControl, Mnemonic, OpKind

from dsec_cli.plugins.decoding import Flow

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeAlias

    from dsec_cli.plugins.decoding import Operand, Operation

    _Meaning: TypeAlias = tuple[str, tuple[Operand, ...], int | None, tuple[int, ...]]
    """name, operands, target, written: see `Operation`."""

_NEXT = FlowControl.NEXT
_LEA, _INT3 = Mnemonic.LEA, Mnemonic.INT3
_PADDING = frozenset((Mnemonic.NOP, Mnemonic.INT3, Mnemonic.HLT))
"""What fills up lines; nothing goes on behind a halt, which stands where a call must not return."""
_GATES = {Mnemonic.SYSCALL: "syscall", Mnemonic.SYSENTER: "sysenter"}
_BRANCHES: dict[int, str] = {FlowControl.UNCONDITIONAL_BRANCH: "jmp", FlowControl.CONDITIONAL_BRANCH: "jcc"}
_CALLS = frozenset((FlowControl.CALL, FlowControl.INDIRECT_CALL))
_ENDS = frozenset(
    (
        FlowControl.UNCONDITIONAL_BRANCH,
        FlowControl.INDIRECT_BRANCH,
        FlowControl.RETURN,
        FlowControl.EXCEPTION,
    )
)
_PLACED = (
    FlowControl.UNCONDITIONAL_BRANCH,
    FlowControl.CONDITIONAL_BRANCH,
    FlowControl.CALL,
    FlowControl.XBEGIN_XABORT_XEND,
)
"""What may name a place by its distance."""
_MOST_KNOWN = 1 << 16


class Iced:
    """The door."""

    name = "iced-x86"
    version = version("iced-x86")

    def __init__(self) -> None:
        self._known: dict[bytes, _Meaning] = {}
        """What instructions mean whose meaning does not depend on where they stand."""

    def flow(self, code: bytes, start: int, *, whole: bool, valid: bool = False) -> Flow:
        """See `Door`."""
        found = Flow()
        ips: list[int] = []
        add, refs = ips.append, found.refs
        end = furthest = turned = start
        last = 0
        for one in Decoder(64, code, ip=start):
            ip = one.ip
            add(ip)
            kind = one.flow_control
            if kind == _NEXT:
                if one.is_ip_rel_memory_operand:
                    how = "lea" if one.mnemonic == _LEA else "load"
                    refs.append((ip, one.ip_rel_memory_address, how))
                continue
            end = one.next_ip
            if one.mnemonic == _INT3:
                continue
            turned, last = end, kind
            target = _turn(one, kind, ip, found)
            if valid and found.invalid:
                break
            if not whole:
                if start <= target < start + len(code) and target > furthest:
                    furthest = target
                if kind in _ENDS and end > furthest:
                    break
        else:
            end = start + len(code)
        found.end = end
        gate = bool(found.gates) and last in _CALLS and found.gates[-1][0] == turned - 2
        closed = last in _ENDS or (last in _CALLS and not gate)
        found.open = not closed or not _is_padding(code[turned - start : end - start])
        found.ips = array("Q", ips)
        return found

    def operations(self, code: bytes, start: int) -> list[Operation]:
        """See `Door`."""
        info = iced.InstructionInfoFactory()
        found = []
        for one in Decoder(64, code, ip=start):
            ip, following = one.ip, one.next_ip
            if one.is_ip_rel_memory_operand or one.flow_control in _PLACED:
                found.append((ip, following, *_meaning(one, info)))
                continue
            raw = code[ip - start : following - start]
            known = self._known.get(raw)
            if known is None:
                known = _meaning(one, info)
                if len(self._known) < _MOST_KNOWN:
                    self._known[raw] = known
            found.append((ip, following, *known))
        return found


def _is_padding(code: bytes) -> bool:
    """Whether code only fills up a line."""
    return all(one.mnemonic in _PADDING for one in Decoder(64, code))


def _turn(one: Any, kind: int, ip: int, found: Flow) -> int:
    """Note an instruction that does not simply go on; the target of a direct branch, or -1."""
    if kind in _BRANCHES:
        target: int = one.near_branch_target
        found.branches.append((ip, target, _BRANCHES[kind]))
        return target
    _OTHER_TURNS.get(kind, _nothing)(one, ip, found)
    return -1


def _call(one: Any, ip: int, found: Flow) -> None:
    gate = _GATES.get(one.mnemonic)
    if gate is not None:
        found.gates.append((ip, gate))
    elif one.op0_kind == OpKind.NEAR_BRANCH64:
        found.branches.append((ip, one.near_branch_target, "call"))


def _indirect(one: Any, ip: int, found: Flow, how: str) -> None:
    if one.is_ip_rel_memory_operand:
        found.refs.append((ip, one.ip_rel_memory_address, how))
    else:
        found.indirect.append((ip, "register" if one.op0_kind == OpKind.REGISTER else _where(one)))
        if one.op0_kind == OpKind.MEMORY and one.memory_size not in _NEAR:
            found.far.append(ip)


_NEAR = (iced.MemorySize.QWORD_OFFSET, iced.MemorySize.WORD_OFFSET, iced.MemorySize.DWORD_OFFSET)


def _where(one: Any) -> str:
    return "frame" if one.memory_base in (iced.Register.RSP, iced.Register.RBP) else "memory"


def _interrupt(one: Any, ip: int, found: Flow) -> None:
    if one.mnemonic == Mnemonic.INT and one.immediate8 == 0x80:
        found.gates.append((ip, "int80"))


def _exception(one: Any, ip: int, found: Flow) -> None:
    del ip
    if one.is_invalid:
        found.invalid += 1


def _return(one: Any, ip: int, found: Flow) -> None:
    found.returns = True
    if one.mnemonic != Mnemonic.RET:  # retf, iret: to another segment as well
        found.far.append(ip)


def _nothing(one: Any, ip: int, found: Flow) -> None:
    del one, ip, found


_OTHER_TURNS: dict[int, Callable[[Any, int, Flow], None]] = {
    FlowControl.CALL: _call,
    FlowControl.INDIRECT_CALL: lambda one, ip, found: _indirect(one, ip, found, "call"),
    FlowControl.INDIRECT_BRANCH: lambda one, ip, found: _indirect(one, ip, found, "jmp"),
    FlowControl.INTERRUPT: _interrupt,
    FlowControl.EXCEPTION: _exception,
    FlowControl.RETURN: _return,
}


def _registers() -> dict[int, tuple[int, int, int]]:
    """Register of the library to (our number, bytes, bits its lowest one is above)."""
    found = {}
    order = ("RAX", "RCX", "RDX", "RBX", "RSP", "RBP", "RSI", "RDI")
    names = {getattr(iced.Register, name): at for at, name in enumerate(order)}
    names |= {getattr(iced.Register, f"R{at}"): at for at in range(8, 16)}
    high = {getattr(iced.Register, name) for name in ("AH", "BH", "CH", "DH")}
    registers: list[Any] = [getattr(iced.Register, word) for word in dir(iced.Register) if word.isupper()]
    for register in registers:
        full = iced.RegisterExt.full_register(register)
        if full in names and iced.RegisterExt.is_gpr(register):
            size = iced.RegisterExt.size(register)
            found[int(register)] = (names[full], size, 8 if register in high else 0)
    return found


_NUMBERS = _registers()
_NAMES = (
    {
        getattr(Mnemonic, name.upper()): name
        for name in [
            "mov",
            "movzx",
            "lea",
            "xor",
            "or",
            "and",
            "add",
            "sub",
            "shl",
            "shr",
            "inc",
            "dec",
            "neg",
            "not",
            "push",
            "pop",
            "xchg",
            "cdqe",
            "sbb",
            "imul",
            "ret",
            "leave",
            "test",
            "cmp",
            "nop",
            "syscall",
            "sysenter",
            "endbr64",
            "ud2",
            "hlt",
            "cdq",
            "cqo",
            "cwde",
            "int3",
        ]
    }
    | dict.fromkeys(
        (
            Mnemonic.ROL,
            Mnemonic.ROR,
            Mnemonic.SAR,
            Mnemonic.BSWAP,
            Mnemonic.ADC,
            Mnemonic.RORX,
            Mnemonic.SARX,
            Mnemonic.SHLX,
            Mnemonic.SHRX,
            Mnemonic.PDEP,
            Mnemonic.PEXT,
            Mnemonic.ANDN,
            Mnemonic.SHLD,
            Mnemonic.SHRD,
        ),
        "turn",
    )
    | {Mnemonic.MOVSX: "movsx", Mnemonic.MOVSXD: "movsx", Mnemonic.SAL: "shl"}
)
_WRITES = frozenset(
    (
        iced.OpAccess.WRITE,
        iced.OpAccess.COND_WRITE,
        iced.OpAccess.READ_WRITE,
        iced.OpAccess.READ_COND_WRITE,
    )
)
_FAMILIES = (("CMOV", "cmov"), ("SET", "set"))


def _family() -> dict[int, str]:
    found = {}
    for prefix, name in _FAMILIES:
        for word in dir(Mnemonic):
            if word.startswith(prefix) and word != "SETSSBSY":
                found[getattr(Mnemonic, word)] = name
    return found


_NAMES |= _family()


def _meaning(one: Any, info: Any) -> _Meaning:
    kind = one.flow_control
    name = _name(one, kind)
    target = None
    if kind in (FlowControl.UNCONDITIONAL_BRANCH, FlowControl.CONDITIONAL_BRANCH) or (
        kind == FlowControl.CALL and one.op0_kind == OpKind.NEAR_BRANCH64
    ):
        target = one.near_branch_target
    operands = () if target is not None else tuple(_operand(one, at) for at in range(one.op_count))
    written: tuple[int, ...] = ()
    if name == "other" or _high(one):
        name = "other"
        written = _written(one, info)
    return (name, operands, target, written)


def _name(one: Any, kind: int) -> str:
    if kind in (FlowControl.CALL, FlowControl.INDIRECT_CALL):
        return _GATES.get(one.mnemonic, "call")
    if kind in (FlowControl.UNCONDITIONAL_BRANCH, FlowControl.INDIRECT_BRANCH):
        return "jmp"
    if kind == FlowControl.CONDITIONAL_BRANCH:
        return "jcc"
    if kind == FlowControl.INTERRUPT and one.mnemonic == Mnemonic.INT:
        return "int80" if one.immediate8 == 0x80 else "other"
    if kind == FlowControl.EXCEPTION:
        return "ud2"
    return _NAMES.get(one.mnemonic, "other")


def _high(one: Any) -> bool:
    """Whether it writes ah, bh, ch or dh, which no operand of ours can name."""
    return bool(
        one.op_count and one.op0_kind == OpKind.REGISTER and _NUMBERS.get(one.op0_register, (0, 0, 0))[2]
    )


def _operand(one: Any, at: int) -> Operand:
    kind = one.op_kind(at)
    if kind == OpKind.REGISTER:
        found = _NUMBERS.get(one.op_register(at))
        return ("r", found[0], found[1]) if found is not None and not found[2] else ("?",)
    if kind == OpKind.MEMORY:
        return _memory(one)
    if OpKind.IMMEDIATE8 <= kind <= OpKind.IMMEDIATE32TO64:
        return ("i", one.immediate(at) & 0xFFFFFFFFFFFFFFFF)
    return ("?",)


def _memory(one: Any) -> Operand:
    size = iced.MemorySizeExt.size(one.memory_size)
    if one.memory_segment in (iced.Register.FS, iced.Register.GS):
        return ("m", -2, -1, 1, 0, size, None)
    if one.is_ip_rel_memory_operand:
        return ("m", -1, -1, 1, 0, size, one.ip_rel_memory_address)
    displacement = one.memory_displacement
    if displacement >= 1 << 63:
        displacement -= 1 << 64
    base = _NUMBERS.get(one.memory_base, (-1,))[0]
    index = _NUMBERS.get(one.memory_index, (-1,))[0]
    address = displacement if base < 0 and index < 0 else None
    return ("m", base, index, one.memory_index_scale, displacement, size, address)


def _written(one: Any, info: Any) -> tuple[int, ...]:
    used = info.info(one).used_registers()
    return tuple(
        sorted({_NUMBERS[r.register][0] for r in used if r.access in _WRITES and r.register in _NUMBERS})
    )
