"""The control channel of a measurement: both ends prove that they know the token, then every frame is sealed.

    client                                server
    {"format", "nonce"}            ->
                                   <-     {"nonce"}
    {"proof": HMAC(token, "client" + nonces)} ->
                                   <-     {"proof": HMAC(token, "server" + nonces)} or {"refused": why}

Afterwards a frame is its length (4 bytes), 16 bytes of HMAC-SHA256 over a counter and the payload, and
a JSON document. The keys of both directions derive from the token and both nonces, so nothing can be
replayed. The token itself never travels, and what the client proves it proves first: whoever does not
know the token learns nothing to try tokens on.
"""

from __future__ import annotations

import hmac
import json
import os
import socket
import struct
import time
from typing import Any

from dsec.errors import DSecError

FORMAT = "dsec.netcheck.wire/1"
LARGEST = 1 << 20
"""Bytes of one frame."""
HANDSHAKE_S = 5.0
"""For a whole greeting, however slowly its bytes come."""
SILENCE_MS = 5_000
"""How long sent bytes may stay unacknowledged before the other machine counts as gone."""
_GREETING = 4096
_MAC = 16
_USER_TIMEOUT = 18


class LineLost(DSecError):
    """The other end went away, or does not answer."""


class Stalled(LineLost):
    """A connection for data stands still, while the other end may well be there."""


class Blocked(LineLost):
    """A connection for data cannot be made, while the other end is there."""


class Refused(DSecError):
    """The other end does not want to measure with us, or we not with it."""


class Channel:
    """One sealed connection; frames in order, each at most once."""

    def __init__(self, sock: socket.socket, *, mine: bytes, theirs: bytes, session: bytes) -> None:
        self.sock = sock
        self.session = session
        """What data packets and connections of this measurement begin with."""
        self._mine, self._theirs = mine, theirs
        self._sent = self._got = 0

    def handed_over(self) -> dict[str, str]:
        """What another process needs to go on with it; only before the first frame."""
        assert self._sent == self._got == 0, "its counters would have to go along"
        keys = {"mine": self._mine, "theirs": self._theirs, "session": self.session}
        return {name: key.hex() for name, key in keys.items()}

    def send(self, document: dict[str, Any]) -> None:
        """Send one document; raises LineLost."""
        payload = json.dumps(document, separators=(",", ":")).encode()
        seal = _mac(self._mine, self._sent, payload)
        self._sent += 1
        _send(self.sock, struct.pack("!I", len(payload)) + seal + payload, within_s=HANDSHAKE_S)

    def receive(self, *, within_s: float) -> dict[str, Any]:
        """The next document; raises LineLost where none comes in time, or one that the peer did not seal."""
        size = struct.unpack("!I", _exactly(self.sock, 4, within_s=within_s))[0]
        if size > LARGEST:
            raise LineLost("the other end sent a frame that is too large")
        body = _exactly(self.sock, _MAC + size, within_s=within_s)
        if not hmac.compare_digest(body[:_MAC], _mac(self._theirs, self._got, body[_MAC:])):
            raise LineLost("a frame was changed on its way, or comes from somebody else")
        self._got += 1
        return _document(body[_MAC:])

    def ready(self) -> bool:
        """Whether something came, an end of the connection included."""
        import select

        return bool(select.select([self.sock], [], [], 0)[0])

    def close(self) -> None:
        """End the connection."""
        self.sock.close()


def taken_over(sock: socket.socket, keys: dict[str, str]) -> Channel:
    """The channel that another process has opened on this connection."""
    mine, theirs, session = (bytes.fromhex(keys[name]) for name in ("mine", "theirs", "session"))
    return Channel(sock, mine=mine, theirs=theirs, session=session)


def _mac(key: bytes, count: int, payload: bytes) -> bytes:
    return hmac.digest(key, struct.pack("!Q", count) + payload, "sha256")[:_MAC]


def _document(payload: bytes) -> dict[str, Any]:
    try:
        document = json.loads(payload)
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        raise LineLost("the other end does not speak netcheck's language")
    return document


def _send(sock: socket.socket, data: bytes, *, within_s: float) -> None:
    sock.settimeout(within_s)
    try:
        sock.sendall(data)
    except TimeoutError:
        raise LineLost(f"the other end took nothing for {within_s:g} s") from None
    except OSError as problem:
        raise LineLost(f"the connection broke: {problem.strerror or problem}") from None


def _exactly(sock: socket.socket, count: int, *, within_s: float, until: float | None = None) -> bytes:
    """So many bytes, the last of them in time: one that comes now and then prolongs nothing."""
    until = time.monotonic() + within_s if until is None else until
    parts: list[bytes] = []
    while count:
        sock.settimeout(max(0.001, until - time.monotonic()))
        try:
            part = sock.recv(min(count, 65536))
        except TimeoutError:
            raise LineLost(f"the other end did not answer within {within_s:g} s") from None
        except OSError as problem:
            raise LineLost(f"the connection broke: {problem.strerror or problem}") from None
        if not part:
            raise LineLost("the other end closed the connection")
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


def offer(sock: socket.socket, token: bytes) -> Channel:
    """The client's half; raises Refused where the tokens differ, LineLost where nobody understands us."""
    settle(sock)
    mine = os.urandom(16)
    _plain(sock, {"format": FORMAT, "nonce": mine.hex()})
    answer = _greeting(sock)
    _accepted(answer)
    theirs = _nonce(answer)
    _plain(sock, {"proof": _proof(token, b"client", mine + theirs)})
    answer = _greeting(sock)
    _accepted(answer)
    if not _proves(answer, _proof(token, b"server", mine + theirs)):
        raise Refused("the other end does not know the token", hint="give both ends one token file")
    return _channel(sock, token, mine + theirs, client=True)


def accept(sock: socket.socket, token: bytes) -> Channel:
    """The server's half; raises Refused where the client does not know the token."""
    settle(sock)
    hello = _greeting(sock)
    if hello.get("format") != FORMAT:
        _plain(sock, {"refused": f"this end speaks {FORMAT}"})
        raise Refused(f"the client speaks {str(hello.get('format'))[:40]!r}, not {FORMAT}")
    theirs, mine = _nonce(hello), os.urandom(16)
    _plain(sock, {"nonce": mine.hex()})
    proof = _greeting(sock)
    if not _proves(proof, _proof(token, b"client", theirs + mine)):
        _plain(sock, {"refused": "token"})
        raise Refused("the client does not know the token")
    _plain(sock, {"proof": _proof(token, b"server", theirs + mine)})
    return _channel(sock, token, theirs + mine, client=False)


def settle(sock: socket.socket) -> None:
    """Frames leave at once, and a machine that vanished is noticed."""
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setsockopt(socket.IPPROTO_TCP, _USER_TIMEOUT, SILENCE_MS)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 2)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 1)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 3)


def refuse(sock: socket.socket, why: str) -> None:
    """Say before any proof that nobody will measure here now."""
    try:
        _plain(sock, {"refused": why})
    except LineLost:
        return


def _plain(sock: socket.socket, document: dict[str, str]) -> None:
    _send(sock, json.dumps(document).encode() + b"\n", within_s=HANDSHAKE_S)


def _greeting(sock: socket.socket) -> dict[str, Any]:
    line, until = b"", time.monotonic() + HANDSHAKE_S
    while not line.endswith(b"\n"):
        if len(line) > _GREETING:
            raise LineLost("the other end does not speak netcheck's language")
        line += _exactly(sock, 1, within_s=HANDSHAKE_S, until=until)
    return _document(line)


def _accepted(answer: dict[str, Any]) -> None:
    why = answer.get("refused")
    if why == "token":
        raise Refused("the token differs from the other end's", hint="give both ends one token file")
    if why is not None:
        said = "".join(char if char.isprintable() else "?" for char in str(why)[:200])
        raise Refused(f"the other end refused: {said}")


def _nonce(document: dict[str, Any]) -> bytes:
    try:
        nonce = bytes.fromhex(str(document.get("nonce")))
    except ValueError:
        nonce = b""
    if len(nonce) != 16:
        raise LineLost("the other end does not speak netcheck's language")
    return nonce


def _proves(document: dict[str, Any], wanted: str) -> bool:
    return hmac.compare_digest(str(document.get("proof")).encode(errors="replace"), wanted.encode())


def _proof(token: bytes, who: bytes, nonces: bytes) -> str:
    return hmac.digest(token, b"proof:" + who + nonces, "sha256").hex()


def _channel(sock: socket.socket, token: bytes, nonces: bytes, *, client: bool) -> Channel:
    keys = [hmac.digest(token, name + nonces, "sha256") for name in (b"to-server", b"to-client", b"data")]
    mine, theirs = (keys[0], keys[1]) if client else (keys[1], keys[0])
    return Channel(sock, mine=mine, theirs=theirs, session=keys[2][:8])
