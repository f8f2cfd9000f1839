"""The door to a disassembler: what the analysis asks of one, and which one is here.

A number names a 64-bit register: rax 0, rcx 1, rdx 2, rbx 3, rsp 4, rbp 5, rsi 6, rdi 7, r8 8, ... r15 15.

    operand:   ("r", register, bytes)
               ("i", value)
               ("m", base, index, scale, displacement, bytes, address)
        base, index: a register, or -1; address: where it is known (relative to the instruction), else None;
        base -2: memory of another segment register
    operation: (ip, next ip, name, operands, target, written)
        name: as the processor's manual has it, families folded: `jcc`, `cmov`, `set`, `movzx`, `movsx`;
        `other` for what the analysis does not model; target: of a direct branch, else None;
        written: registers that change, where `name` does not tell
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from functools import cache
from typing import Protocol

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeAlias

    Operand: TypeAlias = tuple[Any, ...]
    Operation: TypeAlias = tuple[int, int, str, tuple[Operand, ...], int | None, tuple[int, ...]]

RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8, R9, R10, R11 = range(12)
ARGUMENTS = (RDI, RSI, RDX, RCX, R8, R9)
"""Registers of a function's arguments."""
KERNEL_ARGUMENTS = (RDI, RSI, RDX, R10, R8, R9)
"""Registers of a system call's arguments."""
SCRATCH = (RAX, RCX, RDX, RSI, RDI, R8, R9, R10, R11)
"""Registers that a call may change."""


@dataclass(slots=True)
class Flow:
    """What a stretch of code refers to, each with the address of the instruction."""

    branches: list[tuple[int, int, str]] = field(default_factory=list)
    """(ip, target, `call` | `jmp` | `jcc`)"""
    refs: list[tuple[int, int, str]] = field(default_factory=list)
    """(ip, address, `lea` | `load` | `call` | `jmp`): memory named relative to the instruction."""
    gates: list[tuple[int, str]] = field(default_factory=list)
    """(ip, `syscall` | `sysenter` | `int80`)"""
    indirect: list[tuple[int, str]] = field(default_factory=list)
    """(ip, `register` | `memory` | `frame`): calls and jumps to where a register, memory or a word of the
    stack says."""
    far: list[int] = field(default_factory=list)
    """Calls, jumps and returns to another segment."""
    ips: array[int] = field(default_factory=lambda: array("Q"))
    """Where each instruction begins."""
    end: int = 0
    """Address behind the last instruction."""
    returns: bool = False
    invalid: int = 0
    open: bool = False
    """Whether the last instruction goes on: it is no jump, return or trap, and no call, which at the end
    of a function calls what never returns."""

    def runs_on(self) -> bool:
        """Whether the last instruction goes on to what follows it."""
        return self.open

    def append(self, other: Flow) -> None:
        """Add what follows right behind."""
        self.branches += other.branches
        self.refs += other.refs
        self.gates += other.gates
        self.indirect += other.indirect
        self.far += other.far
        self.ips += other.ips
        self.end = other.end
        self.returns = self.returns or other.returns
        self.invalid += other.invalid
        self.open = other.open


class Door(Protocol):
    """A disassembler of x86-64 code."""

    name: str
    version: str

    def flow(self, code: bytes, start: int, *, whole: bool, valid: bool = False) -> Flow:
        """Read `code` from `start` on; not `whole`: only to the first end of its control flow.

        `valid`: no further than to the first thing that is no instruction.
        """
        ...

    def operations(self, code: bytes, start: int) -> list[Operation]:
        """The instructions of `code` with their operands."""
        ...


@cache
def open_door(wanted: str = "") -> Door | None:
    """The quickest disassembler that is installed, or the one that is named; None: there is none."""
    if wanted in ("", "iced-x86"):
        try:
            from dsec_cli.plugins.decoding_iced import Iced
        except ImportError:
            pass
        else:
            return Iced()
    if wanted in ("", "capstone"):
        try:
            from dsec_cli.plugins.decoding_capstone import Capstone
        except ImportError:
            return None
        return Capstone()
    return None
