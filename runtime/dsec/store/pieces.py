"""The form of a list: of what pieces a large file consists, and where it has holes. Pure.

`DSLS`, version (1), 3 bytes 0, number of runs (4), size of the file (8)
runs   40 bytes each: length (8), id of the piece (32); an id of zeros is a hole
"""

from __future__ import annotations

import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

PIECE_BYTES = 1 << 20
"""Large files are cut at multiples of this, so that a change in place costs its surroundings only."""
HOLE = bytes(32)
_HEAD = struct.Struct("<4sB3sIQ")
_RUN = struct.Struct("<Q32s")
_MAGIC, _VERSION = b"DSLS", 1


class ListError(Exception):
    """Bytes are no list; caught where they are read."""


def encoded(runs: Sequence[tuple[int, bytes]], size: int) -> bytes:
    """The list of these runs: length and id."""
    return _HEAD.pack(_MAGIC, _VERSION, b"\0\0\0", len(runs), size) + b"".join(
        [_RUN.pack(*run) for run in runs]
    )


def decoded(data: bytes) -> tuple[list[tuple[int, bytes]], int]:
    """The runs of a list and the size of its file; raises ListError."""
    if len(data) < _HEAD.size:
        raise ListError("it is too short")
    magic, version, zero, count, size = _HEAD.unpack_from(data)
    if magic != _MAGIC or zero != b"\0\0\0" or len(data) != _HEAD.size + count * _RUN.size:
        raise ListError("it is not a list of pieces")
    if version != _VERSION:
        raise ListError("it was written by a newer version of DSec")
    runs = list(_RUN.iter_unpack(data[_HEAD.size :]))
    if sum(length for length, _ in runs) != size or any(
        not length or (one != HOLE and length > PIECE_BYTES) for length, one in runs
    ):
        raise ListError("its pieces are not as long as it says")
    return runs, size
