"""Content hashes: BLAKE3 under a domain tag, so that a plan's hash is never a Step's by accident."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Protocol
else:
    Protocol = object  # importing `typing` costs a run as much as reading its plan

ALGORITHMS = ("blake3", "sha256")
_COPIED = 1 << 16
"""Bytes up to which copying them together is quicker than handing them over one by one."""


def digest(domain: str, *parts: bytes) -> str:
    """64 hex digits of BLAKE3 over the tag and the parts, each preceded by its length.

    Lengths keep `("ab", "c")` and `("a", "bc")` apart.
    """
    if sum(map(len, parts)) > _COPIED:
        return digest_joined(domain, *([part] for part in parts))
    return digest_framed([framed(part) for part in (domain.encode(), *parts)])


def framed(part: bytes) -> bytes:
    """A part of what is hashed, preceded by its length."""
    return len(part).to_bytes(8, "little") + part


def digest_framed(parts: Sequence[bytes]) -> str:
    """`digest` of a domain and parts that are framed already."""
    return blake3_of()(b"".join(parts)).hexdigest()


def blake3_of() -> Callable[[bytes | memoryview], Hasher]:
    """BLAKE3 of bytes, for who hashes so often that importing it each time would be felt."""
    from blake3 import blake3

    return blake3


def digest_joined(domain: str, *parts: Sequence[bytes | memoryview]) -> str:
    """The same of parts that are given in pieces, which need not be copied together."""
    from blake3 import blake3

    state = blake3()
    for pieces in ([domain.encode()], *parts):
        state.update(sum(map(len, pieces)).to_bytes(8, "little"))
        for piece in pieces:
            state.update(piece)
    return state.hexdigest()


class Hasher(Protocol):
    """What `hashlib` and `blake3` have in common."""

    def update(self, data: bytes, /) -> object:
        """Take more bytes in."""

    def hexdigest(self) -> str:
        """The hash of all bytes so far."""

    def digest(self) -> bytes:
        """The same as bytes."""


def hasher(algorithm: str) -> Hasher:
    """A fresh `blake3` or `sha256`, of bytes and nothing else: what `b3sum` and `sha256sum` print."""
    if algorithm == "sha256":
        from hashlib import sha256

        return sha256()
    from blake3 import blake3

    return blake3()
