"""The form of a pack: frames of compressed bytes, then a table of the objects in them.

    header   16 bytes: `DSECPACK`, version, oldest reader (2 bytes each), 4 bytes 0
    frames   one after the other
    objects  48 bytes each, ascending by id: id (32), frame, offset, length, kind (4 each)
    frames   36 bytes each: offset (8), stored, plain length, codec (4 each), digest (16)
    trailer  56 bytes: where the objects begin (8), number of objects, of frames (4 each),
             digest (32), `KCAPCESD`

Numbers are little-endian. An object is the `length` bytes from `offset` of its frame's content on,
and goes on in the frames that follow. A frame's digest is the first half of the BLAKE3 of what is
stored; the digest of the trailer is the BLAKE3 of header and tables, and is the pack's name.
"""

from __future__ import annotations

import struct

from dsec.hashing import blake3_of
from dsec.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

MAGIC, END = b"DSECPACK", b"KCAPCESD"
VERSION = 1
HEADER = struct.Struct("<8sHHI")
OBJECT = struct.Struct("<32sIIII")
FRAME = struct.Struct("<QIII16s")
TRAILER = struct.Struct("<QII32s8s")
LARGEST_FRAME = 1 << 24
"""No frame has more content than this; ours have less than 4 MiB."""
BLOB, TREE, LIST = 0, 1, 2
"""Kinds of objects, for those who count them: which one is meant is said where it is referred to."""


class PackError(Exception):
    """A pack is not as it was written; caught where it is read."""


class NewerPackError(Exception):
    """A pack was written by a newer version; caught where it is read."""


class CodecError(Exception):
    """Bytes do not decompress to what was promised; caught where the frame is read."""


class NoZstdError(Exception):
    """The data needs zstandard, which is not installed; caught where the frame is read."""


class Frame(Record):
    """Where a frame is, and what it holds."""

    offset: int
    stored: int
    plain: int
    codec: int
    digest: bytes


def header() -> bytes:
    """The first bytes of a pack."""
    return HEADER.pack(MAGIC, VERSION, VERSION, 0)


def ending(objects: Sequence[tuple[bytes, int, int, int, int]], frames: Sequence[Frame]) -> tuple[str, bytes]:
    """The name of a pack, and tables and trailer that go behind its frames. Objects must be sorted."""
    tables = b"".join(
        [OBJECT.pack(*one) for one in objects]
        + [FRAME.pack(one.offset, one.stored, one.plain, one.codec, one.digest) for one in frames]
    )
    begin = frames[-1].offset + frames[-1].stored if frames else HEADER.size
    digest = blake3_of()(header() + tables).digest()
    return digest.hex(), tables + TRAILER.pack(begin, len(objects), len(frames), digest, END)


class Tables(Record):
    """The tables of a pack."""

    objects: bytes
    """Rows of OBJECT, ascending."""
    frames: tuple[Frame, ...]
    name: str

    def __len__(self) -> int:
        return len(self.objects) // OBJECT.size


def where(trailer: bytes, size: int) -> tuple[int, int, int, bytes]:
    """From the last bytes of a file of `size`: where tables begin, objects, frames, digest."""
    if len(trailer) != TRAILER.size or size < HEADER.size + TRAILER.size:
        raise PackError("it is too short")
    begin, objects, frames, digest, end = TRAILER.unpack(trailer)
    if end != END:
        raise PackError("its end is missing")
    if begin < HEADER.size or begin + objects * OBJECT.size + frames * FRAME.size + TRAILER.size != size:
        raise PackError("its tables are not where its end says")
    return begin, objects, frames, digest


def check_header(head: bytes) -> None:
    """Raises PackError and NewerPackError."""
    if len(head) != HEADER.size:
        raise PackError("it is too short")
    magic, version, oldest, flags = HEADER.unpack(head)
    if magic != MAGIC or version < 1:
        raise PackError("its beginning is not that of a pack")
    if oldest > VERSION:
        raise NewerPackError
    if version == VERSION and (flags or oldest != VERSION):
        raise PackError("its beginning is not as it was written")


def read_tables(head: bytes, tables: bytes, place: tuple[int, int, int, bytes]) -> Tables:
    """The tables, checked against the digest and against each other."""
    _, count, _, digest = place
    state = blake3_of()(head)
    state.update(tables)
    if state.digest() != digest:
        raise PackError("its tables are damaged")
    cut = count * OBJECT.size
    return Tables(tables[:cut], read_frames(tables[cut:], place), digest.hex())


def read_frames(table: bytes, place: tuple[int, int, int, bytes]) -> tuple[Frame, ...]:
    """The table of frames, checked against itself alone: each frame has its own digest."""
    begin, _, frames, _ = place
    if len(table) != frames * FRAME.size:
        raise PackError("it is too short")
    rows = tuple(map(Frame._make, FRAME.iter_unpack(table)))
    at = HEADER.size
    for row in rows:
        if row.offset != at or row.plain > LARGEST_FRAME:
            raise PackError("its frames are not one after the other")
        at += row.stored
    if at != begin or len(rows) != frames:
        raise PackError("its frames do not end where its tables begin")
    return rows


def check_objects(tables: Tables) -> None:
    """Whether every object lies within the frames, and the ids ascend: for who did not write it himself."""
    ends, total = [], 0
    for frame in tables.frames:
        ends.append(total)
        total += frame.plain
    last = b""
    for name, frame, offset, length, _kind in OBJECT.iter_unpack(tables.objects):
        if name <= last or frame >= len(ends) or ends[frame] + offset + length > total:
            raise PackError("its objects are not where its table says")
        last = name
