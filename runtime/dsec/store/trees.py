"""The form of a tree: what is in one folder, ascending by the bytes of the names. Pure.

    `DSTR`, version (1), 3 bytes 0, number of entries (4)
    rows   55 bytes each: kind (1), length of the name (2), mode (4), mtime in ns (8, signed),
           size (8), id (32)
    names  one after the other
    extras of links: where they lead, `size` bytes; of files in pieces: the id of their list

Kinds: `f` file, `p` file in pieces, `d` folder (its id is its tree's), `l` link (its id is the
BLAKE3 of where it leads). Numbers are little-endian. A tree's id is the BLAKE3 of these bytes.
"""

from __future__ import annotations

import itertools
import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    Row = tuple[bytes, int, int, int, int, bytes, bytes]
    """Name, kind, mode, mtime in ns, size, id, extra."""

FILE, PIECES, FOLDER, LINK = b"fpdl"
DEEPEST = 2000
"""Trees in each other; a system's longest path allows 2048 folders."""
_HEAD = struct.Struct("<4sB3sI")
_ROW = struct.Struct("<BHIqQ32s")
_ANY = struct.Struct("55s")
"""A row as it is."""
_ID = struct.Struct("<B22x32s")
"""Of a row, kind and id alone."""
_FEW = 8
_MAGIC, _VERSION = b"DSTR", 1
_KINDS = frozenset((FILE, PIECES, FOLDER, LINK))
_NO_NAMES = frozenset((b"", b".", b".."))
_LONGEST_LINK = 1 << 16
_MODES = 0o1777
"""Permissions and the sticky bit; what makes a program run as someone else is never kept."""


class TreeError(Exception):
    """Bytes are no tree; caught where they are read."""


def encoded(rows: Sequence[Row]) -> bytes:
    """The tree of these rows, which must be sorted by name."""
    return b"".join((
        _HEAD.pack(_MAGIC, _VERSION, b"\0\0\0", len(rows)),
        *[_ROW.pack(kind, len(name), mode, time, size, one) for name, kind, mode, time, size, one, _ in rows],
        *[row[0] for row in rows],
        *[row[6] for row in rows if row[6]],
    ))  # fmt: skip


def decoded(data: bytes) -> list[Row]:
    """The rows of a tree; raises TreeError at anything that `encoded` would not have written.

    Column by column: an interpreted step for each check of each row would take most of a comparison's time.
    """
    count = _count(data)
    at = _HEAD.size + count * _ROW.size
    if len(data) < at:
        raise TreeError("it is too short")
    if not count:
        if len(data) != at:
            raise TreeError("it is not as long as it says")
        return []
    kinds, lengths, modes, mtimes, sizes, ids = zip(*_ROW.iter_unpack(data[_HEAD.size : at]), strict=True)
    edges = list(itertools.accumulate(lengths, initial=at))
    names = [data[low:high] for low, high in itertools.pairwise(edges)]
    _check_names(data[at : edges[-1]], names)
    if max(modes) > _MODES or any(mode & ~_MODES for mode in set(modes)) or not _KINDS.issuperset(kinds):
        raise TreeError("an entry is of no kind that this version knows")
    extras, end = _extras(data, edges[-1], kinds, sizes)
    if end != len(data):
        raise TreeError("it is not as long as it says")
    return list(zip(names, kinds, modes, mtimes, sizes, ids, extras, strict=True))


def named(data: bytes) -> tuple[list[bytes], list[bytes]] | None:
    """Ids of the folders and of the files in a tree; None for one that needs `decoded`. Raises TreeError.

    Names are not looked at: for who only asks whether everything is there.
    """
    end = _HEAD.size + _count(data) * _ROW.size
    if len(data) < end:
        raise TreeError("it is too short")
    found = list(_ID.iter_unpack(data[_HEAD.size : end]))
    if any(kind not in (FILE, FOLDER) for kind, _ in found):
        return None
    return [one for kind, one in found if kind == FOLDER], [one for kind, one in found if kind == FILE]


def differing(before: bytes, after: bytes) -> tuple[list[Row], list[Row]]:
    """The rows that only the one and only the other of two trees has; raises TreeError.

    Where names are the same, rows are compared as bytes, and only those that differ are looked at.
    """
    found = _same_names(before, after)
    if found is None:
        old, new = set(decoded(before)), set(decoded(after))
        return sorted(old - new), sorted(new - old)
    names = [row[0] for row in found[0]]
    joined = b"".join(names)
    if b"/" in joined or b"\0" in joined or not _NO_NAMES.isdisjoint(names):
        raise TreeError("its names are not what names of files are")
    for row in (*found[0], *found[1]):
        if row[2] & ~_MODES:
            raise TreeError("an entry is of no kind that this version knows")
    return found


def _same_names(before: bytes, after: bytes) -> tuple[list[Row], list[Row]] | None:
    """The same for trees with equal names, of which what differs are files and folders; None for others."""
    count = _count(before)
    end = _HEAD.size + count * _ROW.size
    if before[: _HEAD.size] != after[: _HEAD.size] or before[end:] != after[end:] or len(before) < end:
        return None
    low, high = before[_HEAD.size + 1 : end : _ROW.size], before[_HEAD.size + 2 : end : _ROW.size]
    old: list[Row] = []
    new: list[Row] = []
    at, done = end, 0
    for number in _unlike(before[_HEAD.size : end], after[_HEAD.size : end]):
        at += sum(low[done:number]) + (sum(high[done:number]) << 8)
        done = number
        place = _HEAD.size + number * _ROW.size
        was, now = _ROW.unpack_from(before, place), _ROW.unpack_from(after, place)
        if was[1] != now[1] or was[0] not in (FILE, FOLDER) or now[0] not in (FILE, FOLDER):
            return None
        name = before[at : at + was[1]]
        old.append((name, was[0], *was[2:], b""))
        new.append((name, now[0], *now[2:], b""))
    return (old, new) if at + sum(low[done:]) + (sum(high[done:]) << 8) <= len(before) else None


def _unlike(before: bytes, after: bytes) -> list[int]:
    """Numbers of the rows that differ; the first few, which mostly are all, by halving what differs."""
    found: list[int] = []
    width, at = _ROW.size, 0
    while before[at * width :] != after[at * width :]:
        if len(found) == _FEW:
            pairs = zip(_ANY.iter_unpack(before), _ANY.iter_unpack(after), strict=True)
            return [number for number, (one, other) in enumerate(pairs) if one != other]
        end = len(before) // width
        while end - at > 1:
            middle = (at + end) // 2
            if before[at * width : middle * width] == after[at * width : middle * width]:
                at = middle
            else:
                end = middle
        found.append(at)
        at += 1
    return found


def _count(data: bytes) -> int:
    if len(data) < _HEAD.size:
        raise TreeError("it is too short")
    magic, version, zero, count = _HEAD.unpack_from(data)
    if magic != _MAGIC or zero != b"\0\0\0":
        raise TreeError("it is not a tree")
    if version != _VERSION:
        raise TreeError("it was written by a newer version of DSec")
    return int(count)


def _check_names(joined: bytes, names: list[bytes]) -> None:
    known = set(names)
    if b"/" in joined or b"\0" in joined or names != sorted(known) or not known.isdisjoint(_NO_NAMES):
        raise TreeError("its names are not what names of files are, or not in order")


def _extras(data: bytes, at: int, kinds: Sequence[int], sizes: Sequence[int]) -> tuple[Sequence[bytes], int]:
    """Of each row, and where they end."""
    if LINK not in kinds and PIECES not in kinds:
        return [b""] * len(kinds), at
    found = []
    for kind, size in zip(kinds, sizes, strict=True):
        if kind == LINK and not 0 < size <= _LONGEST_LINK:
            raise TreeError("a link leads nowhere")
        more = 32 if kind == PIECES else size if kind == LINK else 0
        found.append(data[at : at + more])
        at += more
    return found, at


def kept_mode(mode: int) -> int:
    """What is kept of a file's mode."""
    return mode & _MODES
