"""Content hashes: BLAKE3 under a domain tag, so that a plan's hash is never a Step's by accident."""

from __future__ import annotations


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
