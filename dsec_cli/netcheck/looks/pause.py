"""Ethernet pause and priority flow control: whether they are on, and how often they stopped traffic."""

from __future__ import annotations

import ctypes
import fcntl
import socket
import struct

from dsec_cli.netcheck.facts import Look, Seen

_ETHTOOL, _PAUSE, _STRINGS, _STATS, _COUNTS = 0x8946, 0x12, 0x1B, 0x1D, 0x37
_STATISTICS, _NAME = 1, 32
_MOST = 4096
_WORDS = ("pause", "pfc", "cnp", "ecn")


def see(name: str) -> Seen:
    """By the ethtool interface of the kernel; needs no root."""
    if not name:
        return Seen("pause", (), "", "the path's interface is not known")
    values: list[tuple[str, int]] = []
    text = ""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        setting = _asked(sock, name, struct.pack("IIII", _PAUSE, 0, 0, 0))
        if setting is not None:
            _, negotiated, receive, send = struct.unpack("IIII", setting)
            text = f"receive {_on(receive)}, send {_on(send)}{', negotiated' if negotiated else ''}"
            values += [("rx_pause_on", receive), ("tx_pause_on", send)]
        values += _counters(sock, name)
    if not values:
        return Seen("pause", (), "", f"the driver of {name} has no pause frames to report")
    return Seen("pause", tuple(values), text, "")


def _on(value: int) -> str:
    return "on" if value else "off"


def _counters(sock: socket.socket, name: str) -> list[tuple[str, int]]:
    """The card's statistics that tell of pauses and congestion."""
    counted = _asked(sock, name, struct.pack("IIQI", _COUNTS, 0, 1 << _STATISTICS, 0))
    if counted is None:
        return []
    _, _, there, count = struct.unpack("IIQI", counted)
    if not there or not 0 < count <= _MOST:
        return []
    names = _asked(sock, name, struct.pack("III", _STRINGS, _STATISTICS, count) + bytes(count * _NAME))
    values = _asked(sock, name, struct.pack("II", _STATS, count) + bytes(count * 8))
    if names is None or values is None:
        return []
    found = []
    for at in range(count):
        word = names[12 + at * _NAME : 12 + (at + 1) * _NAME].split(b"\0")[0].decode("ascii", "replace")
        if any(part in word.lower() for part in _WORDS):
            found.append((word, struct.unpack_from("Q", values, 8 + at * 8)[0]))
    return found


def _asked(sock: socket.socket, name: str, question: bytes) -> bytes | None:
    """What the kernel wrote over `question`; None: the driver does not answer that."""
    room = ctypes.create_string_buffer(question, len(question))
    request = struct.pack("16sP16x", name.encode()[:15], ctypes.addressof(room))
    try:
        fcntl.ioctl(sock, _ETHTOOL, request)
    except OSError:
        return None
    return room.raw


LOOK = Look("pause", see)
