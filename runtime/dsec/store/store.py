"""The store as its users see it."""

from __future__ import annotations

import os
import time

from dsec.store import index, layout, locking, records, scratch
from dsec.store.disk import Disk
from dsec.store.objects import NewObjects
from dsec.store.outcomes import Told
from dsec.store.packform import BLOB
from dsec.store.packs import Packs
from dsec.store.values import NOTHING, Missing, Record, StoreProblem, Tree
from dsec.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from types import TracebackType

    from dsec.store.intake import Intake, Look
    from dsec.store.layout import Layout
    from dsec.store.packwriter import PackWriter
    from dsec.store.values import Beside, Change, Entry, Pruned, Report, TreeEntry, Usage, Verification


def open_store(path: str, *, create: bool = True, disk: Disk | None = None) -> Store:
    """The store in this folder, made on first use; raises StoreProblem for one of a newer version.

    `create=False` raises Missing where there is none. A store that may not be written can be read.
    """
    disk = Disk() if disk is None else disk
    with Told(path):
        return Store(layout.opened(path, disk, create=create), disk)


class Store:
    """A store that is open; not for use by several threads at once."""

    def __init__(self, place: Layout, disk: Disk) -> None:
        self._place, self._disk = place, disk
        self._packs = Packs(place.packs)
        index.refresh(self._packs, place.table)
        self._lock = -1
        self._writer: PackWriter | None = None
        self._objects = NewObjects(self._packs, self._writing)
        self._unsaved: dict[str, Intake] = {}
        """What to remember of folders once all that they hold is on the disk, by its file."""
        self._put: set[str] = set()
        """Ids that were put in since the lock was taken: all that they need is there."""

    def __enter__(self) -> Store:
        """Close it at the end of the block."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, _error: object, _trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self._abandon()
        self.close()

    @property
    def path(self) -> str:
        """Where it is."""
        return self._place.root

    @property
    def compression(self) -> str:
        """What new content is compressed with: `zstd`, or `zlib` where zstandard is not installed."""
        from dsec.store.compression import name_of_best

        return name_of_best()

    def close(self) -> None:
        """Write what is pending, and let `prune` go on."""
        try:
            self._settle()
        finally:
            if self._writer is not None:
                self._writer.close()
            self._release()
            self._packs.forget()
            self._objects.forget()
            self._writer = None

    def put_bytes(self, data: bytes) -> str:
        """Keep some bytes; their id."""
        with self._putting():
            name = self._objects.put(data, BLOB).hex()
        self._put.add(name)
        return name

    def get_bytes(self, content: str) -> bytes:
        """What is kept under the id, checked against it; raises Missing and Damaged."""
        return self._reading()(_id(content))

    def __contains__(self, content: str) -> bool:
        """Whether something is kept under this id."""
        return _id(content) in self._objects

    def put_tree(self, root: bytes, entries: Iterable[Entry], *, times: bool = True, exact: int = -1) -> Tree:
        """Take in these entries of a folder.

        `times=False` leaves modification times out: two checkouts of the same code have one id. Of files of
        at most `exact` bytes, and links, those that do not look as their entries say are `unread`: CHANGED.
        """
        from dsec.store.looking import EntriesLook  # who only reads looks at nothing

        return self._take(root, EntriesLook(root, entries), times=times, exact=exact)

    def put_folder(
        self, root: bytes, *, skip: Callable[[bytes, bool], bool] | None = None, times: bool = True
    ) -> Tree:
        """Take in a whole folder; `skip(path, is_folder)` says what to leave out."""
        from dsec.store.looking import FolderLook

        own = os.stat(self._place.root)
        return self._take(root, FolderLook(root, skip=skip, avoid=(own.st_dev, own.st_ino)), times=times)

    def _take(self, root: bytes, look: Look, *, times: bool, exact: int = -1) -> Tree:
        from dsec.store import remembering
        from dsec.store.intake import Intake

        with self._putting():
            path = remembering.path_of(self._place, root, f"{type(look).__name__} {times}")
            cache = remembering.load(path, frozenset(self._packs.known()))
            count, size = self._objects.count, self._objects.size_bytes
            intake = Intake(root, look, self._objects, cache, times=times, exact=exact)
            name = intake.take().hex()
            if intake.changed or not cache.vouched:
                self._unsaved[path] = intake
        self._put.add(name)
        all_ = intake.totals
        return Tree(
            id=name, files=all_.files, folders=all_.folders, links=all_.links, size_bytes=all_.size_bytes,
            new_objects=self._objects.count - count, new_bytes=self._objects.size_bytes - size,
            reused_files=all_.reused_files, unread=tuple(sorted(all_.unread, key=lambda one: one.path)),
        )  # fmt: skip

    def tree(self, tree: str) -> Iterator[TreeEntry]:
        """Every entry of a tree, folders before what is in them, by the bytes of their names."""
        from dsec.store import treewalk

        return treewalk.entries(self._reading(), _id(tree))

    def diff(self, before: str, after: str) -> Iterator[Change]:
        """What differs between two trees, files and links one by one; equal folders are not visited."""
        from dsec.store import treewalk

        get = self._reading()  # what is read of a pack is checked as a whole
        return treewalk.differences(lambda name: get(name, checked=False), _id(before), _id(after))

    def content(self, entry: TreeEntry) -> Iterator[bytes]:
        """The bytes of a stored file, piece by piece, holes as zeros; checked against its id at the end."""
        from dsec.store.checkout import content_of, plainly

        return plainly(content_of(self._reading(), entry))

    def checkout(
        self, tree: str, target: bytes, *, only: bytes | None = None, beside: Beside = NOTHING
    ) -> Report:
        """Write a tree, or the file or folder `only` of it, below `target`, which is made if absent.

        Files that are there stay and make it fail; nothing is written through links.
        """
        return self.checkout_all([(b"", tree)], target, only=only, beside=beside)

    def checkout_all(
        self,
        parts: Iterable[tuple[bytes, str]],
        target: bytes,
        *,
        only: bytes | None = None,
        beside: Beside = NOTHING,
    ) -> Report:
        """Write several trees as if they were one, each at its path below `target` (b"": the target itself).

        They may have folders, and equal files, in common; raises Damaged where one path is two things.
        `only` and `beside` go by paths below the target.
        """
        from dsec.store.checkout import Checkout, joined, only_below

        entries = joined([(place, self.tree(tree)) for place, tree in parts])
        return Checkout(target, self._reading(), beside).write(
            entries if only is None else only_below(entries, only)
        )

    def export(
        self,
        write: Callable[[bytes], object],
        *,
        trees: Iterable[str],
        contents: Iterable[str],
        beside: Iterable[bytes] = (),
    ) -> int:
        """Write a pack that stands alone: all that these need, and bytes from beside the store; its length.

        The same ids and bytes give the same pack, with the same version of zstandard.
        """
        from dsec.store import portable

        get, pack = self._reading(), portable.Writing(write)
        for data in beside:
            pack.add(self._objects.id_of(data), data, BLOB)
        for one, kind in portable.reached(get, map(_id, trees), map(_id, contents)):
            pack.add(one, get(one), kind)
        return pack.finish()

    def take(
        self, get: Callable[[bytes], bytes], *, trees: Iterable[str], contents: Iterable[str]
    ) -> tuple[int, int]:
        """Put in all that these need, from elsewhere; how many objects, and bytes, were new.

        `get` gives the bytes of an id that they have been compared with. Raises what it raises.
        """
        from dsec.store import portable, treewalk

        trees, contents = tuple(trees), tuple(contents)
        with self._putting():
            count, size = self._objects.count, self._objects.size_bytes
            for one, kind in portable.reached(get, map(_id, trees), map(_id, contents)):
                if one not in self._objects:
                    data = get(one)
                    self._objects.put_piece(data) if kind == treewalk.PIECE else self._objects.put(data, kind)
        self._put.update(trees, contents)
        return self._objects.count - count, self._objects.size_bytes - size

    def put_record(
        self,
        name: str,
        document: bytes,
        *,
        trees: Iterable[str],
        contents: Iterable[str],
        at_ns: int | None = None,
    ) -> None:
        """Keep a document under a name, and the trees and contents that it speaks of; raises NameTaken.

        `at_ns` is the time it belongs to; now, if not given. Raises Missing if one of them is not there.
        """
        at_ns = time.time_ns() if at_ns is None else at_ns
        record = Record(name, document, tuple(trees), tuple(contents), at_ns)
        with self._putting():
            self._settle()
            self._check_needs(record)
            records.write(self._disk, self._place.records, record, aside=self._place.scratch)

    def _check_needs(self, record: Record) -> None:
        """Nothing may be named that is not there; of what this session put in, that is certain."""
        known: set[bytes] = set()
        for tree in set(record.trees) - self._put:
            from dsec.store import treewalk

            for one in treewalk.needed(self._packs.get, _id(tree), known):
                self._check_there(one)
        for content in record.contents:
            self._check_there(_id(content))

    def _check_there(self, one: bytes) -> None:
        if one not in self._objects:
            raise Missing(say("the store has nothing with the id {id}", id=one.hex()))

    def records(self) -> Iterator[Record]:
        """All records, the oldest first; raises Damaged at one that cannot be read."""
        with Told(self.path):
            return iter(records.oldest_first(self._place.records))

    def get_record(self, name: str) -> Record:
        """The record of that name; raises Missing and Damaged."""
        with Told(self.path):
            return records.read(self._place.records, name)

    def is_broken(self, name: str) -> bool:
        """Whether the record of that name is damaged, exchanged, or gone though nothing deleted it."""
        with Told(self.path):
            return records.is_broken(self._place.records, name)

    def delete_record(self, name: str) -> None:
        """Forget a record; `prune` then frees what nothing else needs. Raises Missing."""
        with Told(self.path):
            records.delete(self._disk, self._place.records, name)

    def verify(self, *, quick: bool = False) -> Verification:
        """Read everything and compare it with its hashes; `quick` looks at the tables only.

        Caches that vouch for what is damaged are removed, so that what is put in again is kept again.
        """
        from dsec.store import remembering, verifying

        held = self._lock >= 0
        with self._putting():
            self._settle()
            found = verifying.verify(self._packs, self._place.records, quick=quick)
            if found.damage:
                remembering.forget(self._place)
            index.refresh(self._packs, self._place.table)
        if not held:
            self._release()
        return found

    def prune(
        self, *, budget: int | None = None, keep: frozenset[str] = frozenset(), wait_s: float = 10.0
    ) -> Pruned:
        """Free what no record needs; with a budget, forget the oldest records first until it holds.

        The newest record and those of `keep` stay in any case. Raises StoreProblem while someone else
        puts in, after `wait_s` seconds.
        """
        from dsec.store import sweeping

        with Told(self.path):
            self._settle()
            self._release()
            self._lock = locking.alone(self._place.lock, wait_s=wait_s)
            try:
                index.refresh(self._packs, self._place.table)
                pruned = sweeping.prune(self._packs, self._disk, self._place, budget=budget, keep=keep)
            finally:
                self._packs.forget()
                index.refresh(self._packs, self._place.table)
                self._release()
        return pruned

    def usage(self) -> Usage:
        """What the store takes."""
        from dsec.store import sweeping

        with Told(self.path):
            self._settle()
            return sweeping.usage(self._packs, self._place)

    def _putting(self) -> Told:
        """Keep `prune` out from now on; what fails takes what is not in a whole pack along."""
        told = Told(self.path, self._abandon)
        with told:
            if self._lock < 0:
                self._lock = locking.shared(self._place.lock)
                index.refresh(self._packs, self._place.table)
        return told

    def _writing(self) -> PackWriter:
        """Called for the first object that is new."""
        if self._writer is None:
            from dsec.store.packwriter import PackWriter

            scratch.sweep(self._disk, self._place.scratch)
            self._writer = PackWriter(
                self._disk, packs=self._place.packs, scratch=self._place.scratch, written=self._written
            )
        return self._writer

    def _written(self, name: str) -> None:
        self._packs.add([name])
        self._packs.own.add(name)

    def _reading(self) -> Callable[..., bytes]:
        """How objects are got now."""
        if self._writer is not None and self._writer.pending:
            self._settle()
        return self._get

    def _get(self, name: bytes, *, checked: bool = True) -> bytes:
        """An object; packs may have been replaced since we looked."""
        try:
            return self._packs.get(name, checked=checked)
        except (Missing, OSError):
            with Told(self.path):
                self._packs.forget()
                index.refresh(self._packs, self._place.table)
                return self._packs.get(name, checked=checked)

    def _settle(self) -> None:
        """Everything that was put in is on the disk when this returns, and folders are remembered."""
        if self._lock < 0:
            return
        with Told(self.path):
            try:
                if self._writer is not None:
                    self._writer.flush()
            except BaseException:
                self._abandon()
                raise
        packs = sorted(self._packs.known())
        for path, intake in self._unsaved.items():
            from dsec.store import remembering

            remembering.save(self._disk, self._place, path, intake.seen(), packs, intake.whole)
        self._unsaved.clear()
        if index.is_wanted(self._packs):
            index.save(self._packs, self._disk, self._place.table, aside=self._place.scratch)

    def _abandon(self) -> None:
        self._unsaved.clear()
        self._put.clear()
        self._packs.own.clear()
        if self._writer is not None:
            self._writer.abandon()

    def _release(self) -> None:
        """From now on packs may be replaced: what this process knows of its own ones holds no longer."""
        self._put.clear()
        self._packs.own.clear()
        if self._writer is not None:
            self._writer.fresh.clear()
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1


def _id(text: str) -> bytes:
    """An id as the store has it; raises StoreProblem."""
    try:
        name = bytes.fromhex(text)
    except ValueError:
        name = b""
    if len(name) != 32 or len(text) != 64:
        raise StoreProblem(say("{text} is no id: it must be 64 hexadecimal digits", text=repr(text)))
    return name
