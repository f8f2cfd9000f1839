"""A pack that stands alone: everything that some trees and contents need, in the order of the trees.

The same objects give the same bytes. Who reads one takes nothing on trust: every table is checked
before anything is allocated, and every object is compared with its id.
"""

from __future__ import annotations

import os

from dsec.hashing import blake3_of
from dsec.store.compression import Codec
from dsec.store.packform import (
    BLOB,
    HEADER,
    OBJECT,
    TRAILER,
    Frame,
    NewerPackError,
    NoZstdError,
    PackError,
    check_header,
    check_objects,
    ending,
    header,
    read_tables,
    where,
)
from dsec.store.packs import read_frame
from dsec.store.segment import Segment
from dsec.store.treewalk import PIECE, needed_kinds
from dsec.store.values import Damaged, Missing, StoreProblem
from dsec.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from dsec.store.compression import Plain
    from dsec.store.treewalk import Get

    Write = Callable[[bytes], object]

_WORK, _FREE_WORK = 8, 1 << 28
"""How often the whole content may be decompressed: packs of ours are read in the order they were written."""
LARGEST_OBJECT = 256 << 20
"""No object of a foreign pack may be longer: large files are kept in pieces."""
_FRAME_BYTES = 4 << 20
_KEPT = 8
"""Frames that are kept at hand."""


def reached(get: Get, trees: Iterable[bytes], contents: Iterable[bytes]) -> Iterator[tuple[bytes, int]]:
    """Every id that these need, once each, with its kind; contents first."""
    given: set[bytes] = set()
    known: set[bytes] = set()
    for one in contents:
        if one not in given:
            given.add(one)
            yield one, BLOB
    for tree in trees:
        for one, kind in needed_kinds(get, tree, known):
            if one not in given:
                given.add(one)
                yield one, kind


class Writing:
    """A pack that is being written to somewhere that only takes more bytes."""

    def __init__(self, write: Write) -> None:
        self._write, self._codec, self._hash = write, Codec(), blake3_of()
        self._frames: list[Frame] = []
        self._objects: list[tuple[bytes, int, int, int, int]] = []
        self._gathered: list[bytes] = []
        self._parts: list[tuple[bytes, int, int, int]] = []
        self._known: set[bytes] = set()
        self._size = 0
        self.length = HEADER.size
        write(header())

    def add(self, name: bytes, data: bytes, kind: int) -> None:
        """An object, unless it is there already; those that are given one after the other share frames."""
        if name in self._known:
            return
        self._known.add(name)
        if kind == PIECE:
            self._cut()
            self._frame(*self._codec.pack_piece(data), len(data), [(name, 0, len(data), BLOB)])
            return
        if len(data) > _FRAME_BYTES:
            self._cut()
        self._parts.append((name, self._size, len(data), kind))
        self._gathered.append(data)
        self._size += len(data)
        if self._size >= _FRAME_BYTES:
            self._cut()

    def _cut(self) -> None:
        """Write what was gathered; what is longer than a frame goes on in the next ones."""
        whole, parts = b"".join(self._gathered), self._parts
        self._gathered, self._parts, self._size = [], [], 0
        if not parts:
            return
        step = 2 * _FRAME_BYTES  # what was gathered before the last object, and that one
        for at in range(0, max(1, len(whole)), step):
            piece = whole[at : at + step]
            self._frame(*self._codec.pack_tightly(piece), len(piece), parts if at == 0 else [])

    def _frame(self, code: int, stored: Plain, plain: int, parts: list[tuple[bytes, int, int, int]]) -> None:
        number = len(self._frames)
        self._frames.append(Frame(self.length, len(stored), plain, code, self._hash(stored).digest()[:16]))
        self._objects += [(name, number, at, length, kind) for name, at, length, kind in parts]
        self._write(bytes(stored))
        self.length += len(stored)

    def finish(self) -> int:
        """Write the tables; the length of it all."""
        self._cut()
        _, tail = ending(sorted(self._objects), self._frames)
        self._write(tail)
        self.length += len(tail)
        return self.length


class ForeignPack:
    """A pack within a file that someone else wrote; raises Damaged and StoreProblem, naming `called`."""

    def __init__(self, fd: int, start: int, length: int, *, called: str) -> None:
        """Check header and tables of the `length` bytes from `start` on."""
        self._fd, self._start, self._called = fd, start, called
        try:
            head = self._read(0, HEADER.size)
            check_header(head)
            end = max(0, length - TRAILER.size)
            place = where(self._read(end, TRAILER.size), length)
            self.tables = read_tables(head, self._read(place[0], end - place[0]), place)
            check_objects(self.tables)
        except PackError as problem:
            raise self._damaged(str(problem)) from None
        except NewerPackError:
            raise StoreProblem(
                say("{name} was written by a newer version of DSec", name=called), hint=say("update DSec")
            ) from None
        self._ids = Segment(self.tables.objects, 0, len(self.tables))
        self._codec, self._hash = Codec(), blake3_of()
        self._frames: dict[int, bytes] = {}
        self._left = _WORK * self.plain_bytes + _FREE_WORK
        if sum(length for _, _, _, length, _ in OBJECT.iter_unpack(self.tables.objects)) > self.plain_bytes:
            raise self._damaged(say("its objects lie in each other"))

    @property
    def plain_bytes(self) -> int:
        """What it says that its content comes to."""
        return sum(frame.plain for frame in self.tables.frames)

    def _read(self, at: int, size: int) -> bytes:
        return os.pread(self._fd, size, self._start + at)

    def _damaged(self, why: str) -> Damaged:
        return Damaged(say("{name} is damaged: {why}", name=self._called, why=why))

    def _frame(self, number: int) -> bytes:
        if (data := self._frames.get(number)) is not None:
            return data
        frame = self.tables.frames[number]
        self._left -= frame.plain
        if self._left < 0:
            raise self._damaged(say("its objects are in an order in which reading takes without end"))
        moved = Frame(frame.offset + self._start, frame.stored, frame.plain, frame.codec, frame.digest)
        try:
            data = read_frame(self._fd, moved, self._codec)
        except PackError as problem:
            raise self._damaged(f"frame {number}: {problem}") from None
        except NoZstdError:
            raise StoreProblem(
                say("{name} is compressed with zstandard, which is not installed", name=self._called),
                hint=say("pip install 'dsec[snapshot]'"),
            ) from None
        while len(self._frames) >= _KEPT:
            del self._frames[next(iter(self._frames))]
        self._frames[number] = data
        return data

    def get(self, name: bytes) -> bytes:
        """The object of that id, checked against it; raises Missing and Damaged."""
        if (at := self._ids.find(name)) < 0:
            raise Missing(say("{name} lacks {id}", name=self._called, id=name.hex()))
        _, frame, offset, length, _kind = self._ids.row(at)
        if length > LARGEST_OBJECT:
            raise self._damaged(f"it has an object of {length} bytes")
        data = b""
        while len(data) < offset + length:
            data += self._frame(frame)
            frame += 1
        data = data[offset : offset + length]
        if self._hash(data).digest() != name:
            raise self._damaged(f"what it holds as {name.hex()} is something else")
        return data
