"""Files that a process may reach (Landlock): what is not named is refused, whoever the user is.

Layouts and rights: linux/landlock.h. Rights that the running kernel does not know yet are left out of
what is asked of it; the number of its interface says which those are.
"""

from __future__ import annotations

import ctypes
import os
import struct
from typing import NamedTuple

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
_NET_PORT = 2
_BIND, _CONNECT = 1, 2
"""Binding and connecting by TCP, from the fourth interface on."""
_ABSTRACT, _SIGNALS = 1, 2
"""Unix sockets without a file, and signals, of processes outside of it; from the sixth interface on."""
READ = _READ_FILE | _READ_DIR
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


class Ports(NamedTuple):
    """TCP ports that may be bound and connected to; None: all of them."""

    bind: tuple[int, ...] | None = ()
    connect: tuple[int, ...] | None = ()


NO_PORTS, ALL_PORTS = Ports(), Ports(None, None)


def restrict(
    *,
    read: Iterable[str] = (),
    write: Iterable[str] = (),
    execute: Iterable[str] = (),
    ports: Ports = NO_PORTS,
    abstract: bool = False,
) -> int:
    """Let this thread reach these paths, with all below them, and nothing else; gives the version.

    `read`, `write` (which includes reading), `execute` (as programs, which includes reading). Paths that do
    not exist are passed over: nothing can be reached there. `ports`: what TCP may reach; `abstract`: leave
    Unix sockets without a file alone. Layers add up: a later one takes away more. Signals reach nobody
    outside of it, where the kernel can see to that. Raises SandboxError where the kernel has no Landlock.
    """
    version = interface()
    if not version:
        raise SandboxError("this kernel has no Landlock (Linux 5.13, CONFIG_SECURITY_LANDLOCK)")
    rights = handled(version)
    net = 0
    if version >= 4:
        net = (_BIND if ports.bind is not None else 0) | (_CONNECT if ports.connect is not None else 0)
    fields: tuple[int, ...] = (rights, net, _SIGNALS | (0 if abstract else _ABSTRACT))
    fields = fields[: 3 if version >= 6 else 2 if version >= 4 else 1]
    attributes = struct.pack(f"={len(fields)}Q", *fields)
    try:
        ruleset = syscall(
            _CREATE, ctypes.c_char_p(attributes), ctypes.c_size_t(len(attributes)), ctypes.c_uint(0)
        )
        try:
            for paths, granted in ((read, READ), (write, rights & ~_EXECUTE), (execute, READ | _EXECUTE)):
                for path in paths:
                    _allow(ruleset, path, granted & rights)
            for right, wanted in ((_BIND, ports.bind), (_CONNECT, ports.connect)):
                for port in (wanted or ()) if net & right else ():
                    _add(ruleset, _NET_PORT, struct.pack("=QQ", right, port))
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
        _add(ruleset, _PATH_BENEATH, struct.pack("=Qi", kept, handle))
    finally:
        os.close(handle)


def _add(ruleset: int, kind: int, rule: bytes) -> None:
    syscall(_ADD, ctypes.c_int(ruleset), ctypes.c_int(kind), ctypes.c_char_p(rule), ctypes.c_uint(0))
