"""Writing packs: small objects gather in frames, frames are compressed beside, packs get their names last."""

from __future__ import annotations

import os
from collections import deque

from dsec.hashing import blake3_of
from dsec.store import scratch
from dsec.store.compression import Codec
from dsec.store.packform import BLOB, HEADER, TREE, Frame, ending, header
from dsec.store.packs import SUFFIX

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future, ThreadPoolExecutor

    from dsec.store.disk import Disk

    Part = tuple[bytes, int, int, int]
    """An object of a frame: id, offset, length, kind."""

FRAME_BYTES = 2 << 20
"""A frame is closed when it has so much content."""
PACK_BYTES = 64 << 20
"""A pack is closed when it has so many bytes."""
_BESIDE = 4
"""The most threads that compress."""


class PackWriter:
    """Objects in, packs out. `written` is called with the name of each pack that is whole."""

    def __init__(self, disk: Disk, *, packs: str, scratch: str, written: Callable[[str], None]) -> None:
        self._disk, self._packs, self._scratch, self._written = disk, packs, scratch, written
        self._gathered: dict[int, tuple[list[bytes], list[Part]]] = {BLOB: ([], []), TREE: ([], [])}
        self._sizes = {BLOB: 0, TREE: 0}
        self._waiting: deque[tuple[Future[tuple[int, bytes]], int, list[Part]]] = deque()
        self._pool: ThreadPoolExecutor | None = None
        self._codec = Codec()
        self._codecs: list[Codec] = []
        self._out: tuple[int, str] | None = None
        self._frames: list[Frame] = []
        self._objects: list[tuple[bytes, int, int, int, int]] = []
        self.fresh: set[bytes] = set()
        """Ids of all objects that were added."""

    @property
    def pending(self) -> bool:
        """Whether some objects are in no whole pack yet."""
        return bool(self._waiting or self._out or self._gathered[BLOB][0] or self._gathered[TREE][0])

    def add(self, name: bytes, data: bytes, kind: int) -> None:
        """Take an object in; small ones of a kind share frames."""
        self.fresh.add(name)
        if len(data) > FRAME_BYTES:
            self._cut(kind)
            self._add_long(name, data, kind)
            return
        group = TREE if kind == TREE else BLOB
        pieces, parts = self._gathered[group]
        size = self._sizes[group]
        parts.append((name, size, len(data), kind))
        pieces.append(data)
        self._sizes[group] = size = size + len(data)
        if size >= FRAME_BYTES:
            self._cut(group)

    def add_piece(self, name: bytes, data: bytes) -> None:
        """Take in a piece of a large file: a frame of its own."""
        self.fresh.add(name)
        self._submit(data, [(name, 0, len(data), BLOB)], piece=True)

    def add_frame(self, stored: bytes, frame: Frame, parts: list[Part]) -> None:
        """Take over a frame of another pack as it is."""
        self._drain(0)
        self._write_frame(frame.codec, stored, frame.plain, parts)
        self._close_full()

    def _add_long(self, name: bytes, data: bytes, kind: int) -> None:
        """An object that spans frames, which must follow each other in one pack."""
        self._drain(0)
        for at in range(0, len(data), FRAME_BYTES):
            part = data[at : at + FRAME_BYTES]
            code, stored = self._codec.pack(part)
            self._write_frame(code, stored, len(part), [(name, 0, len(data), kind)] if at == 0 else [])
        self._close_full()

    def _cut(self, group: int) -> None:
        group = TREE if group == TREE else BLOB
        pieces, parts = self._gathered[group]
        if pieces:
            self._gathered[group], self._sizes[group] = ([], []), 0
            self._submit(b"".join(pieces), parts, piece=False)

    def _submit(self, data: bytes, parts: list[Part], *, piece: bool) -> None:
        if self._pool is None:
            from concurrent.futures import ThreadPoolExecutor  # who has little to store does not need it

            self._pool = ThreadPoolExecutor(_threads())
        future = self._pool.submit(self._compressed, data, piece)
        self._waiting.append((future, len(data), parts))
        self._drain(2 * _threads())

    def _compressed(self, data: bytes, piece: bool) -> tuple[int, bytes]:
        """Runs in a thread, which borrows a codec that no other one has."""
        try:
            codec = self._codecs.pop()
        except IndexError:
            codec = Codec()
        done = codec.pack_piece(data) if piece else codec.pack(data)
        self._codecs.append(codec)
        return done

    def _drain(self, most: int) -> None:
        """Write frames that are compressed, until at most so many wait."""
        while len(self._waiting) > most:
            future, plain, parts = self._waiting.popleft()
            code, stored = future.result()
            self._write_frame(code, stored, plain, parts)
            self._close_full()

    def _write_frame(self, code: int, stored: bytes, plain: int, parts: list[Part]) -> None:
        if self._out is None:
            self._out = scratch.begin(self._disk, self._scratch)
            self._disk.write(self._out[0], header())
        last = self._frames[-1] if self._frames else None
        offset = last.offset + last.stored if last else HEADER.size
        self._disk.write(self._out[0], stored)
        number = len(self._frames)
        self._frames.append(Frame(offset, len(stored), plain, code, blake3_of()(stored).digest()[:16]))
        self._objects += [(name, number, at, length, kind) for name, at, length, kind in parts]

    def _close_full(self) -> None:
        if self._frames and self._frames[-1].offset + self._frames[-1].stored >= PACK_BYTES:
            self._close_pack()

    def _close_pack(self) -> None:
        """Tables, then the name: from here on the objects are there."""
        if self._out is None:
            return
        fd, path = self._out
        name, tail = ending(sorted(self._objects), self._frames)
        self._disk.write(fd, tail)
        self._disk.sync(fd)
        self._disk.rename(path, os.path.join(self._packs, name + SUFFIX))
        self._disk.sync_folder(self._packs)
        os.close(fd)
        self._out, self._frames, self._objects = None, [], []
        self._written(name)

    def flush(self) -> None:
        """Everything that was taken in is on the disk, under its final name, when this returns."""
        for group in (BLOB, TREE):
            if self._pool is None and self._gathered[group][0]:
                self._write_gathered(group)
            self._cut(group)
        self._drain(0)
        self._close_pack()

    def _write_gathered(self, group: int) -> None:
        """A single frame, without threads."""
        pieces, parts = self._gathered[group]
        self._gathered[group], self._sizes[group] = ([], []), 0
        data = b"".join(pieces)
        code, stored = self._codec.pack(data)
        self._write_frame(code, stored, len(data), parts)

    def abandon(self) -> None:
        """Forget what is not in a whole pack."""
        for future, _, _ in self._waiting:
            future.cancel()
        self._waiting.clear()
        self._gathered = {BLOB: ([], []), TREE: ([], [])}
        self._sizes = {BLOB: 0, TREE: 0}
        self.fresh.clear()
        if self._out is not None:
            scratch.discard(self._disk, *self._out)
        self._out, self._frames, self._objects = None, [], []

    def close(self) -> None:
        """Let the threads go."""
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
            self._pool = None


def _threads() -> int:
    return max(1, min(_BESIDE, len(os.sched_getaffinity(0))))
