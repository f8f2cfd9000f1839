"""Taking trees in: folders from the bottom up, reading only what the stat cache does not vouch for."""

from __future__ import annotations

import os
import stat
import time

from dsec.record import Record
from dsec.store import trees
from dsec.store.looking import NOT_STORED, Listing
from dsec.store.packform import TREE
from dsec.store.reading import CHANGED, NotAFileError, read_file
from dsec.store.statcache import FACTS, Seen, settled
from dsec.store.trees import FILE, FOLDER, LINK, PIECES, kept_mode
from dsec.store.values import Unread
from dsec.words import system

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Protocol

    from dsec.store.reading import Objects
    from dsec.store.statcache import Same, StatCache
    from dsec.store.trees import Row

    class Look(Protocol):
        """Where listings come from."""

        def listing(self, path: bytes) -> Listing:
            """The folder at this path from the root; raises OSError."""


class Totals:
    """What was taken in so far."""

    def __init__(self) -> None:
        self.files = self.folders = self.links = self.size_bytes = self.reused_files = 0
        self.unread: list[Unread] = []


class _Open(Record):
    """A folder whose own files are done, and whose folders are being taken in."""

    path: bytes
    listing: Listing
    names: bytes
    facts: bytes
    same: Same | None
    """What is known of it, when it looks as it did."""
    todo: list[bytes]
    ids: dict[bytes, bytes]
    failed: set[int]
    """Which of its names are not as they should be, and are looked at again the next time."""


class Intake:
    """One tree that is being taken in."""

    def __init__(self, root: bytes, look: Look, objects: Objects, cache: StatCache, *, times: bool) -> None:
        self._root, self._look, self._objects, self._cache = root + b"/", look, objects, cache
        self._times = times
        self._looked_ns = time.time_ns()
        self.totals = Totals()
        self._folders: list[tuple[bytes, Seen | None]] = []
        """None for those that the stat cache remembers already."""
        self.changed = False
        """Whether that differs from what it remembers."""

    def take(self) -> bytes:
        """Take everything in; the id of the tree."""
        stack = [self._enter(b"")]
        while True:
            top = stack[-1]
            if top.todo:
                name = top.todo.pop()
                stack.append(self._enter(top.path + b"/" + name if top.path else name))
                continue
            stack.pop()
            one = self._leave(top)
            if not stack:
                return one
            stack[-1].ids[top.path.rpartition(b"/")[2]] = one

    def _enter(self, path: bytes) -> _Open:
        try:
            listing = self._look.listing(path)
        except OSError as problem:
            listing = Listing()
            self.totals.unread.append(Unread(path or b".", system(problem), kept=True))
        self.totals.unread += listing.unread
        names, facts = b"\0".join(listing.names), listing.packed()
        same = self._cache.same(path, names, facts)
        return _Open(path, listing, names, facts, same, listing.folders[::-1], {}, set())

    def _leave(self, folder: _Open) -> bytes:
        """The tree of a folder of whose folders all ids are known."""
        children = b"".join([folder.ids[name] for name in folder.listing.folders])
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
        facts = settled(folder.facts, self._looked_ns, folder.failed)
        self._folders.append((folder.path, Seen(folder.names, facts, data, children, counts, one)))
        return one

    def seen(self) -> Iterator[tuple[bytes, Seen]]:
        """Every folder, as the stat cache is to remember it."""
        for path, seen in self._folders:
            known = seen or self._cache.get(path)
            assert known is not None, "a folder is the same as one that is remembered"
            yield path, known

    def _add(self, counts: tuple[int, int, int, int], *, reused: int) -> None:
        totals = self.totals
        totals.files += counts[0]
        totals.folders += counts[1]
        totals.links += counts[2]
        totals.size_bytes += counts[3]
        totals.reused_files += reused

    def _rows(self, folder: _Open, seen: Seen | None) -> tuple[list[Row], int]:
        """The rows of a folder that is new or changed, and how many files in it were not read."""
        before = seen.by_name() if seen is not None else {}
        old = {row[0]: row for row in trees.decoded(seen.tree)} if seen is not None else {}
        rows, reused = [], 0
        for at, name in enumerate(folder.listing.names):
            facts = folder.facts[at * FACTS.size : (at + 1) * FACTS.size]
            row = old.get(name) if before.get(name) == facts else None
            if row is not None and row[1] != FOLDER and self._is_there(row):
                reused += row[1] != LINK
            else:
                row = self._row(folder, at, FACTS.unpack(facts))
            if row is not None:
                rows.append(row)
        return sorted(rows), reused

    def _is_there(self, row: Row) -> bool:
        """Whether the store still has a file that the cache knows; of pieces only a vouched cache can say."""
        return self._cache.vouched or row[1] == LINK or (row[1] == FILE and row[5] in self._objects)

    def _row(self, folder: _Open, at: int, facts: tuple[int, int, int, int, int]) -> Row | None:
        name = folder.listing.names[at]
        path, told = _joined(folder.path, name), len(self.totals.unread)
        row = self._read_row(folder, path, name, facts)
        if len(self.totals.unread) > told:
            folder.failed.add(at)
        return row

    def _read_row(
        self, folder: _Open, path: bytes, name: bytes, facts: tuple[int, int, int, int, int]
    ) -> Row | None:
        mode = facts[4]
        try:
            if stat.S_ISDIR(mode):
                return self._folder_row(folder, name, facts)
            if stat.S_ISLNK(mode):
                return self._link_row(path, name, facts)
            if stat.S_ISREG(mode):
                return self._file_row(path, name, facts)
            why = NOT_STORED
        except NotAFileError:
            why = NOT_STORED
        except OSError as problem:
            why = "vanished" if isinstance(problem, FileNotFoundError) else system(problem)
        self.totals.unread.append(Unread(path, why))
        return None

    def _folder_row(self, folder: _Open, name: bytes, facts: tuple[int, int, int, int, int]) -> Row:
        one = folder.ids.get(name) or self._objects.put(trees.encoded([]), TREE)
        return name, FOLDER, kept_mode(facts[4]), self._time(facts[1]), 0, one, b""

    def _link_row(self, path: bytes, name: bytes, facts: tuple[int, int, int, int, int]) -> Row:
        target = os.readlink(self._root + path)
        one = self._objects.id_of(target)
        return name, LINK, kept_mode(facts[4]), self._time(facts[1]), len(target), one, target

    def _file_row(self, path: bytes, name: bytes, facts: tuple[int, int, int, int, int]) -> Row:
        found = read_file(self._root + path, facts, self._objects)
        if not found.steady:
            self.totals.unread.append(Unread(path, CHANGED, kept=True))
        mode, mtime = kept_mode(found.facts[4]), self._time(found.facts[1])
        kind = PIECES if found.pieces else FILE
        return name, kind, mode, mtime, found.size, found.id, found.pieces

    def _time(self, mtime_ns: int) -> int:
        return mtime_ns if self._times else 0


def _counts(rows: list[Row]) -> tuple[int, int, int, int]:
    """Files, folders, links, and bytes of files."""
    kinds = [row[1] for row in rows]
    folders, links = kinds.count(FOLDER), kinds.count(LINK)
    size = sum([row[4] for row in rows if row[1] in (FILE, PIECES)])
    return len(rows) - folders - links, folders, links, size


def _joined(folder: bytes, name: bytes) -> bytes:
    return folder + b"/" + name if folder else name


def _with_id(row: Row, ids: dict[bytes, bytes]) -> Row:
    name, kind, mode, mtime, size, one, extra = row
    return (name, kind, mode, mtime, size, ids.get(name, one) if kind == FOLDER else one, extra)
