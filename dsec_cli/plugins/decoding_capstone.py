"""capstone behind the door of `decoding`: slower than iced-x86, and there where that has no wheel."""

from __future__ import annotations

import re
from array import array

import capstone
from capstone import x86_const as x86

from dsec_cli.plugins.decoding import Flow

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dsec_cli.plugins.decoding import Operand, Operation

_RELATIVE = re.compile(r"\[rip ([+-]) (0x[0-9a-f]+|\d+)\]")
_GATES = {"syscall": "syscall", "sysenter": "sysenter"}
_ENDS = frozenset(("jmp", "ret", "retf", "ud2", "hlt"))
_PADDING = frozenset(("nop", "int3"))
_PREFIXES = ("notrack ", "bnd ", "rep ", "repne ", "repz ", "lock ")


class Capstone:
    """The door."""

    name = "capstone"
    version = ".".join(map(str, capstone.cs_version()[:2]))

    def __init__(self) -> None:
        self._quick = capstone.Cs(capstone.CS_ARCH_X86, capstone.CS_MODE_64)
        self._quick.skipdata = True
        self._exact = capstone.Cs(capstone.CS_ARCH_X86, capstone.CS_MODE_64)
        self._exact.detail = True

    def flow(self, code: bytes, start: int, *, whole: bool, valid: bool = False) -> Flow:
        """See `Door`."""
        found = Flow()
        ips: list[int] = []
        end, furthest, plain = start, start, ""
        for ip, size, name, operands in self._quick.disasm_lite(code, start):
            ips.append(ip)
            end = ip + size
            word = _plain(name)
            if word in _PADDING:
                continue
            plain = word
            target = _note(found, ip, size, plain, operands)
            if valid and found.invalid:
                break
            if not whole:
                if start <= target < start + len(code):
                    furthest = max(furthest, target)
                if plain in _ENDS and end > furthest:
                    break
        else:
            end = start + len(code)
        found.end = end
        found.open = plain not in _ENDS and plain != "call"
        found.ips = array("Q", ips)
        return found

    def operations(self, code: bytes, start: int) -> list[Operation]:
        """See `Door`."""
        found: list[Operation] = []
        at = 0
        while at < len(code):
            one = next(self._exact.disasm(code[at : at + 16], start + at, 1), None)
            if one is None:
                found.append((start + at, start + at + 1, "ud2", (), None, ()))
                at += 1
                continue
            found.append(_operation(one))
            at += one.size
        return found


def _plain(name: str) -> str:
    for prefix in _PREFIXES:
        name = name.removeprefix(prefix)
    return name


def _note(found: Flow, ip: int, size: int, name: str, operands: str) -> int:
    """Note what an instruction refers to; the target of a direct branch, or -1."""
    if name[0] == "j" or name == "call" or name.startswith("loop"):
        return _branch(found, ip, size, name, operands)
    if name in _GATES:
        found.gates.append((ip, _GATES[name]))
    elif name == "int" and operands in ("0x80", "128"):
        found.gates.append((ip, "int80"))
    elif name in ("ret", "retf", "retfq", "iret", "iretd", "iretq"):
        found.returns = True
        if name != "ret":
            found.far.append(ip)
    elif name in ("lcall", "ljmp"):
        found.far.append(ip)
    elif name == ".byte":
        found.invalid += 1
    else:
        address = _address(ip + size, operands)
        if address is not None:
            found.refs.append((ip, address, "lea" if name == "lea" else "load"))
    return -1


def _branch(found: Flow, ip: int, size: int, name: str, operands: str) -> int:
    how = name if name in ("call", "jmp") else "jcc"
    if operands.startswith("0x") or operands.isdigit():
        target = int(operands, 0)
        found.branches.append((ip, target, how))
        return target if how != "call" else -1
    address = _address(ip + size, operands)
    if address is not None:
        found.refs.append((ip, address, how))
    else:
        frame = "[rsp" in operands or "[rbp" in operands
        found.indirect.append((ip, "frame" if frame else "memory" if "[" in operands else "register"))
    return -1


def _address(following: int, operands: str) -> int | None:
    match = _RELATIVE.search(operands)
    if match is None:
        return None
    distance = int(match[2], 0)
    return (following + (distance if match[1] == "+" else -distance)) & ((1 << 64) - 1)


def _registers() -> dict[int, tuple[int, int]]:
    """Register of the library to (our number, bytes)."""
    found = {}
    names = (
        ("rax", "eax", "ax", "al"),
        ("rcx", "ecx", "cx", "cl"),
        ("rdx", "edx", "dx", "dl"),
        ("rbx", "ebx", "bx", "bl"),
        ("rsp", "esp", "sp", "spl"),
        ("rbp", "ebp", "bp", "bpl"),
        ("rsi", "esi", "si", "sil"),
        ("rdi", "edi", "di", "dil"),
        *((f"r{at}", f"r{at}d", f"r{at}w", f"r{at}b") for at in range(8, 16)),
    )
    for number, row in enumerate(names):
        for name, size in zip(row, (8, 4, 2, 1), strict=True):
            found[getattr(x86, f"X86_REG_{name.upper()}")] = (number, size)
    return found


_NUMBERS = _registers()
_HIGH = {x86.X86_REG_AH: 0, x86.X86_REG_CH: 1, x86.X86_REG_DH: 2, x86.X86_REG_BH: 3}
_NAMES = {name: name for name in (
    "mov", "movzx", "lea", "xor", "or", "and", "add", "sub", "shl", "shr", "inc", "dec", "neg", "not", "push",
    "pop", "xchg", "cdqe", "sbb", "imul", "ret", "leave", "test", "cmp", "nop", "syscall", "sysenter",
    "endbr64",
    "ud2", "hlt", "cdq", "cqo", "cwde", "int3", "call", "jmp",
)} | {"movsx": "movsx", "movsxd": "movsx", "movabs": "mov", "sal": "shl"}  # fmt: skip


def _operation(one: Any) -> Operation:
    word = _plain(one.mnemonic)
    name = _name(word, one)
    operands = tuple(_operand(operand, one) for operand in one.operands)
    target = None
    if name in ("call", "jmp", "jcc") and operands and operands[0][0] == "i":
        target, operands = operands[0][1], ()
    written: tuple[int, ...] = ()
    if name == "other":
        _, registers = one.regs_access()
        held = {_NUMBERS[r][0] for r in registers if r in _NUMBERS}
        written = tuple(sorted(held | {_HIGH[r] for r in registers if r in _HIGH}))
    return (one.address, one.address + one.size, name, operands, target, written)


def _name(word: str, one: Any) -> str:
    if word == "int":
        return "int80" if one.operands[0].imm & 0xFF == 0x80 else "other"
    if word[0] == "j" and word != "jmp":
        return "jcc"
    if word.startswith("cmov"):
        return "cmov"
    if word.startswith("set") and word != "setssbsy":
        return "set"
    if any(operand.type == x86.X86_OP_REG and operand.reg in _HIGH for operand in one.operands[:1]):
        return "other"
    return _NAMES.get(word, "other")


def _operand(operand: Any, one: Any) -> Operand:
    if operand.type == x86.X86_OP_REG:
        found = _NUMBERS.get(operand.reg)
        return ("r", *found) if found is not None else ("?",)
    if operand.type == x86.X86_OP_IMM:
        return ("i", operand.imm & 0xFFFFFFFFFFFFFFFF)
    if operand.type != x86.X86_OP_MEM:
        return ("?",)
    held = operand.mem
    if held.segment in (x86.X86_REG_FS, x86.X86_REG_GS):
        return ("m", -2, -1, 1, 0, operand.size, None)
    if held.base == x86.X86_REG_RIP:
        return ("m", -1, -1, 1, 0, operand.size, one.address + one.size + held.disp)
    base = _NUMBERS.get(held.base, (-1,))[0]
    index = _NUMBERS.get(held.index, (-1,))[0]
    address = held.disp if base < 0 and index < 0 else None
    return ("m", base, index, held.scale, held.disp, operand.size, address)
