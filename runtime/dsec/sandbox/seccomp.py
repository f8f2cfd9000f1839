"""Filters of system calls (seccomp, mode 2): what is not allowed kills the process at once.

The program looks at the architecture first (32-bit calls by `int 0x80` have another one), then refuses
x32 numbers, then looks for the number. Layouts: linux/seccomp.h, linux/filter.h, linux/audit.h.
"""

from __future__ import annotations

import ctypes
import struct

from dsec.sandbox.kernel import PR_SET_NO_NEW_PRIVS, SandboxError, machine, prctl, syscall

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

ALLOW, KILL = 0x7FFF0000, 0x80000000
_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_SECCOMP = {"x86_64": 317, "aarch64": 277}
_X32 = 0x40000000
_SET_MODE_FILTER = 1
_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_NR, _ARCH_AT = 0, 4
_INSTRUCTION = struct.Struct("=HBBI")
MOST = 4096
"""Instructions that the kernel takes (BPF_MAXINSNS)."""


def program(allowed: Iterable[int], *, arch: str) -> bytes:
    """The filter that allows these system calls and no others."""
    rows = [
        (_LOAD, 0, 0, _ARCH_AT),
        (_EQUAL, 1, 0, _ARCH[arch]),
        (_RETURN, 0, 0, KILL),
        (_LOAD, 0, 0, _NR),
        (_AT_LEAST, 0, 1, _X32),
        (_RETURN, 0, 0, KILL),
    ]
    for number in sorted(set(allowed)):
        rows += [(_EQUAL, 0, 1, number), (_RETURN, 0, 0, ALLOW)]
    rows.append((_RETURN, 0, 0, KILL))
    if len(rows) > MOST:
        raise SandboxError(f"a filter of {len(rows)} instructions is more than the kernel takes")
    return b"".join(_INSTRUCTION.pack(*row) for row in rows)


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))


def restrict(allowed: Iterable[int]) -> None:
    """Allow this thread these system calls and no others from here on, and no new privileges ever.

    Filters add up: a later one takes away more. Raises SandboxError where the kernel does not take it.
    """
    arch = machine()
    data = program(allowed, arch=arch)
    buffer = ctypes.create_string_buffer(data, len(data))
    held = _Program(len(data) // _INSTRUCTION.size, ctypes.addressof(buffer))
    try:
        prctl(PR_SET_NO_NEW_PRIVS, 1)
        syscall(_SECCOMP[arch], ctypes.c_uint(_SET_MODE_FILTER), ctypes.c_uint(0), ctypes.byref(held))
    except OSError as problem:
        raise SandboxError(f"the kernel took no filter of system calls: {problem.strerror}") from None
