"""Writing packs: small objects gather in frames, frames are compressed beside, packs get their names last."""

from __future__ import annotations

import mmap
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

    from dsec.store.compression import Plain
    from dsec.store.disk import Disk

    Part = tuple[bytes, int, int, int]
    """An object of a frame: id, offset, length, kind."""

FRAME_BYTES = 2 << 20
"""A frame is closed when it has so much content: twice as much stores 1 % less, and is read more slowly."""
PACK_BYTES = 64 << 20
"""A pack is closed when it has so many bytes."""
_BESIDE = 4
"""The most threads that compress."""


class _Gathered:
    """A frame that is being filled; its memory is used again for later ones."""

    __slots__ = ("_memory", "parts", "size")

    def __init__(self) -> None:
        # Memory that the system clears page by page when it is used: a few objects use little of it.
        self._memory = memoryview(mmap.mmap(-1, 2 * FRAME_BYTES, flags=mmap.MAP_PRIVATE))
        self.size = 0
        self.parts: list[Part] = []

    def add(self, name: bytes, data: Plain, kind: int) -> None:
        """One more object, of at most FRAME_BYTES, into a frame that is not full."""
        begin, length = self.size, len(data)
        self.size = end = begin + length
        self._memory[begin:end] = data
        self.parts.append((name, begin, length, kind))

    @property
    def content(self) -> memoryview:
        """What is in it."""
        return self._memory[: self.size]

    def emptied(self) -> _Gathered:
        """The same without anything in it."""
        self.size, self.parts = 0, []
        return self


class PackWriter:
    """Objects in, packs out. `written` is called with the name of each pack that is whole."""

    def __init__(self, disk: Disk, *, packs: str, scratch: str, written: Callable[[str], None]) -> None:
        self._disk, self._packs, self._scratch, self._written = disk, packs, scratch, written
        self._gathered: dict[int, _Gathered] = {}
        self._empty: list[_Gathered] = []
        self._waiting: deque[tuple[Future[tuple[int, Plain]], int, list[Part], _Gathered | None]] = deque()
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
        return bool(self._waiting or self._out or self._gathered)

    def add(self, name: bytes, data: Plain, kind: int) -> None:
        """Take an object in; small ones of a kind share frames."""
        self.fresh.add(name)
        group = TREE if kind == TREE else BLOB
        if len(data) > FRAME_BYTES:
            self._cut(group)
            self._add_long(name, data, kind)
            return
        gathered = self._gathered.get(group)
        if gathered is None:
            gathered = self._gathered[group] = self._empty.pop() if self._empty else _Gathered()
        gathered.add(name, data, kind)
        if gathered.size >= FRAME_BYTES:
            self._cut(group)

    def add_piece(self, name: bytes, data: bytes) -> None:
        """Take in a piece of a large file: a frame of its own."""
        self.fresh.add(name)
        self._submit(data, [(name, 0, len(data), BLOB)], None)

    def add_frame(self, stored: bytes, frame: Frame, parts: list[Part]) -> None:
        """Take over a frame of another pack as it is."""
        self._drain(0)
        self._write_frame(frame.codec, stored, frame.plain, parts)
        self._close_full()

    def _add_long(self, name: bytes, data: Plain, kind: int) -> None:
        """An object that spans frames, which must follow each other in one pack."""
        self._drain(0)
        for at in range(0, len(data), FRAME_BYTES):
            part = data[at : at + FRAME_BYTES]
            code, stored = self._codec.pack(part)
            self._write_frame(code, stored, len(part), [(name, 0, len(data), kind)] if at == 0 else [])
        self._close_full()

    def _cut(self, group: int) -> None:
        if (full := self._gathered.pop(group, None)) is not None:
            self._submit(full.content, full.parts, full)

    def _submit(self, data: Plain, parts: list[Part], memory: _Gathered | None) -> None:
        """Let a thread compress; what has no memory of its own is a piece."""
        if self._pool is None:
            from concurrent.futures import ThreadPoolExecutor  # who has little to store does not need it

            self._pool = ThreadPoolExecutor(_threads())
        future = self._pool.submit(self._compressed, data, memory is None)
        self._waiting.append((future, len(data), parts, memory))
        self._drain(2 * _threads())

    def _compressed(self, data: Plain, piece: bool) -> tuple[int, Plain]:
        """Runs in a thread, which borrows a codec that no other one has."""
        try:
            codec = self._codecs.pop()
        except IndexError:
            codec = Codec()
        done = codec.pack_piece(bytes(data)) if piece else codec.pack(data)
        self._codecs.append(codec)
        return done

    def _drain(self, most: int) -> None:
        """Write frames that are compressed, until at most so many wait."""
        while len(self._waiting) > most:
            future, plain, parts, memory = self._waiting.popleft()
            code, stored = future.result()
            self._write_frame(code, stored, plain, parts)
            if memory is not None:
                self._empty.append(memory.emptied())
            self._close_full()

    def _write_frame(self, code: int, stored: Plain, plain: int, parts: list[Part]) -> None:
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
            if self._pool is None and group in self._gathered:
                self._write_gathered(group)
            self._cut(group)
        self._drain(0)
        self._close_pack()

    def _write_gathered(self, group: int) -> None:
        """A single frame, without threads."""
        full = self._gathered.pop(group)
        code, stored = self._codec.pack(full.content)
        self._write_frame(code, stored, full.size, full.parts)
        self._empty.append(full.emptied())

    def abandon(self) -> None:
        """Forget what is not in a whole pack."""
        for future, *_ in self._waiting:
            future.cancel()
        self._waiting.clear()
        self._gathered = {}
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
    return max(1, min(_BESIDE, len(os.sched_getaffinity(0)) - 1))
