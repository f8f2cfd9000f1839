"""The index: one sorted table of the objects of many packs. A cache: it is made anew from the packs.

`DSECIDX1`, digest of what follows (32), number of packs, of objects (8 each),
names of the packs (32 each), rows as in a pack, their last column the number of the pack
"""

from __future__ import annotations

import mmap
import os
import struct

from dsec.hashing import blake3_of
from dsec.store import scratch
from dsec.store.outcomes import Expected
from dsec.store.packform import OBJECT
from dsec.store.segment import Segment

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dsec.store.disk import Disk
    from dsec.store.packs import Packs

_HEAD = struct.Struct("<8s32sQQ")
_MAGIC = b"DSECIDX1"
_LOOSE = 24
"""So many packs beside the index are searched one by one before it is made anew."""


def which(path: str) -> tuple[int, int, int]:
    """Which file the index is: another one once it was made anew; zeros for none."""
    try:
        state = os.stat(path)
    except OSError:
        return 0, 0, 0
    return state.st_ino, state.st_mtime_ns, state.st_size


def load(path: str) -> tuple[Segment, tuple[str, ...]] | None:
    """The table, and the packs that it numbers; None for an index that is absent or damaged."""
    try:
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            head = file.read(_HEAD.size)
            if len(head) != _HEAD.size:
                return None
            buffer = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except OSError:
        return None
    magic, digest, packs, count = _HEAD.unpack(head)
    start = _HEAD.size + 32 * packs
    if magic != _MAGIC or start + count * OBJECT.size != size:
        return None
    if blake3_of()(memoryview(buffer)[40:]).digest() != digest:
        return None
    names = tuple(buffer[at : at + 32].hex() for at in range(_HEAD.size, start, 32))
    return Segment(buffer, start, count), names


def encoded(names: Sequence[str], rows: Sequence[bytes]) -> bytes:
    """The bytes of an index; rows must be sorted."""
    rest = struct.pack("<QQ", len(names), len(rows)) + bytes.fromhex("".join(names)) + b"".join(rows)
    return _MAGIC + blake3_of()(rest).digest() + rest


def refresh(packs: Packs, path: str) -> None:
    """Let `packs` know what its folder holds now; `path` is that of the index."""
    present, version = packs.names(), which(path)
    if packs.seen == (present, version):
        return
    found = load(path)
    packs.index, packs.indexed = None, ()
    if found is not None and set(found[1]) <= set(present):
        packs.index, packs.indexed = found
    for name in (set(packs.loose) - set(present)) | set(packs.indexed):
        packs.loose.pop(name, None)
        packs.own.discard(name)
    packs.add(name for name in present if name not in set(packs.indexed))
    packs.seen = present, version


def is_wanted(packs: Packs) -> bool:
    """Whether so much is not in the index that it should be made anew."""
    loose = sum(segment.size for segment in packs.loose.values())
    return len(packs.loose) > _LOOSE or (len(packs.loose) > 1 and loose > _rows(packs) // 2)


def save(packs: Packs, disk: Disk, path: str, *, aside: str) -> None:
    """Make the index anew; a failure costs time only."""
    with Expected(OSError):
        scratch.write_new(disk, aside, path, encoded(*merged(packs)), durable=False)
        refresh(packs, path)


def _rows(packs: Packs) -> int:
    return packs.index.size if packs.index is not None else 0


def merged(packs: Packs) -> tuple[tuple[str, ...], list[bytes]]:
    """Names and rows of an index of everything; of an object that is kept twice, the first pack's."""
    names = tuple(sorted((*packs.indexed, *packs.loose)))
    number = {name: at.to_bytes(4, "little") for at, name in enumerate(names)}
    found: dict[bytes, bytes] = {}
    if packs.index is not None:
        moved = [number[name] for name in packs.indexed]
        _take(found, packs.index.rows(), moved)
    for name in sorted(packs.loose):
        _take(found, packs.loose[name].rows(), [number[name]])
    return names, [found[one] for one in sorted(found)]


def _take(found: dict[bytes, bytes], rows: bytes, moved: Sequence[bytes]) -> None:
    many = len(moved) > 1
    for at in range(0, len(rows), OBJECT.size):
        row = rows[at : at + OBJECT.size]
        pack = moved[int.from_bytes(row[44:], "little")] if many else moved[0]
        found.setdefault(row[:32], row[:44] + pack)
