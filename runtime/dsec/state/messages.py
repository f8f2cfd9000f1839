"""What a training process and its writer say to each other: JSON preceded by its length."""

from __future__ import annotations

import json
import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from typing import Any

_LENGTH = struct.Struct("<Q")


def send(link: socket.socket, message: dict[str, Any]) -> None:
    """Say something; raises OSError when the other one is gone."""
    text = json.dumps(message).encode()
    link.sendall(_LENGTH.pack(len(text)) + text)


def receive(link: socket.socket) -> dict[str, Any] | None:
    """What the other one says next; None: it is gone. Raises TimeoutError where the link has a time-out."""
    head = _exactly(link, _LENGTH.size)
    text = _exactly(link, _LENGTH.unpack(head)[0]) if head is not None else None
    return None if text is None else dict(json.loads(text))


def _exactly(link: socket.socket, count: int) -> bytes | None:
    got = bytearray()
    while len(got) < count:
        try:
            more = link.recv(min(count - len(got), 1 << 20))
        except ConnectionError:
            return None
        if not more:
            return None
        got += more
    return bytes(got)


def readable(link: socket.socket, timeout_s: float) -> bool:
    """Whether something is to be read within so many seconds."""
    import select

    poll = select.poll()
    poll.register(link, select.POLLIN)
    return bool(poll.poll(timeout_s * 1000))
