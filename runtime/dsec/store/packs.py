"""The packs of a store, and what is in them: opened when asked, found through the index."""

from __future__ import annotations

import os

from dsec.errors import DSecError
from dsec.hashing import blake3_of
from dsec.record import Record
from dsec.store.packform import (
    FRAME,
    HEADER,
    TRAILER,
    CodecError,
    NewerPackError,
    NoZstdError,
    PackError,
    Tables,
    check_header,
    read_frames,
    read_tables,
    where,
)
from dsec.store.segment import Segment
from dsec.store.values import Damaged, Missing, StoreProblem
from dsec.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from dsec.hashing import Hasher
    from dsec.store.compression import Codec
    from dsec.store.packform import Frame

SUFFIX = ".pack"
_OPEN = 12
"""Packs that are kept open at a time, of each kind."""
_LARGEST_STORED = 4 << 20
"""Of a frame that is read into memory that is kept."""
_KEPT_BYTES = 12 << 20
"""Content of frames that is kept at hand."""


class Place(Record):
    """Where an object is."""

    pack: str
    frame: int
    offset: int
    length: int


class OpenPack(Record):
    """A pack that is open, with its tables."""

    fd: int
    tables: Tables


def open_pack(path: str) -> OpenPack:
    """Open a pack and read its tables; raises OSError, PackError and NewerPackError."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        size = os.fstat(fd).st_size
        head = os.pread(fd, HEADER.size, 0)
        check_header(head)
        place = where(os.pread(fd, TRAILER.size, max(0, size - TRAILER.size)), size)
        tables = read_tables(head, os.pread(fd, size - TRAILER.size - place[0], place[0]), place)
    except BaseException:
        os.close(fd)
        raise
    if f"{tables.name}{SUFFIX}" != os.path.basename(path):
        os.close(fd)
        raise PackError("its name is not that of its content")
    return OpenPack(fd, tables)


def _open_frames(path: str) -> OpenPack:
    """The same without the table of objects, which the index has."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        size = os.fstat(fd).st_size
        check_header(os.pread(fd, HEADER.size, 0))
        place = where(os.pread(fd, TRAILER.size, max(0, size - TRAILER.size)), size)
        length = place[2] * FRAME.size
        frames = read_frames(os.pread(fd, length, size - TRAILER.size - length), place)
    except BaseException:
        os.close(fd)
        raise
    return OpenPack(fd, Tables(b"", frames, place[3].hex()))


def read_frame(fd: int, frame: Frame, codec: Codec, into: memoryview | None = None) -> bytes:
    """The content of a frame; raises PackError, NoZstdError and OSError.

    `into` is memory for what is stored, if it is large enough: memory that was used costs less than new.
    """
    stored: bytes | memoryview
    if into is not None and frame.stored <= len(into):
        stored = into[: frame.stored]
        stored = stored[: os.preadv(fd, (stored,), frame.offset)]
    else:
        stored = os.pread(fd, frame.stored, frame.offset)
    if blake3_of()(stored).digest()[:16] != frame.digest:
        raise PackError("a frame is damaged")
    try:
        return codec.unpack(frame.codec, stored, frame.plain)
    except CodecError as problem:
        raise PackError(f"a frame cannot be decompressed: {problem}") from None


def pack_problem(path: str, problem: Exception) -> DSecError:
    """What went wrong with a pack, in words for people."""
    name = os.path.join("packs", os.path.basename(path))
    if isinstance(problem, NewerPackError):
        return StoreProblem(
            say("{name} was written by a newer version of DSec", name=name), hint=say("update DSec")
        )
    if isinstance(problem, NoZstdError):
        return StoreProblem(
            say("{name} is compressed with zstandard, which is not installed", name=name),
            hint=say("pip install 'dsec[snapshot]'"),
        )
    return Damaged(
        say("{name} of the store is damaged: {why}", name=name, why=str(problem)),
        hint=say("verify names the snapshots that it harms"),
    )


class Packs:
    """The packs in a folder; objects are found in `index`, then in packs that it does not know."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.index: Segment | None = None
        self.indexed: tuple[str, ...] = ()
        """Names of the packs that the last column of the index numbers."""
        self.loose: dict[str, Segment] = {}
        self.seen: tuple[list[str], tuple[int, int, int]] | None = None
        """What packs there were, and which index, when these were told."""
        self.own: set[str] = set()
        """Packs that this process writes: whether they have an object, it knows without searching."""
        self._codec: Codec | None = None
        self._hash: Callable[[bytes], Hasher] | None = None
        self._open: dict[str, OpenPack] = {}
        self._framed: dict[str, OpenPack] = {}
        """Those of which only frames are known. Who was asked for last stands last, as among the frames."""
        self._into = memoryview(bytearray())
        """Memory for what a frame is stored as."""
        self._frames: dict[tuple[str, int], bytes] = {}
        self._held = 0

    def names(self) -> list[str]:
        """What packs the folder holds now, sorted; files that are no packs do not count."""
        return sorted(
            name[: -len(SUFFIX)]
            for name in os.listdir(self.folder)
            if name.endswith(SUFFIX) and len(name) == 64 + len(SUFFIX)
        )

    def known(self) -> set[str]:
        """The packs that are searched."""
        return {*self.indexed, *self.loose}

    def path(self, name: str) -> str:
        """Where the pack of that name is."""
        return os.path.join(self.folder, name + SUFFIX)

    def add(self, names: Iterable[str]) -> None:
        """Search these packs too."""
        for name in names:
            if name in self.loose:
                continue
            try:
                tables = self.opened(name).tables
            except StoreProblem:
                continue  # as if it were not there: what is put in again heals it, verify names it
            self.loose[name] = Segment(tables.objects, 0, len(tables))

    def find(self, wanted: bytes) -> Place | None:
        """Where the object is, or None."""
        if self.index is not None and (at := self.index.find(wanted)) >= 0:
            _, frame, offset, length, pack = self.index.row(at)
            return Place._make((self.indexed[pack], frame, offset, length))
        for name, segment in self.loose.items():
            if (at := segment.find(wanted)) >= 0:
                _, frame, offset, length, _kind = segment.row(at)
                return Place._make((name, frame, offset, length))
        return None

    def __contains__(self, wanted: bytes) -> bool:
        """Whether a pack that is not our own has the object."""
        if self.index is not None and self.index.find(wanted) >= 0:
            return True
        for name, segment in self.loose.items():  # noqa: SIM110  # for every file: a generator costs twice this
            if name not in self.own and segment.find(wanted) >= 0:
                return True
        return False

    def opened(self, name: str) -> OpenPack:
        """The pack, open; raises Damaged and Missing."""
        return self._opened(name, self._open, open_pack)

    def _opened(self, name: str, among: dict[str, OpenPack], how: Callable[[str], OpenPack]) -> OpenPack:
        found = among.pop(name, None)
        if found is None:
            try:
                found = how(self.path(name))
            except FileNotFoundError:
                raise Missing(say("the pack {name} is gone from the store", name=name)) from None
            except (PackError, NewerPackError) as problem:
                raise pack_problem(self.path(name), problem) from None
        among[name] = found
        if len(among) > _OPEN:
            os.close(among.pop(next(iter(among))).fd)
        return found

    def frame(self, name: str, number: int) -> bytes:
        """The content of one frame; raises Damaged and Missing."""
        key = (name, number)
        if (data := self._frames.pop(key, None)) is not None:
            self._frames[key] = data
            return data
        if name in self._open or name not in self.indexed:
            pack = self.opened(name)
        else:
            pack = self._opened(name, self._framed, _open_frames)
        if self._codec is None:
            from dsec.store.compression import Codec  # what did not change is put in without reading

            self._codec = Codec()
        try:
            frame = pack.tables.frames[number]
            if len(self._into) < frame.stored <= _LARGEST_STORED:
                self._into = memoryview(bytearray(frame.stored))
            data = read_frame(pack.fd, frame, self._codec, self._into)
        except IndexError:
            raise pack_problem(self.path(name), PackError("it lacks a frame")) from None
        except (PackError, NoZstdError) as problem:
            raise pack_problem(self.path(name), problem) from None
        self._frames[key] = data
        self._held += len(data)
        while self._held > _KEPT_BYTES and len(self._frames) > 1:
            self._held -= len(self._frames.pop(next(iter(self._frames))))
        return data

    def read(self, place: Place) -> bytes:
        """The bytes at a place, not yet compared with their id."""
        data = self.frame(place.pack, place.frame)
        if place.offset + place.length <= len(data):
            whole = place.offset == 0 and place.length == len(data)
            return data if whole else data[place.offset : place.offset + place.length]
        parts, number, have = [data[place.offset :]], place.frame, len(data) - place.offset
        while have < place.length:
            number += 1
            parts.append(self.frame(place.pack, number))
            have += len(parts[-1])
        return b"".join(parts)[: place.length]

    def get(self, wanted: bytes, *, checked: bool = True) -> bytes:
        """The object of that id; raises Missing and Damaged.

        Not `checked`: what the packs have under that id. Their frames have digests of their own, so that only
        a pack that was written wrongly has something else there.
        """
        place = self.find(wanted)
        if place is None:
            raise Missing(say("the store has nothing with the id {id}", id=wanted.hex()))
        data = self.read(place)
        if not checked:
            return data
        if self._hash is None:
            self._hash = blake3_of()
        self.check(place.pack, wanted, self._hash(data).digest())
        return data

    def check(self, pack: str, wanted: bytes, found: bytes) -> None:
        """Raises Damaged when what a pack has under an id has another one."""
        if found != wanted:
            raise pack_problem(
                self.path(pack), PackError(f"what it holds as {wanted.hex()} is something else")
            )

    def forget(self) -> None:
        """Close everything; what was found by then is not known any more."""
        for pack in (*self._open.values(), *self._framed.values()):
            os.close(pack.fd)
        self._open.clear()
        self._framed.clear()
        self._frames.clear()
        self._held = 0
        self.loose.clear()
        self.own.clear()
        self.index = None
        self.indexed = ()
        self.seen = None
