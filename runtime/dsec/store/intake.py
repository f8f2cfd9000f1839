"""Taking trees in: folders from the bottom up, reading only what the stat cache does not vouch for."""

from __future__ import annotations

import errno
import os
import stat
import time

from dsec.store import descent, trees
from dsec.store.descent import Folder
from dsec.store.facts import facts_of
from dsec.store.looking import NOT_STORED, Listing
from dsec.store.packform import TREE
from dsec.store.reading import ChangedError, NotAFileError, Reading
from dsec.store.statcache import LOOK, NO_WHOLE, Seen, Whole, packed, settled
from dsec.store.trees import DEEPEST, FILE, FOLDER, LINK, PIECES, kept_mode
from dsec.store.values import CHANGED, Unread
from dsec.words import system

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Protocol

    from dsec.store.reading import Facts, Objects
    from dsec.store.statcache import Same, StatCache
    from dsec.store.trees import Row

    class Look(Protocol):
        """Where listings come from."""

        def whole(self, *, times: bool) -> bytes:
            """Digest of all that is there and how it looks, with folders' times or without; b"": unknown."""

        def glance(self, path: bytes) -> Listing | None:
            """The folder at this path from the root without opening it; None: it must be opened."""

        def listing(self, path: bytes, fd: int) -> Listing:
            """The same of the open folder; raises OSError."""


TOO_DEEP = f"what is in more than {DEEPEST} folders"


class Totals:
    """What was taken in so far."""

    def __init__(self) -> None:
        self.files = self.folders = self.links = self.size_bytes = self.reused_files = 0
        self.unread: list[Unread] = []


class _Open:
    """A folder whose own files are done, and whose folders are being taken in."""

    __slots__ = ("failed", "folder", "ids", "listing", "looks", "path", "same", "todo")

    def __init__(
        self, path: bytes, folder: Folder, listing: Listing, looks: tuple[bytes, bytes], same: Same | None
    ) -> None:
        self.path, self.folder, self.listing = path, folder, listing
        self.looks, self.same = looks, same
        """Names and facts as a stat cache has them, and what is known of it when it looks as it did."""
        self.todo = listing.folders[::-1]
        self.ids: dict[bytes, bytes] = {}
        self.failed: set[int] = set()
        """Which of its names are not as they should be, and are looked at again the next time."""


class Intake:
    """One tree that is being taken in."""

    def __init__(
        self, root: bytes, look: Look, objects: Objects, cache: StatCache, *, times: bool, exact: int = -1
    ) -> None:
        self._exact = exact
        """Files of at most so many bytes, and links, are to be as the listing says, or are not taken in."""
        self._root, self._look, self._objects, self._cache = root, look, objects, cache
        self._times, self._reading = times, Reading(objects)
        self._looked_ns = time.time_ns()
        self.totals = Totals()
        self._folders: list[tuple[bytes, Seen | None]] = []
        """None for those that the stat cache remembers already."""
        self.changed = False
        """Whether that differs from what it remembers."""
        self.whole = NO_WHOLE
        """What it is to remember of all together."""
        self._settled = True

    def take(self) -> bytes:
        """Take everything in; the id of the tree."""
        known, look = self._cache.whole, self._look.whole(times=self._times)
        if look and self._cache.vouched and known.look == look:
            self.whole = known
            self._add(known.counts, reused=known.counts[0])
            return known.id
        one = self._walk()
        if look and self._settled and not self.totals.unread:
            totals = self.totals
            self.whole = Whole(look, (totals.files, totals.folders, totals.links, totals.size_bytes), one)
        self.changed = self.changed or self.whole != known
        return one

    def _walk(self) -> bytes:
        stack = [self._enter(b"", b"", None)]
        try:
            while True:
                top = stack[-1]
                if top.todo:
                    name = top.todo.pop()
                    stack.append(self._enter(_joined(top.path, name), name, top.folder))
                    self._check_depth(stack)
                    continue
                one = self._leave(top)
                if len(stack) == 1:
                    return one
                stack[-2].ids[top.path.rpartition(b"/")[2]] = one
                stack[-2].folder.back_from(top.folder)
                stack.pop().folder.close()
        finally:
            for left in stack:
                left.folder.close()

    def _check_depth(self, stack: list[_Open]) -> None:
        """Few folders are open at a time, and none is entered that nobody could read again."""
        if len(stack) > descent.HELD:
            stack[-1 - descent.HELD].folder.let_go()
        deepest = stack[-1]
        if len(stack) >= DEEPEST - 1 and deepest.todo:
            self.totals.unread.append(Unread(deepest.path, TOO_DEEP, kept=True))
            deepest.todo.clear()

    def _enter(self, path: bytes, name: bytes, parent: Folder | None) -> _Open:
        """A folder, with all that is in it but folders."""
        folder = Folder(self._root) if parent is None else Folder(name, parent)
        try:
            listing = self._look.glance(path) or self._look.listing(path, folder.reach())
        except OSError as problem:
            listing = Listing()
            listing.unread.append(Unread(path or b".", _why(problem), kept=True))
        if listing.unread:
            self.totals.unread += listing.unread
        names, facts = b"\0".join(listing.names), listing.packed()
        return _Open(path, folder, listing, (names, facts), self._cache.same(path, names, facts))

    def _leave(self, folder: _Open) -> bytes:
        """The tree of a folder of whose folders all ids are known."""
        ids = folder.ids
        children = b"".join([ids.get(name, b"") for name in folder.listing.folders]) if ids else b""
        same = folder.same
        if same is not None and same.children == children:
            self._add(same.counts, reused=same.counts[0])
            self._folders.append((folder.path, None))
            return same.id
        self.changed = True
        seen = self._cache.get(folder.path)
        if same is not None and seen is not None:
            rows = [_with_id(row, folder.ids) for row in trees.decoded(seen.tree)]
            self._add(same.counts, reused=same.counts[0])
            counts = same.counts
        else:
            rows, reused = self._rows(folder, seen)
            counts = _counts(rows)
            self._add(counts, reused=reused)
        data = trees.encoded(rows)
        one = self._objects.put(data, TREE)
        names, facts = folder.looks
        kept = settled(facts, folder.listing.facts, self._looked_ns, folder.failed)
        self._settled = self._settled and kept is facts
        self._folders.append((folder.path, Seen._make((names, kept, data, children, counts, one))))
        return one

    def seen(self) -> Iterator[tuple[bytes, bytes]]:
        """Every folder, as the stat cache is to remember it."""
        for path, seen in self._folders:
            yield self._cache.packed(path) if seen is None else packed(path, seen)

    def _add(self, counts: tuple[int, int, int, int], *, reused: int) -> None:
        totals = self.totals
        totals.files += counts[0]
        totals.folders += counts[1]
        totals.links += counts[2]
        totals.size_bytes += counts[3]
        totals.reused_files += reused

    def _rows(self, folder: _Open, seen: Seen | None) -> tuple[list[Row], int]:
        """The rows of a folder that is new or changed, and how many files in it were not read."""
        kept = self._kept(folder, seen) if seen is not None else {}
        rows = []
        for at, name in enumerate(folder.listing.names):
            row = kept.get(name) or self._row(folder, at, name)
            if row is not None:
                rows.append(row)
        rows.sort()
        return rows, sum([row[1] != LINK for row in kept.values()])

    def _kept(self, folder: _Open, seen: Seen) -> dict[bytes, Row]:
        """The rows of what looks as it did, by name; folders are not among them."""
        old = {row[0]: row for row in trees.decoded(seen.tree)}
        names, (joined, facts) = folder.listing.names, folder.looks
        before: Iterable[tuple[bytes | None]] = LOOK.iter_unpack(seen.facts)
        if seen.names != joined:
            known = seen.by_name()
            before = [(known.get(name),) for name in names]
        kept, vouched = {}, self._cache.vouched
        for name, was, now in zip(names, before, LOOK.iter_unpack(facts), strict=True):
            row = old.get(name) if was == now else None
            if row is not None and row[1] != FOLDER and (vouched or self._is_there(row)):
                kept[name] = row
        return kept

    def _is_there(self, row: Row) -> bool:
        """Whether the store still has a file that the cache knows; of pieces only a vouched cache can say."""
        return row[1] == LINK or (row[1] == FILE and row[5] in self._objects)

    def _row(self, folder: _Open, at: int, name: bytes) -> Row | None:
        size, mtime, ctime, inode, mode = folder.listing.facts[at * 5 : at * 5 + 5]
        told = len(self.totals.unread)
        row = self._read_row(folder, name, (size, mtime, ctime, inode, mode))
        if len(self.totals.unread) > told:
            folder.failed.add(at)
        return row

    def _read_row(self, folder: _Open, name: bytes, facts: Facts) -> Row | None:
        kind = stat.S_IFMT(facts[4])
        try:
            if kind == stat.S_IFREG:
                return self._file_row(folder, name, facts)
            if kind == stat.S_IFDIR:
                return self._folder_row(folder, name, facts)
            if kind == stat.S_IFLNK:
                return self._link_row(folder, name, facts)
            why = NOT_STORED
        except NotAFileError:
            why = NOT_STORED
        except ChangedError:
            why = CHANGED
        except OSError as problem:
            why = _why(problem)
        self.totals.unread.append(Unread(_joined(folder.path, name), why))
        return None

    def _folder_row(self, folder: _Open, name: bytes, facts: Facts) -> Row:
        one = folder.ids.get(name) or self._objects.put(trees.encoded([]), TREE)
        return name, FOLDER, kept_mode(facts[4]), self._time(facts[1]), 0, one, b""

    def _link_row(self, folder: _Open, name: bytes, facts: Facts) -> Row:
        inside = folder.folder.reach()
        target = os.readlink(name, dir_fd=inside)
        if self._exact >= 0 and facts_of(os.lstat(name, dir_fd=inside)) != facts:
            raise ChangedError
        one = self._objects.id_of(target)
        return name, LINK, kept_mode(facts[4]), self._time(facts[1]), len(target), one, target

    def _file_row(self, folder: _Open, name: bytes, facts: Facts) -> Row:
        one, size, pieces, facts, steady = self._reading.file(
            name, facts, folder=folder.folder.reach(), exact=facts[0] <= self._exact
        )
        if not steady:
            self.totals.unread.append(Unread(_joined(folder.path, name), CHANGED, kept=True))
        kind = PIECES if pieces else FILE
        return name, kind, kept_mode(facts[4]), facts[1] if self._times else 0, size, one, pieces

    def _time(self, mtime_ns: int) -> int:
        return mtime_ns if self._times else 0


def _counts(rows: list[Row]) -> tuple[int, int, int, int]:
    """Files, folders, links, and bytes of files."""
    kinds = [row[1] for row in rows]
    folders, links = kinds.count(FOLDER), kinds.count(LINK)
    size = sum([row[4] for row in rows if row[1] in (FILE, PIECES)])
    return len(rows) - folders - links, folders, links, size


def _why(problem: OSError) -> str:
    """In words; a folder that is not where it was has no open parent any more."""
    if problem.errno in (errno.ESTALE, errno.EBADF):
        return CHANGED
    return "vanished" if isinstance(problem, FileNotFoundError) else system(problem)


def _joined(folder: bytes, name: bytes) -> bytes:
    return folder + b"/" + name if folder else name


def _with_id(row: Row, ids: dict[bytes, bytes]) -> Row:
    name, kind, mode, mtime, size, one, extra = row
    return (name, kind, mode, mtime, size, ids.get(name, one) if kind == FOLDER else one, extra)
