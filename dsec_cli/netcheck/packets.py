"""Datagrams of a measurement: their layout, and sockets that see marks, sizes and times.

Layout (big endian): 8 bytes of the session, kind, the type-of-service byte that the request arrived
with, length (2 bytes), number (4), nanoseconds of the sender's clock (8); then padding.
"""

from __future__ import annotations

import errno
import os
import socket
import struct

from dsec.record import Record

HEAD = struct.Struct("!8sBBHIQ")
PING, PONG, WANT, WANTED, TOO_LONG, DATA, GOT = range(1, 8)
ECT = 0b10
CE = 0b11
LEAST = HEAD.size

_RECVERR, _RECVTOS, _TOS, _DISCOVER, _PROBE, _MTU = 11, 13, 1, 10, 3, 14
_RECVERR6, _RECVTCLASS, _TCLASS, _DISCOVER6, _DONTFRAG, _MTU6 = 25, 66, 67, 23, 62, 24
_TIMESTAMPNS, _RXQ_OVFL = 35, 40
_RCVBUFFORCE, _SNDBUFFORCE = 33, 32
_ROOM = socket.CMSG_SPACE(16) + socket.CMSG_SPACE(4) * 3
_ERRORS = 0x2000
"""MSG_ERRQUEUE."""
_IP4, _IP6 = 28, 48
"""Bytes of IP and UDP headers."""
_WANTED_ROOM = 8 << 20


class Arrived(Record):
    """One datagram as it came."""

    data: bytes
    tos: int
    at_ns: int
    """By the kernel's clock; 0: it did not say."""
    overflowed: int
    """Datagrams that this socket has lost so far because nobody fetched them."""
    source: tuple[str, int]


class Complaint(Record):
    """What the network (or this host) said about a datagram that was too long."""

    by: str
    """Address of who said it; "": this host."""
    mtu: int


def headers(family: int) -> int:
    """Bytes that IP and UDP add to a payload."""
    return _IP6 if family == socket.AF_INET6 else _IP4


def open_socket(family: int, address: str, port: int = 0) -> socket.socket:
    """A bound UDP socket: its datagrams are never fragmented, are marked ECT(0), and complaints are kept."""
    sock = socket.socket(family, socket.SOCK_DGRAM)
    six, four = socket.IPPROTO_IPV6, socket.IPPROTO_IP
    options = [(four, _DISCOVER, _PROBE), (four, _RECVERR, 1), (four, _RECVTOS, 1), (four, _TOS, ECT)]
    if family == socket.AF_INET6:
        options = [(six, _DISCOVER6, _PROBE), (six, _DONTFRAG, 1), (six, _RECVERR6, 1)]
        options += [(six, _RECVTCLASS, 1), (six, _TCLASS, ECT)]
    base = socket.SOL_SOCKET
    for level, name, value in (*options, (base, _TIMESTAMPNS, 1), (base, _RXQ_OVFL, 1)):
        sock.setsockopt(level, name, value)
    _make_room(sock, _RCVBUFFORCE, socket.SO_RCVBUF)
    sock.bind((address, port))
    return sock


def let_cut(sock: socket.socket) -> None:
    """From now on datagrams of this socket may be cut into fragments."""
    if sock.family == socket.AF_INET6:
        sock.setsockopt(socket.IPPROTO_IPV6, _DISCOVER6, 0)
        sock.setsockopt(socket.IPPROTO_IPV6, _DONTFRAG, 0)
    else:
        sock.setsockopt(socket.IPPROTO_IP, _DISCOVER, 0)


def _make_room(sock: socket.socket, forced: int, plain: int) -> None:
    """As much buffer as may be had: root may exceed the system's limit."""
    try:
        sock.setsockopt(socket.SOL_SOCKET, forced, _WANTED_ROOM)
    except OSError:
        sock.setsockopt(socket.SOL_SOCKET, plain, _WANTED_ROOM)


def packet(
    session: bytes, kind: int, number: int, *, size: int = LEAST, tos: int = 0, at_ns: int = 0
) -> bytes:
    """A datagram's payload of `size` bytes."""
    return HEAD.pack(session, kind, tos, min(size, 65535), number, at_ns).ljust(size, b"\0")


def receive(sock: socket.socket, most: int = 65536) -> Arrived | None:
    """One datagram; None when there is none, or only a complaint."""
    try:
        data, rows, _, source = sock.recvmsg(most, _ROOM)
    except OSError as problem:
        if problem.errno in (errno.EAGAIN, errno.EMSGSIZE, errno.ECONNREFUSED, errno.EHOSTUNREACH):
            return None
        raise
    tos = at_ns = overflowed = 0
    for level, kind, raw in rows:
        if level == socket.SOL_SOCKET and kind == _TIMESTAMPNS and len(raw) >= 16:
            seconds, nanos = struct.unpack("qq", raw[:16])
            at_ns = seconds * 1_000_000_000 + nanos
        elif level == socket.SOL_SOCKET and kind == _RXQ_OVFL:
            overflowed = int.from_bytes(raw[:4], "little")
        elif kind in (_TOS, _TCLASS):
            tos = raw[0]
    return Arrived(data, tos, at_ns, overflowed, source[:2])


def complaints(sock: socket.socket) -> list[Complaint]:
    """What the kernel kept about datagrams that were too long; it is forgotten then."""
    found: list[Complaint] = []
    while True:
        try:
            _, rows, _, _ = sock.recvmsg(0, 512, _ERRORS | socket.MSG_DONTWAIT)
        except OSError:
            return found
        for _, kind, raw in rows:
            if kind in (_RECVERR, _RECVERR6) and len(raw) >= 16:
                found += _complaint(raw)


def _complaint(raw: bytes) -> list[Complaint]:
    number, origin, _, _, _, mtu = struct.unpack("IBBBBI", raw[:12])
    if number != errno.EMSGSIZE:
        return []
    if origin == 1:
        return [Complaint("", mtu)]
    if len(raw) >= 24 and struct.unpack("H", raw[16:18])[0] == socket.AF_INET:
        return [Complaint(socket.inet_ntop(socket.AF_INET, raw[20:24]), mtu)]
    if len(raw) >= 40:
        return [Complaint(socket.inet_ntop(socket.AF_INET6, raw[24:40]), mtu)]
    return [Complaint("?", mtu)]


def path_mtu(peer: tuple[str, int], family: int) -> int | None:
    """What the kernel believes of the path to `peer`, from routes and complaints."""
    level, option = (socket.IPPROTO_IPV6, _MTU6) if family == socket.AF_INET6 else (socket.IPPROTO_IP, _MTU)
    with socket.socket(family, socket.SOCK_DGRAM) as sock:
        try:
            sock.connect(peer)
            return sock.getsockopt(level, option)
        except OSError:
            return None


def dropped(sock: socket.socket) -> int:
    """Datagrams that this socket lost because nobody fetched them, by the kernel's table; 0: no table.

    `overflowed` of the last datagram does not know of those that came after it.
    """
    name = "/proc/net/udp6" if sock.family == socket.AF_INET6 else "/proc/net/udp"
    port = f":{sock.getsockname()[1]:04X}"
    try:
        with open(name, encoding="ascii") as file:
            rows = [line.split() for line in file]
    except OSError:
        return 0
    mine = [row[12] for row in rows if len(row) > 12 and row[1].endswith(port)]
    return sum(int(count) for count in mine if count.isdecimal())


def backlogged() -> int:
    """Packets that this host dropped before any socket, since it was started: it was too busy."""
    try:
        with open("/proc/net/softnet_stat", encoding="ascii") as file:
            return sum(int(line.split()[1], 16) for line in file)
    except (OSError, ValueError, IndexError):
        return 0


def damaged() -> int:
    """Packets that this kernel dropped because a checksum was wrong, since it was started."""
    found = 0
    for name, wanted in (
        ("snmp", ("Udp:InCsumErrors", "Ip:InHdrErrors")),
        ("netstat", ("IpExt:InCsumErrors",)),
    ):
        counts = protocol_counts(f"/proc/net/{name}")
        found += sum(counts.get(key, 0) for key in wanted)
    return found + protocol_counts6("/proc/net/snmp6").get("Udp6InCsumErrors", 0)


def protocol_counts(path: str) -> dict[str, int]:
    """Counters of a table like /proc/net/snmp, as `Udp:InErrors`; nothing where it cannot be read."""
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            lines = [line.split() for line in file]
    except OSError:
        return {}
    found: dict[str, int] = {}
    for names, values in zip(lines[::2], lines[1::2], strict=False):
        if names and values and names[0] == values[0]:
            pairs = zip(names[1:], values[1:], strict=False)
            found |= {names[0] + name: int(text) for name, text in pairs if text.lstrip("-").isdecimal()}
    return found


def protocol_counts6(path: str) -> dict[str, int]:
    """Counters of /proc/net/snmp6: one name and number a line."""
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            rows = [line.split() for line in file]
    except OSError:
        return {}
    return {row[0]: int(row[1]) for row in rows if len(row) == 2 and row[1].isdecimal()}


def try_send(sock: socket.socket, data: bytes, peer: tuple[str, int]) -> int:
    """Send once; 0, or the errno. A complaint about an earlier datagram does not count for this one."""
    for _ in range(3):
        try:
            sock.sendto(data, peer)
        except OSError as problem:
            number = problem.errno or errno.EIO
            if number in (errno.ECONNREFUSED, errno.EHOSTUNREACH):
                continue
            if number == errno.EMSGSIZE and any(one.by for one in complaints(sock)):
                continue
            return number
        return 0
    return errno.ECONNREFUSED


def error_name(number: int) -> str:
    """As C programs call it."""
    return errno.errorcode.get(number, os.strerror(number))
