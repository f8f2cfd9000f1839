"""Ways to spoil a file: line ends, a mark, one byte, an end too early, slices."""

from __future__ import annotations

import random
from collections.abc import Callable


def _as_crlf(data: bytes, _: random.Random) -> bytes:
    return data.replace(b"\n", b"\r\n")


def _with_mark(data: bytes, _: random.Random) -> bytes:
    return b"\xef\xbb\xbf" + data


def _byte(data: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(data) + 1)
    return data[:at] + bytes([chance.randrange(256)]) + data[at + 1 :]


def _truncated(data: bytes, chance: random.Random) -> bytes:
    return data[: chance.randrange(len(data) + 1)]


def _slices(data: bytes, chance: random.Random) -> bytes:
    cuts = sorted(chance.randrange(len(data) + 1) for _ in range(4))
    return data[cuts[0] : cuts[1]] + data[cuts[2] :] + data[: cuts[3]]


CHANGES: dict[str, Callable[[bytes, random.Random], bytes]] = {
    "crlf": _as_crlf,
    "mark": _with_mark,
    "byte": _byte,
    "truncated": _truncated,
    "slices": _slices,
}


DRAWN = ("byte", "truncated", "slices")
"""Changes that are another one under another name; the others are always the same."""


def changed(data: bytes, name: str, change: str) -> bytes:
    """`data` changed in a way that is the same each time."""
    return CHANGES[change](data, random.Random(f"{name} {change}"))
