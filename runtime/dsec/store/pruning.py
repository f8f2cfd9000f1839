"""Freeing what no record needs, pack by pack: it may stop anywhere, and never needs twice the space."""

from __future__ import annotations

import os

from dsec.hashing import blake3_of
from dsec.store.packform import OBJECT
from dsec.store.packs import Place
from dsec.store.packwriter import PACK_BYTES
from dsec.store.values import StoreProblem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec.store.disk import Disk
    from dsec.store.packs import Packs
    from dsec.store.packwriter import PackWriter

    Part = tuple[bytes, int, int, int]

_WASTE = 0.2
"""A pack of which more than this part is not needed is written anew."""
_SMALL = PACK_BYTES // 4
"""Packs smaller than this are put together when there are several."""
_SPARE = 4 << 20
"""Free space that rewriting leaves alone."""


class _Pack:
    """What of a pack is needed."""

    def __init__(self, name: str, size: int) -> None:
        self.name, self.size = name, size
        self.plain = self.needed = 0
        self.parts: dict[int, list[Part]] = {}
        """Of each frame, the objects that are needed: id, offset, length, kind."""
        self.whole: set[int] = set()
        """Frames that are needed from end to end."""


class Freed:
    """What pruning did to packs."""

    def __init__(self) -> None:
        self.packs = 0
        self.stopped = False
        """Whether rewriting stopped because too little space was free."""


class Pruner:
    """The packs of a store that nobody else writes to."""

    def __init__(self, packs: Packs, disk: Disk, writer: PackWriter, written: set[str]) -> None:
        """`written`: names of the packs that the writer made; one may be that of a pack to be replaced."""
        self.packs, self.disk, self.writer, self.written = packs, disk, writer, written
        self.freed = Freed()

    def free(self, live: set[bytes]) -> Freed:
        """Remove packs that nothing needs, then write anew those with much that nothing needs."""
        placed, kept, gone = set[bytes](), list[_Pack](), list[_Pack]()
        lost = any(one not in self.packs for one in live)
        for name in self.packs.names():
            try:
                pack = _survey(self.packs, name, live, placed)
            except StoreProblem:
                # What it holds cannot be told: it may go when nothing is missing that it could hold.
                pack = _Pack(name, 0)
                if lost:
                    continue
            (kept if pack.parts else gone).append(pack)
        self._remove(gone)
        for group in _groups(kept):
            if not _fits(self.packs.folder, group):
                self.freed.stopped = True
                break
            self._rewrite(group)
        return self.freed

    def _rewrite(self, group: list[_Pack]) -> None:
        """Put what a few packs have that is needed into new ones, and only then remove them."""
        for pack in group:
            for number in sorted(pack.parts):
                self._copy(pack, number)
        self.writer.flush()
        self._remove(group)

    def _copy(self, pack: _Pack, number: int) -> None:
        """The objects of one frame that are needed; raises Damaged: what is copied must be right."""
        parts = sorted(pack.parts[number], key=lambda part: part[1])
        if number in pack.whole:
            self.packs.frame(pack.name, number)
            opened = self.packs.opened(pack.name)
            frame = opened.tables.frames[number]
            self.writer.add_frame(os.pread(opened.fd, frame.stored, frame.offset), frame, parts)
            return
        for one, offset, length, kind in parts:
            data = self.packs.read(Place(pack.name, number, offset, length))
            self.packs.check(pack.name, one, blake3_of()(data).digest())
            self.writer.add(one, data, kind)

    def _remove(self, group: list[_Pack]) -> None:
        for pack in group:
            if pack.name not in self.written:
                self.disk.remove(self.packs.path(pack.name))
                self.freed.packs += 1
        if group:
            self.disk.sync_folder(self.packs.folder)


def _groups(kept: list[_Pack]) -> Iterator[list[_Pack]]:
    """Packs to write anew, so few together that their copies take little space."""
    small = sum(pack.size < _SMALL for pack in kept)
    group: list[_Pack] = []
    for pack in kept:
        wasted = pack.plain - pack.needed > _WASTE * pack.plain
        if wasted or (pack.size < _SMALL and small > 1):
            group.append(pack)
            if sum(one.size for one in group) >= PACK_BYTES:
                yield group
                group = []
    if group:
        yield group


def _survey(packs: Packs, name: str, live: set[bytes], placed: set[bytes]) -> _Pack:
    """What of a pack is needed; of an object that two packs have, the first one's."""
    opened = packs.opened(name)
    pack = _Pack(name, os.fstat(opened.fd).st_size)
    lengths: dict[int, int] = {}
    for one, frame, offset, length, kind in OBJECT.iter_unpack(opened.tables.objects):
        pack.plain += length
        if one in live and one not in placed:
            placed.add(one)
            pack.needed += length
            pack.parts.setdefault(frame, []).append((one, offset, length, kind))
            lengths[frame] = lengths.get(frame, 0) + length
    frames = opened.tables.frames
    pack.whole = {frame for frame, length in lengths.items() if length == frames[frame].plain}
    return pack


def _fits(folder: str, group: list[_Pack]) -> bool:
    state = os.statvfs(folder)
    wanted = sum(one.size for one in group)
    return state.f_bavail * state.f_frsize >= wanted + _SPARE
