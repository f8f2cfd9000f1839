"""Frames on the line to a plugin: a length, one byte for the kind, the bytes."""

from __future__ import annotations

import struct
import time

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


def receive(link: socket.socket, *, until: float | None = None) -> tuple[int, bytes] | None:
    """The next frame; None: the other side is gone. Raises ValueError for what is no frame, OSError.

    `until`: the monotonic time at which the whole of it must be there, else TimeoutError.
    """
    head = _exactly(link, HEAD.size, until)
    if head is None:
        return None
    length, kind = HEAD.unpack(head)
    if length > MOST_BYTES:
        raise ValueError(f"a frame of {length} bytes is none")
    data = _exactly(link, length, until)
    return None if data is None else (kind, data)


def _exactly(link: socket.socket, count: int, until: float | None) -> bytes | None:
    data = link.recv(min(count, _AT_ONCE)) if count else b""
    if len(data) == count:
        return data
    got = bytearray(data)
    while data and len(got) < count:
        if until is not None:
            _wait_no_longer(link, until)
        data = link.recv(min(count - len(got), 1 << 20))
        got += data
    return bytes(got) if len(got) == count else None


def _wait_no_longer(link: socket.socket, until: float) -> None:
    """Who sends a byte now and then does not get more time by it."""
    left = until - time.monotonic()
    if left <= 0:
        raise TimeoutError
    link.settimeout(left)
