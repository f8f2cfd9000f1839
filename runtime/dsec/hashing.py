"""Content hashes: BLAKE3 under a domain tag, so that a plan's hash is never a Step's by accident."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol
else:
    Protocol = object  # importing `typing` costs a run as much as reading its plan

ALGORITHMS = ("blake3", "sha256")


def digest(domain: str, *parts: bytes) -> str:
    """64 hex digits of BLAKE3 over the tag and the parts, each preceded by its length.

    Lengths keep `("ab", "c")` and `("a", "bc")` apart.
    """
    from blake3 import blake3

    state = blake3(_framed(domain.encode()))
    for part in parts:
        state.update(_framed(part))
    return state.hexdigest()


def _framed(part: bytes) -> bytes:
    return len(part).to_bytes(8, "little") + part


class Hasher(Protocol):
    """What `hashlib` and `blake3` have in common."""

    def update(self, data: bytes, /) -> object:
        """Take more bytes in."""

    def hexdigest(self) -> str:
        """The hash of all bytes so far."""


def hasher(algorithm: str) -> Hasher:
    """A fresh `blake3` or `sha256`, of bytes and nothing else: what `b3sum` and `sha256sum` print."""
    if algorithm == "sha256":
        from hashlib import sha256

        return sha256()
    from blake3 import blake3

    return blake3()
