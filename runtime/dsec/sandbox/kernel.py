"""The kernel's own interfaces, which Python's library does not have: prctl and raw system calls."""

from __future__ import annotations

import ctypes
import os
import platform

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_SET_NO_NEW_PRIVS = 38


class SandboxError(Exception):
    """This machine cannot isolate what was asked for; nothing runs without it."""


def libc() -> ctypes.CDLL:
    """The C library, with errno kept."""
    return ctypes.CDLL(None, use_errno=True)


def prctl(option: int, value: int = 0) -> None:
    """Set one attribute of this process; raises OSError."""
    zero = ctypes.c_ulong(0)
    if libc().prctl(ctypes.c_int(option), ctypes.c_ulong(value), zero, zero, zero) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def syscall(number: int, *arguments: Any) -> int:
    """A raw system call's result; raises OSError."""
    result = int(libc().syscall(ctypes.c_long(number), *arguments))
    if result < 0:
        failed = ctypes.get_errno()
        raise OSError(failed, os.strerror(failed))
    return result


def machine() -> str:
    """`x86_64` or `aarch64`; raises SandboxError for others, whose calls we have no numbers for."""
    name = platform.machine()
    if name not in ("x86_64", "aarch64"):
        raise SandboxError(f"there is no filter of system calls for {name} processors")
    return name
