"""This host's end of a path: the interface of an address, its counters, and what its card can do."""

from __future__ import annotations

import fcntl
import os
import socket
import struct

from dsec.record import Record

_ADDRESS, _NETS = 0x8915, "sys/class/net"
_COUNTERS = (
    "rx_bytes",
    "tx_bytes",
    "rx_dropped",
    "tx_dropped",
    "rx_errors",
    "tx_errors",
    "rx_crc_errors",
    "rx_missed_errors",
)


class Interface(Record):
    """One network interface."""

    name: str
    """"": none has the address."""
    mtu_bytes: int | None
    speed_bps: int | None
    """As the driver says; virtual links say what they please."""
    duplex: str
    driver: str
    numa: int | None
    counters: tuple[tuple[str, int], ...]


NONE = Interface("", None, None, "", "", None, ())


def interface_of(address: str, *, root: str = "/") -> Interface:
    """The interface that has `address`, as sysfs describes it."""
    name = _name_of(address)
    return interface(name, root=root) if name else NONE


def _name_of(address: str) -> str:
    if ":" in address:
        return _name_of_six(address)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        for _, name in socket.if_nameindex():
            asked = struct.pack("256s", name.encode()[:15])
            try:
                found = fcntl.ioctl(sock, _ADDRESS, asked)
            except OSError:  # an interface without an address
                continue
            if socket.inet_ntoa(found[20:24]) == address:
                return name
    return "lo" if address.startswith("127.") else ""


def _name_of_six(address: str) -> str:
    wanted = socket.inet_pton(socket.AF_INET6, address.partition("%")[0]).hex()
    for line in _text("/", "proc/net/if_inet6").splitlines():
        words = line.split()
        if len(words) == 6 and words[0] == wanted:
            return words[5]
    return ""


def interface(name: str, *, root: str = "/") -> Interface:
    """One interface by name; what is not there or does not apply is None."""
    folder = f"{_NETS}/{name}"
    speed = _number(root, f"{folder}/speed")
    numa = _number(root, f"{folder}/device/numa_node")
    counts = ((key, _number(root, f"{folder}/statistics/{key}")) for key in _COUNTERS)
    return Interface(
        name=name,
        mtu_bytes=_number(root, f"{folder}/mtu") or _mtu(name, root),
        speed_bps=speed * 1_000_000 if speed is not None and speed > 0 else None,
        duplex=_text(root, f"{folder}/duplex").strip(),
        driver=os.path.basename(_target(root, f"{folder}/device/driver")),
        numa=numa if numa is not None and numa >= 0 else None,
        counters=tuple((key, count) for key, count in counts if count is not None),
    )


def _mtu(name: str, root: str) -> int | None:
    """The kernel's own answer, where /sys is missing."""
    if root != "/":
        return None
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        try:
            raw = fcntl.ioctl(sock, 0x8921, struct.pack("16sI12x", name.encode()[:15], 0))
        except OSError:
            return None
    return int(struct.unpack_from("I", raw, 16)[0])


def _target(root: str, path: str) -> str:
    try:
        return os.readlink(os.path.join(root, path))
    except OSError:
        return ""


def _number(root: str, path: str) -> int | None:
    try:
        return int(_text(root, path))
    except ValueError:
        return None


def _text(root: str, path: str) -> str:
    try:
        with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""
