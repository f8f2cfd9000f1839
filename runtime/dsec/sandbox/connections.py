"""Connecting and binding by proxy: addresses are compared, and used, where the process cannot change them.

A filter sees the pointer to an address and not the address, and what it points at may change after a look.
So the kernel stops the call (seccomp's user notification), the first process of the namespace copies the
address, compares it, and makes the call itself on the very same socket.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import ipaddress
import os
import socket
import stat
import struct
import threading
from typing import NamedTuple

from dsec.sandbox.kernel import libc, syscall

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_RECEIVE, _SEND, _VALID = 0xC0502100, 0xC0182101, 0x40082102
_NOTICE, _ANSWER = struct.Struct("=QIIiIQ6Q"), struct.Struct("=QqiI")
_PIDFD_OPEN, _PIDFD_GETFD, _PIDFD_THREAD = 434, 438, 0o200
_CONNECT, _BIND, _LISTEN = 42, 49, 50
_MOST_ADDRESS = 128
_UNSPECIFIED = 0
_DNS = 53


class Policy(NamedTuple):
    """What a process may connect and bind to: (host or "", port or 0), and paths of Unix sockets or ""."""

    egress: tuple[tuple[str, int], ...] = ()
    listen: tuple[tuple[str, int], ...] = ()
    local: tuple[str, ...] = ()

    def connects(self, host: str, port: int) -> bool:
        """Whether it may connect to an address."""
        if _among(self.egress, host, port):
            return True
        named = any(one and not _is_address(one) for one, _ in self.egress)
        return named and port == _DNS and host in nameservers()

    def binds(self, host: str, port: int) -> bool:
        """Whether it may be reached at an address; without a port it is reached nowhere before it listens."""
        if port == 0 and (self.egress or any(not one for _, one in self.listen)):
            return True
        return _among(self.listen, host, port)


def _among(ends: Iterable[tuple[str, int]], host: str, port: int) -> bool:
    return any((not p or p == port) and (not h or host in addresses(h)) for h, p in ends)


def addresses(host: str) -> set[str]:
    """The addresses of a host as this machine knows them now."""
    if _is_address(host):
        return {_plain(host)}
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return set()
    return {_plain(str(entry[4][0]).partition("%")[0]) for entry in found}


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _plain(host: str) -> str:
    """One spelling of an address; one of IPv4 that is written as IPv6 is what it stands for."""
    found = ipaddress.ip_address(host)
    mapped = getattr(found, "ipv4_mapped", None)
    return str(mapped or found)


def nameservers() -> set[str]:
    """The addresses where names are looked up."""
    found = set()
    with contextlib.suppress(OSError), open("/etc/resolv.conf", encoding="utf-8", errors="replace") as file:
        for line in file:
            words = line.split()
            host = words[1].partition("%")[0] if len(words) > 1 and words[0] == "nameserver" else ""
            if _is_address(host):
                found.add(_plain(host))
    return found


def hand_over(listener: int, line: socket.socket) -> None:
    """Give the descriptor of one's own notifications to the process at the other end, and keep nothing."""
    line.sendall(struct.pack("=i", listener))
    line.recv(1)
    os.close(listener)
    line.close()


def serve(child: int, line: socket.socket, policy: Policy) -> None:
    """Answer for a child until it ends; runs in a thread of the process that waits for it."""
    said = line.recv(4)
    if len(said) < 4:
        return
    process = syscall(_PIDFD_OPEN, ctypes.c_int(child), ctypes.c_uint(0))
    (number,) = struct.unpack("=i", said)
    try:
        listener = syscall(_PIDFD_GETFD, ctypes.c_int(process), ctypes.c_int(number), ctypes.c_uint(0))
    except OSError:
        line.close()  # it goes on, and every call that is asked about fails
        return
    line.sendall(b"k")
    line.close()
    while True:
        notice = bytearray(_NOTICE.size)
        try:
            fcntl.ioctl(listener, _RECEIVE, notice)
        except InterruptedError:
            continue
        except FileNotFoundError:  # who asked is gone
            continue
        except OSError:
            return
        threading.Thread(
            target=_answered, args=(listener, process, bytes(notice), policy), daemon=True
        ).start()


def _answered(listener: int, process: int, notice: bytes, policy: Policy) -> None:
    key, pid, _, number, _, _, *arguments = _NOTICE.unpack(notice)
    try:
        failed = _done(listener, process, (key, pid, number), arguments=arguments, policy=policy)
    except OSError as problem:
        failed = problem.errno or errno.EPERM
    except ValueError:
        failed = errno.EPERM
    with contextlib.suppress(OSError):  # it ended meanwhile
        fcntl.ioctl(listener, _SEND, _ANSWER.pack(key, 0, -failed, 0))


def _done(
    listener: int, process: int, what: tuple[int, int, int], *, arguments: list[int], policy: Policy
) -> int:
    """Make the call where the policy has it; gives its errno."""
    key, pid, number = what
    address = b"" if number == _LISTEN else _copied(pid, arguments[1], arguments[2] & 0xFFFFFFFF)
    handle = _socket_of(process, pid, arguments[0] & 0xFFFFFFFF)
    try:
        fcntl.ioctl(listener, _VALID, struct.pack("=Q", key))  # else the memory was somebody else's
        if number == _LISTEN:
            return _listened(handle, arguments[1], policy)
        return _reached(handle, number, address, policy)
    finally:
        os.close(handle)


def _copied(pid: int, address: int, length: int) -> bytes:
    if not 2 <= length <= _MOST_ADDRESS:
        raise OSError(errno.EINVAL, "no address")
    buffer = ctypes.create_string_buffer(length)
    here = (ctypes.c_void_p * 2)(ctypes.addressof(buffer), length)
    there = (ctypes.c_void_p * 2)(address, length)
    got = libc().process_vm_readv(pid, here, ctypes.c_ulong(1), there, ctypes.c_ulong(1), ctypes.c_ulong(0))
    if got != length:
        raise OSError(errno.EFAULT, "no address")
    return buffer.raw[:length]


def _socket_of(process: int, pid: int, number: int) -> int:
    """The socket, as a descriptor of ours; threads share those of their process."""
    for flags in (0, _PIDFD_THREAD):
        with contextlib.suppress(OSError):
            owner = syscall(_PIDFD_OPEN, ctypes.c_int(pid), ctypes.c_uint(flags))
            try:
                return syscall(_PIDFD_GETFD, ctypes.c_int(owner), ctypes.c_int(number), ctypes.c_uint(0))
            finally:
                os.close(owner)
    return syscall(_PIDFD_GETFD, ctypes.c_int(process), ctypes.c_int(number), ctypes.c_uint(0))


def _reached(handle: int, number: int, address: bytes, policy: Policy) -> int:
    (family,) = struct.unpack_from("=H", address)
    if family == socket.AF_UNIX:
        return _local(handle, number, address, policy)
    if family == socket.AF_NETLINK or (family == _UNSPECIFIED and number == _CONNECT):
        return _call(handle, number, address)
    host, port = _internet(family, address)
    allowed = policy.connects(host, port) if number == _CONNECT else policy.binds(host, port)
    return _call(handle, number, address) if allowed else errno.EPERM


def _internet(family: int, address: bytes) -> tuple[str, int]:
    if family == socket.AF_INET and len(address) >= 8:
        raw = address[4:8]
    elif family == socket.AF_INET6 and len(address) >= 24:
        raw = address[8:24]
    else:
        raise OSError(errno.EPERM, "another family")
    return _plain(str(ipaddress.ip_address(raw))), int.from_bytes(address[2:4], "big")


def _local(handle: int, number: int, address: bytes, policy: Policy) -> int:
    """A Unix socket by path: opened first and compared then, so that no link leads elsewhere meanwhile."""
    path = os.fsdecode(address[2:].split(b"\0")[0])
    if "" in policy.local:
        return _call(handle, number, address)
    if not path.startswith("/") or number == _BIND:
        allowed = number == _BIND and path.startswith("/") and _below(os.path.realpath(path), policy)
        return _call(handle, number, address) if allowed else errno.EPERM
    found = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        real = os.readlink(f"/proc/self/fd/{found}")
        if not _below(real, policy) or not stat.S_ISSOCK(os.fstat(found).st_mode):
            return errno.EPERM
        return _call(handle, number, struct.pack("=H", socket.AF_UNIX) + f"/proc/self/fd/{found}\0".encode())
    finally:
        os.close(found)


def _below(path: str, policy: Policy) -> bool:
    real = [os.path.realpath(one) for one in policy.local]
    return any(path == one or path.startswith(one.rstrip("/") + "/") for one in real)


def _listened(handle: int, backlog: int, policy: Policy) -> int:
    """What it is bound to cannot change any more; without an address the kernel would choose a port."""
    with socket.socket(fileno=os.dup(handle)) as one:
        if one.family != socket.AF_UNIX:
            host, port = one.getsockname()[:2]
            if not _among(policy.listen, _plain(host), port):
                return errno.EPERM
    result = libc().listen(ctypes.c_int(handle), ctypes.c_int(backlog & 0x7FFFFFFF))
    return 0 if result == 0 else ctypes.get_errno()


def _call(handle: int, number: int, address: bytes) -> int:
    function = libc().connect if number == _CONNECT else libc().bind
    result = function(ctypes.c_int(handle), ctypes.c_char_p(address), ctypes.c_uint(len(address)))
    return 0 if result == 0 else ctypes.get_errno()
