"""Blocks without numpy: what changed in pieces of 4 KiB, compressed as it is. Standard library only.

Scattered changes cost a whole piece each, so a state of scattered changes is stored nearly whole.
"""

from __future__ import annotations

import struct

from dsec.state.blocks import EQUAL, PAGES, RAW, Encoded, Stored, cut, packed
from dsec.state.problems import StateError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

PIECE_BYTES = 4096
DECODED = (EQUAL, RAW, PAGES)
"""What is read without numpy."""
_PAIR = struct.Struct("<II")


def encode(now: memoryview, base: memoryview | None, compress: Callable[[Any], bytes]) -> Encoded:
    """The block in its cheapest encoding of those in DECODED."""
    stretches = [(0, len(now))] if base is None else _changed(now, base)
    count = sum(length for _, length in stretches)
    if not count:
        return Encoded(EQUAL, (), (), 0)
    heads = b"".join(_PAIR.pack(*stretch) for stretch in stretches)
    data = b"".join(now[first : first + length] for first, length in stretches)
    encoded = packed(PAGES, [data], compress, count)
    encoded = encoded._replace(parts=(heads, *encoded.parts), lengths=(len(heads), *encoded.lengths))
    changed = None if base is None else count
    if encoded.nbytes >= len(now):
        return Encoded(RAW, (now,), (len(now),), changed)
    return encoded


def _changed(now: memoryview, base: memoryview) -> list[tuple[int, int]]:
    """First byte and length of each stretch of pieces that differ."""
    mine, theirs = bytes(now), bytes(base)
    if mine == theirs:
        return []
    found: list[tuple[int, int]] = []
    for at in range(0, len(mine), PIECE_BYTES):
        end = min(at + PIECE_BYTES, len(mine))
        if mine[at:end] == theirs[at:end]:
            continue
        if found and sum(found[-1]) == at:
            found[-1] = (found[-1][0], end - found[-1][0])
        else:
            found.append((at, end - at))
    return found


def decode(stored: Stored, into: memoryview, expand: Callable[[Any, int], bytes]) -> None:
    """Make a block of one of the kinds in DECODED of its base, which lies in `into`; raises StateError."""
    if stored.kind == EQUAL:
        return
    if stored.kind == RAW:
        if len(stored.data) != len(into):
            raise StateError(f"a block has {len(stored.data)} bytes and not {len(into)}")
        into[:] = stored.data
        return
    (heads, _), (data, small) = _two(cut(stored))
    if len(heads) % _PAIR.size:
        raise StateError("a block's stretches are no pairs")
    stretches = list(_PAIR.iter_unpack(heads))
    if sum(length for _, length in stretches) != stored.changed or stored.changed > len(into):
        raise StateError("a block's stretches do not add up")
    if any(first + length > len(into) for first, length in stretches):
        raise StateError("a block's stretches reach beyond it")
    plain = memoryview(expand(data, stored.changed) if small else data)
    if len(plain) != stored.changed:
        raise StateError(f"a part of a block has {len(plain)} bytes and not {stored.changed}")
    at = 0
    for first, length in stretches:
        into[first : first + length] = plain[at : at + length]
        at += length


def _two(parts: list[tuple[memoryview, bool]]) -> list[tuple[memoryview, bool]]:
    if len(parts) != 2:
        raise StateError(f"a block has {len(parts)} parts and not 2")
    return parts
