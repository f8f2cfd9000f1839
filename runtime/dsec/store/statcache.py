"""What a folder looked like when it was last taken in, so that what did not change is not read again.

One file for each root. For every folder it holds the names and the inodes' facts in the order in
which the system gave them, and the tree that was made of them: a folder where both are the same is
done without a look at its files. A file whose times are within two seconds of the look is noted
with times that nothing has, so that it is read again the next time: it may change within the
same tick without being seen to.

    `DSECSEE2`, digest of what follows (32), number of packs, of folders (8 each), the whole (96), names of
    packs (32 each), then for each folder the lengths of its five parts (4 each), files, folders, links and
    bytes in it (8 each), and the id of its tree (32); then all parts in a row: path, names joined by 0, facts
    (40 bytes each), tree, ids of folders in it (32 each)

The whole is a digest of all that was named and how it looked, files, folders, links and bytes in it, and the
id of its tree: where whoever names files has looked at them all, one comparison tells that nothing
changed. It is zeros when that cannot be known.

It is a cache: when anything about it is not right, everything is read.
"""

from __future__ import annotations

import itertools
import struct

from dsec.hashing import blake3_of
from dsec.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

_MAGIC = b"DSECSEE2"
_COUNTS = struct.Struct("<QQ")
_WHOLE = struct.Struct("<32s4Q32s")
_START = 8 + 32 + _COUNTS.size + _WHOLE.size
_PARTS = struct.Struct("<5I4Q32s")
FACTS = struct.Struct("<5q")
"""Of one inode: size, mtime, ctime (ns), number, mode."""
LOOK = struct.Struct(f"{FACTS.size}s")
"""The same as it is."""
_RACY_NS = 2_000_000_000
_NEVER = -(1 << 63)
"""An mtime that no file has."""


class Seen(Record):
    """One folder as it was."""

    names: bytes
    facts: bytes
    tree: bytes
    children: bytes
    counts: tuple[int, int, int, int]
    """Files, folders, links, and bytes of files, in the folder itself."""
    id: bytes
    """Of its tree."""

    def by_name(self) -> dict[bytes, bytes]:
        """The facts of each name."""
        names = self.names.split(b"\0") if self.facts else []
        cuts = range(0, len(self.facts), FACTS.size)
        return {name: self.facts[at : at + FACTS.size] for name, at in zip(names, cuts, strict=True)}


class Whole(Record):
    """All that was taken in at once."""

    look: bytes
    """Digest of what was named and how it looked; b"": unknown."""
    counts: tuple[int, int, int, int]
    id: bytes


NO_WHOLE = Whole(b"", (0, 0, 0, 0), b"")


class Same(Record):
    """What is known of a folder that looks as it did."""

    children: bytes
    counts: tuple[int, int, int, int]
    id: bytes


def settled(facts: bytes, flat: Sequence[int], looked_ns: int, failed: set[int]) -> bytes:
    """The facts to remember: those of files that may still change unseen are made to fit nothing.

    So are those of the names, by their number, that could not be read. `flat` are the same facts.
    """
    latest = looked_ns - _RACY_NS
    if not failed and max(flat[1::5], default=latest - 1) < latest > max(flat[2::5], default=latest - 1):
        return facts
    flat = list(flat)
    for at in range(0, len(flat), 5):
        if flat[at + 1] >= latest or flat[at + 2] >= latest or at // 5 in failed:
            flat[at + 1] = _NEVER
    return struct.pack(f"<{len(flat)}q", *flat)


class StatCache:
    """Folders by their path from the root."""

    def __init__(self, data: bytes = b"", present: frozenset[str] = frozenset()) -> None:
        """Of a file's bytes, if they are right; `present` are the packs that the store has now."""
        self._data = data
        self.vouched = False
        """Whether everything that it speaks of is still in the store: no pack is gone since."""
        self.whole = NO_WHOLE
        self._known: dict[bytes, tuple[int, Any]] | None = None
        if (
            len(data) < _START
            or data[:8] != _MAGIC
            or blake3_of()(memoryview(data)[40:]).digest() != data[8:40]
        ):
            self._known = {}
            return
        packs, _ = _COUNTS.unpack_from(data, 40)
        look, *counts, one = _WHOLE.unpack_from(data, 40 + _COUNTS.size)
        if any(look):
            self.whole = Whole(look, tuple(counts), one)
        names = {data[at : at + 32].hex() for at in range(_START, _START + 32 * packs, 32)}
        self.vouched = names <= present

    @property
    def _cuts(self) -> dict[bytes, tuple[int, Any]]:
        """Where each folder's parts begin, and how long they are; read once somebody asks."""
        if self._known is None:
            self._known = {}
            self._read(self._known)
        return self._known

    def _read(self, known: dict[bytes, tuple[int, Any]]) -> None:
        packs, count = _COUNTS.unpack_from(self._data, 40)
        start = _START + 32 * packs
        at = start + count * _PARTS.size
        for row in _PARTS.iter_unpack(self._data[start:at]):
            known[self._data[at : at + row[0]]] = (at + row[0], row)
            at += row[0] + row[1] + row[2] + row[3] + row[4]

    def __len__(self) -> int:
        return len(self._cuts)

    def same(self, path: bytes, names: bytes, facts: bytes) -> Same | None:
        """What is known of the folder, if it looks as it did and all of it is in the store."""
        if (cut := self._cuts.get(path)) is None or not self.vouched:
            return None
        at, row = cut
        middle = at + row[1]
        end = middle + row[2]
        if self._data[at:middle] != names or self._data[middle:end] != facts:
            return None
        end += row[3]
        return Same._make((self._data[end : end + row[4]], row[5:9], row[9]))

    def packed(self, path: bytes) -> tuple[bytes, bytes]:
        """A folder that is known, as it was read."""
        at, row = self._cuts[path]
        return _PARTS.pack(*row), self._data[at - row[0] : at + sum(row[1:5])]

    def get(self, path: bytes) -> Seen | None:
        """The folder as it was."""
        if (cut := self._cuts.get(path)) is None:
            return None
        at, row = cut
        edges = tuple(itertools.accumulate(row[1:5], initial=at))
        names, facts, tree, children = (self._data[low:high] for low, high in itertools.pairwise(edges))
        return Seen(names, facts, tree, children, row[5:9], row[9])


def packed(path: bytes, seen: Seen) -> tuple[bytes, bytes]:
    """A folder as `encoded` takes it: lengths and counts, and all its parts."""
    row = (path, seen.names, seen.facts, seen.tree, seen.children)
    return _PARTS.pack(*map(len, row), *seen.counts, seen.id), b"".join(row)


def encoded(folders: Iterable[tuple[bytes, bytes]], packs: Sequence[str], whole: Whole = NO_WHOLE) -> bytes:
    """The file of these `packed` folders, whose objects are in these packs."""
    rows = list(folders)
    lengths, parts = zip(*rows, strict=True) if rows else ((), ())
    rest = b"".join((
        _COUNTS.pack(len(packs), len(lengths)), _WHOLE.pack(whole.look, *whole.counts, whole.id),
        bytes.fromhex("".join(packs)), *lengths, *parts,
    ))  # fmt: skip
    return _MAGIC + blake3_of()(rest).digest() + rest
