"""Files that a process may reach (Landlock): what is not named is refused, whoever the user is.

Layouts and rights: linux/landlock.h. Rights that the running kernel does not know yet are left out of
what is asked of it; the number of its interface says which those are.
"""

from __future__ import annotations

import ctypes
import os
import struct

from dsec.sandbox.kernel import PR_SET_NO_NEW_PRIVS, SandboxError, prctl, syscall

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_CREATE, _ADD, _RESTRICT = 444, 445, 446  # the same on every architecture
_VERSION = 1
_PATH_BENEATH = 1
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1, 2, 4, 8
_FIRST = (1 << 13) - 1
_REFER, _TRUNCATE, _IOCTL_DEV = 1 << 13, 1 << 14, 1 << 15
_NET = 0b11
"""Binding and connecting by TCP, from the fourth interface on."""
_SIGNALS = 0b10
"""Sending signals to processes outside of it, from the sixth interface on."""
READ = _READ_FILE | _READ_DIR
LOAD = READ | _EXECUTE
_OF_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV


def interface() -> int:
    """The version of Landlock that the kernel offers; 0: none."""
    try:
        return syscall(_CREATE, None, ctypes.c_size_t(0), ctypes.c_uint(_VERSION))
    except OSError:
        return 0


def handled(version: int) -> int:
    """All rights about files that this version knows."""
    rights = _FIRST
    for since, right in ((2, _REFER), (3, _TRUNCATE), (5, _IOCTL_DEV)):
        rights |= right if version >= since else 0
    return rights


def restrict(
    *, read: Iterable[str] = (), write: Iterable[str] = (), load: Iterable[str] = (), tcp: bool = False
) -> int:
    """Let this thread reach these paths, with all below them, and nothing else; gives the version.

    `read`, `write` (which includes reading), `load` (reading and mapping as code). Paths that do not
    exist are passed over: nothing can be reached there. `tcp`: leave TCP alone. Layers add up: a later
    one takes away more. Signals reach nobody outside of it, where the kernel can see to that.
    Raises SandboxError where the kernel has no Landlock.
    """
    version = interface()
    if not version:
        raise SandboxError("this kernel has no Landlock (Linux 5.13, CONFIG_SECURITY_LANDLOCK)")
    rights = handled(version)
    net = 0 if tcp or version < 4 else _NET
    fields = (rights, net, _SIGNALS)[: 3 if version >= 6 else 2 if version >= 4 else 1]
    attributes = struct.pack(f"={len(fields)}Q", *fields)
    try:
        ruleset = syscall(
            _CREATE, ctypes.c_char_p(attributes), ctypes.c_size_t(len(attributes)), ctypes.c_uint(0)
        )
        try:
            for paths, allowed in ((read, READ), (write, rights & ~_EXECUTE), (load, LOAD)):
                for path in paths:
                    _allow(ruleset, path, allowed & rights)
            prctl(PR_SET_NO_NEW_PRIVS, 1)
            syscall(_RESTRICT, ctypes.c_int(ruleset), ctypes.c_uint(0))
        finally:
            os.close(ruleset)
    except OSError as problem:
        raise SandboxError(f"the kernel took no rules about files: {problem.strerror}") from None
    return version


def _allow(ruleset: int, path: str, rights: int) -> None:
    try:
        handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        kept = rights if os.path.isdir(path) else rights & _OF_FILES
        rule = struct.pack("=Qi", kept, handle)
        syscall(
            _ADD, ctypes.c_int(ruleset), ctypes.c_int(_PATH_BENEATH), ctypes.c_char_p(rule), ctypes.c_uint(0)
        )
    finally:
        os.close(handle)
