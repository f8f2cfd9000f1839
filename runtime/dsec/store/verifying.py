"""Reading a whole store and comparing it with its hashes; whose snapshots any damage harms."""

from __future__ import annotations

import os

from dsec.errors import DSecError
from dsec.hashing import blake3_of
from dsec.store import records
from dsec.store.compression import Codec
from dsec.store.packform import (
    BLOB,
    LIST,
    OBJECT,
    TREE,
    NewerPackError,
    NoZstdError,
    PackError,
    check_objects,
)
from dsec.store.packs import SUFFIX, open_pack, pack_problem, read_frame
from dsec.store.pieces import ListError
from dsec.store.trees import TreeError
from dsec.store.treewalk import PIECE, named_by, needed
from dsec.store.values import Damage, Verification
from dsec.words import say, system

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dsec.store.packs import OpenPack, Packs
    from dsec.store.values import Record


class _Found:
    """What was found so far."""

    def __init__(self) -> None:
        self.packs = self.objects = self.read_bytes = 0
        self.bad: list[tuple[str, str, tuple[bytes, ...]]] = []
        """File, what is wrong, ids that cannot be read because of it."""
        self.there: set[bytes] = set()
        """Ids that packs whose tables are right say they have."""
        self.notes: list[str] = []
        self.whole: dict[int, set[bytes]] = {TREE: set(), LIST: set()}
        """Ids of trees and lists that were read and are right."""
        self.named: dict[int, set[bytes]] = {TREE: set(), LIST: set(), BLOB: set(), PIECE: set()}
        """Ids of what they name, as what they name it."""

    def look_into(self, name: bytes, kind: int, data: bytes) -> None:
        """Note what a tree or a list names; one that is none is not noted, so that it is looked for."""
        try:
            inside = named_by(data, kind)
        except (TreeError, ListError):
            return
        self.whole[kind].add(name)
        for one, what in inside:
            self.named[what].add(one)

    def is_closed(self, all_: Sequence[Record]) -> bool:
        """Whether nothing is wrong, and all that any tree, list or record names is there."""
        contents = {bytes.fromhex(one) for record in all_ for one in record.contents}
        roots = {bytes.fromhex(one) for record in all_ for one in record.trees}
        return (
            not self.bad
            and (self.named[TREE] | roots) <= self.whole[TREE]
            and self.named[LIST] <= self.whole[LIST]
            and (self.named[BLOB] | self.named[PIECE] | contents) <= self.there
        )


def verify(packs: Packs, folder: str, *, quick: bool) -> Verification:
    """Look at every pack and every record; `folder` is that of the records. Forgets the index."""
    found = _Found()
    for name in sorted(os.listdir(packs.folder)):
        path = os.path.join(packs.folder, name)
        if not name.endswith(SUFFIX) or len(name) != 64 + len(SUFFIX):
            found.notes.append(say("packs/{name} is not a pack, and is not looked at", name=name))
            continue
        found.packs += 1
        try:
            _verify_pack(path, found, quick=quick)
        except OSError as problem:
            found.bad.append((os.path.join("packs", name), system(problem), ()))
    packs.forget()  # the index may know packs that are damaged: what counts is what they say themselves
    packs.add(packs.names())
    read, damage = _verify_records(packs, folder, found)
    return Verification(found.packs, found.objects, read, found.read_bytes, damage, tuple(found.notes))


def _verify_pack(path: str, found: _Found, *, quick: bool) -> None:
    name = os.path.join("packs", os.path.basename(path))
    try:
        pack = open_pack(path)
    except (PackError, NewerPackError) as problem:
        found.bad.append((name, pack_problem(path, problem).what, ()))
        return
    try:
        check_objects(pack.tables)
        found.objects += len(pack.tables)
        found.there.update([row[0] for row in OBJECT.iter_unpack(pack.tables.objects)])
        if not quick:
            for what, ids in _frames(pack, found):
                found.bad.append((name, what, ids))
    except PackError as problem:
        found.bad.append((name, pack_problem(path, problem).what, ()))
    except NoZstdError as problem:
        raise pack_problem(path, problem) from None
    finally:
        os.close(pack.fd)


def _frames(pack: OpenPack, found: _Found) -> Iterator[tuple[str, tuple[bytes, ...]]]:
    """What is wrong with frames and objects, and which ids it costs; every byte is read once."""
    within: dict[int, list[tuple[int, int, bytes, int]]] = {}
    for name, frame, offset, length, kind in OBJECT.iter_unpack(pack.tables.objects):
        within.setdefault(frame, []).append((offset, length, name, kind))
    codec, rest = Codec(), list[tuple[int, bytes, int]]()
    ahead = b""
    for number, frame in enumerate(pack.tables.frames):
        inside = within.get(number, [])
        try:
            data = read_frame(pack.fd, frame, codec)
        except PackError as problem:
            ids = tuple(one[2] for one in inside) + tuple(one[1] for one in rest)
            yield say("frame {number}: {why}", number=number, why=str(problem)), ids
            rest, ahead = [], b""
            continue
        found.read_bytes += frame.stored
        if rest:
            length, name, kind = rest[0]
            ahead += data[: length - len(ahead)]
            if len(ahead) == length:
                if not _is_right(name, kind, memoryview(ahead), found):
                    yield _other(number, name)
                rest, ahead = [], b""
        view = memoryview(data)
        for offset, length, name, kind in inside:
            if offset + length > len(data):
                rest, ahead = [(length, name, kind)], data[offset:]
            elif not _is_right(name, kind, view[offset : offset + length], found):
                yield _other(number, name)


def _is_right(name: bytes, kind: int, data: memoryview, found: _Found) -> bool:
    """Whether an object is what its id says; what it names is noted."""
    if blake3_of()(data).digest() != name:
        return False
    if kind in found.whole:
        found.look_into(name, kind, bytes(data))
    return True


def _other(number: int, name: bytes) -> tuple[str, tuple[bytes, ...]]:
    return say("frame {number} holds something else as {id}", number=number, id=name.hex()), (name,)


def _verify_records(packs: Packs, folder: str, found: _Found) -> tuple[int, tuple[Damage, ...]]:
    """Number of records, and all damage with the records that it harms."""
    broken: list[Damage] = []
    all_: list[Record] = []
    for name in records.names(folder):
        try:
            all_.append(records.read(folder, name))
        except (DSecError, OSError) as problem:
            what = problem.what if isinstance(problem, DSecError) else system(problem)
            broken.append(Damage(os.path.join("records", records.file_of(name)), what, (), (name,)))
    count = len(all_) + len(broken)
    known = {one.file for one in broken}
    broken += [one for one in _exchanged(folder) if one.file not in known]
    if found.is_closed(all_):
        return count, tuple(broken)
    return count, (*broken, *_harm(packs, all_, found))


def _exchanged(folder: str) -> Iterator[Damage]:
    """Records that are gone though nothing deleted them, and files that hold another one than was written."""
    for file, seal in sorted(records.expected(folder).items()):
        name = records.name_of(file) or file
        try:
            found = records.seal_of(folder, file)
        except OSError:
            continue  # told with the records that cannot be read
        if found is None:
            what = say(
                "the record {name} is gone, and DSec did not delete it (records.written has it)", name=name
            )
        elif found != seal and len(found) == len(seal):
            what = say("the record {name} is another one than was written under this name", name=name)
        else:
            continue
        yield Damage(os.path.join("records", file), what, (), (name,))


def _harm(packs: Packs, all_: Sequence[Record], found: _Found) -> tuple[Damage, ...]:
    """What is wrong or missing, with the records that need it: each is walked through."""
    lost = {one for _, _, ids in found.bad for one in ids}
    harmed: dict[bytes, list[str]] = {}
    absent: dict[bytes, list[str]] = {}
    fine = set[bytes]()
    for record in all_:
        known = set() if lost or found.bad else fine
        for one in _needed_by(packs, record, known):
            if one in lost:
                harmed.setdefault(one, []).append(record.name)
            elif one not in found.there:
                absent.setdefault(one, []).append(record.name)
    return (*_damage(found, harmed), *_absent(absent))


def _damage(found: _Found, harmed: dict[bytes, list[str]]) -> Iterator[Damage]:
    for file, what, ids in found.bad:
        names = sorted({name for one in ids for name in harmed.get(one, ())})
        yield Damage(file, what, tuple(one.hex() for one in ids), tuple(names))


def _absent(absent: dict[bytes, list[str]]) -> Iterator[Damage]:
    """What records need and no pack has, said once for each set of records."""
    together: dict[tuple[str, ...], list[str]] = {}
    for one, names in absent.items():
        together.setdefault(tuple(sorted(set(names))), []).append(one.hex())
    for needing, ids in sorted(together.items()):
        yield Damage("packs", say("{count} objects are missing", count=len(ids)), tuple(sorted(ids)), needing)


def _needed_by(packs: Packs, record: Record, known: set[bytes]) -> Iterator[bytes]:
    """Every id that a record needs; trees that cannot be read are given, and not looked into."""
    yield from map(bytes.fromhex, record.contents)
    for tree in record.trees:
        yield from needed(packs.get, bytes.fromhex(tree), known, lenient=True)
