"""Frames on the line to a plugin: a length, one byte for the kind, the bytes."""

from __future__ import annotations

import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket

CONFIG, READY, CALL, ANSWER, FAULT, END = b"cryafe"
HEAD = struct.Struct("<QB")
MOST_BYTES = 1 << 30
_AT_ONCE = 1 << 16


def send(link: socket.socket, kind: int, data: bytes) -> None:
    """Send one frame; raises OSError."""
    if len(data) <= _AT_ONCE:
        link.sendall(HEAD.pack(len(data), kind) + data)
        return
    link.sendall(HEAD.pack(len(data), kind))
    link.sendall(data)


def receive(link: socket.socket) -> tuple[int, bytes] | None:
    """The next frame; None: the other side is gone. Raises ValueError for what is no frame, OSError."""
    head = _exactly(link, HEAD.size)
    if head is None:
        return None
    length, kind = HEAD.unpack(head)
    if length > MOST_BYTES:
        raise ValueError(f"a frame of {length} bytes is none")
    data = _exactly(link, length)
    return None if data is None else (kind, data)


def _exactly(link: socket.socket, count: int) -> bytes | None:
    data = link.recv(min(count, _AT_ONCE)) if count else b""
    if len(data) == count:
        return data
    got = bytearray(data)
    while data and len(got) < count:
        data = link.recv(min(count - len(got), 1 << 20))
        got += data
    return bytes(got) if len(got) == count else None
