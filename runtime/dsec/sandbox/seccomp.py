"""Filters of system calls (seccomp, mode 2), by number and by argument.

The program looks at the architecture first (32-bit calls by `int 0x80` have another one), then refuses
x32 numbers, then looks for the number, then for its arguments. A call that no rule knows kills the process
at once; one whose arguments no rule allows fails with EPERM. Layouts: linux/seccomp.h, linux/filter.h.

The kernel reads `int` arguments by their lower half, so their upper half is never compared: a request of
`0xdead00005412` is the request 0x5412.
"""

from __future__ import annotations

import ctypes
import errno
import struct
from typing import NamedTuple

from dsec.sandbox.kernel import PR_SET_NO_NEW_PRIVS, SandboxError, machine, prctl, syscall

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

ALLOW, KILL, _ERRNO, NOTIFY = 0x7FFF0000, 0x80000000, 0x00050000, 0x7FC00000
EPERM, ENOSYS = _ERRNO | errno.EPERM, _ERRNO | errno.ENOSYS
_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_SECCOMP = {"x86_64": 317, "aarch64": 277}
_X32 = 0x40000000
_SET_MODE_FILTER = 1
_NEW_LISTENER = 8
_LOAD, _EQUAL, _AT_LEAST, _RETURN, _AND, _JUMP = 0x20, 0x15, 0x35, 0x06, 0x54, 0x05
_NR, _ARCH_AT, _ARGUMENTS = 0, 4, 16
_INSTRUCTION = struct.Struct("=HBBI")
MOST = 4096
"""Instructions that the kernel takes (BPF_MAXINSNS)."""


class Test(NamedTuple):
    """What one argument of a call must be, or must not be."""

    argument: int
    values: tuple[int, ...]
    mask: int = 0xFFFFFFFF
    among: bool = True
    """Whether it must be one of `values`; else it must be none of them."""
    high: bool = False
    """The upper half of the argument, which matters for pointers only."""


class Rule(NamedTuple):
    """What becomes of one system call."""

    ways: tuple[tuple[Test, ...], ...] = ((),)
    """It is allowed where all tests of one way hold."""
    action: int = EPERM
    """What it meets else."""
    granted: int = ALLOW
    """What it meets where a way holds."""


REFUSED = Rule(())
ABSENT = Rule((), ENOSYS)
"""As in a kernel that does not have the call, so that callers take another way."""


def program(
    allowed: Iterable[int], *, arch: str, rules: Mapping[int, Rule] | None = None, otherwise: int = KILL
) -> bytes:
    """The filter that allows these system calls; `rules` decide about theirs, whether allowed or not."""
    rows = [
        (_LOAD, 0, 0, _ARCH_AT),
        (_EQUAL, 1, 0, _ARCH[arch]),
        (_RETURN, 0, 0, KILL),
        (_LOAD, 0, 0, _NR),
        (_AT_LEAST, 0, 1, _X32),
        (_RETURN, 0, 0, KILL),
    ]
    rules = rules or {}
    for number in sorted({*allowed, *rules}):
        block = _block(rules[number]) if number in rules else [(_RETURN, 0, 0, ALLOW)]
        if len(block) == 1:
            rows += [(_EQUAL, 0, 1, number), *block]
        else:
            rows += [(_EQUAL, 1, 0, number), (_JUMP, 0, 0, len(block)), *block]
    rows.append((_RETURN, 0, 0, otherwise))
    if len(rows) > MOST:
        raise SandboxError(f"a filter of {len(rows)} instructions is more than the kernel takes")
    return b"".join(_INSTRUCTION.pack(*row) for row in rows)


def _block(rule: Rule) -> list[tuple[int, int, int, int]]:
    """Instructions for one call: its ways one after another, then the action."""
    rows: list[tuple[int, int, int, int]] = []
    for way in rule.ways:
        body = [(_RETURN, 0, 0, rule.granted)]
        for test in reversed(way):
            body = [*_tested(test, len(body)), *body]
        rows += body
    return [*rows, (_RETURN, 0, 0, rule.action)] if rule.ways != ((),) else rows


def _tested(test: Test, rest: int) -> list[tuple[int, int, int, int]]:
    """Instructions that go on where a test holds, and behind the next `rest` ones where it does not."""
    rows = [(_LOAD, 0, 0, _ARGUMENTS + 8 * test.argument + 4 * test.high)]
    if test.mask != 0xFFFFFFFF:
        rows.append((_AND, 0, 0, test.mask))
    count = len(test.values)
    for at, value in enumerate(test.values):
        # Behind the comparisons stands a jump over the rest, and behind that what goes on.
        hit = count - at if test.among else count - at - 1
        rows.append((_EQUAL, hit, 0, value))
    if test.among:
        rows.append((_JUMP, 0, 0, rest))
    else:
        rows[-1] = (_EQUAL, 0, 1, test.values[-1])
        rows.append((_JUMP, 0, 0, rest))
    return rows


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))


def restrict(
    allowed: Iterable[int],
    *,
    rules: Mapping[int, Rule] | None = None,
    otherwise: int = KILL,
    listen: bool = False,
) -> int:
    """Put this thread under the filter from here on, without new privileges ever.

    Filters add up: a later one takes away more. `listen`: gives a descriptor on which calls arrive whose
    rule says NOTIFY, else 0. Raises SandboxError where the kernel does not take it.
    """
    arch = machine()
    data = program(allowed, arch=arch, rules=rules, otherwise=otherwise)
    buffer = ctypes.create_string_buffer(data, len(data))
    held = _Program(len(data) // _INSTRUCTION.size, ctypes.addressof(buffer))
    flags = _NEW_LISTENER if listen else 0
    try:
        prctl(PR_SET_NO_NEW_PRIVS, 1)
        return syscall(
            _SECCOMP[arch], ctypes.c_uint(_SET_MODE_FILTER), ctypes.c_uint(flags), ctypes.byref(held)
        )
    except OSError as problem:
        raise SandboxError(f"the kernel took no filter of system calls: {problem.strerror}") from None
