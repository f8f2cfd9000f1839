"""Writing stored trees into folders: nothing is replaced, and nothing is written through a link."""

from __future__ import annotations

import heapq
import os

from dsec.hashing import blake3_of
from dsec.store.pieces import HOLE, PIECE_BYTES
from dsec.store.treewalk import runs_of
from dsec.store.values import NOTHING, Beside, Damaged, NothingThere, Report, StoreProblem, TreeEntry
from dsec.words import say, system

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from dsec.store.treewalk import Get

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_ZEROS = bytes(PIECE_BYTES)
_TOLD = 100
"""So many links that lead out are named."""


def content_of(get: Get, entry: TreeEntry) -> Iterator[tuple[int, bytes]]:
    """A file's pieces and holes, as (length, data); a hole has no data. Raises Missing and Damaged."""
    wanted = bytes.fromhex(entry.content)
    if not entry.pieces:
        data = get(wanted)
        if len(data) != entry.size:
            raise _wrong(entry)
        yield len(data), data
        return
    whole = blake3_of()(b"")
    runs, size = runs_of(get, bytes.fromhex(entry.pieces))
    if size != entry.size:
        raise _wrong(entry)
    for length, one in runs:
        data = b"" if one == HOLE else get(one)
        if one != HOLE and len(data) != length:
            raise _wrong(entry)
        for at in range(0, 0 if data else length, PIECE_BYTES):
            whole.update(_ZEROS[: min(PIECE_BYTES, length - at)])
        whole.update(data)
        yield length, data
    if whole.digest() != wanted:
        raise _wrong(entry)


def plainly(content: Iterable[tuple[int, bytes]]) -> Iterator[bytes]:
    """The bytes of a file, holes as zeros."""
    for length, data in content:
        if data:
            yield data
            continue
        for at in range(0, length, PIECE_BYTES):
            yield _ZEROS[: min(PIECE_BYTES, length - at)]


def _wrong(entry: TreeEntry) -> Damaged:
    path = os.fsdecode(entry.path)
    return Damaged(say("{path} of the store does not consist of what its tree says", path=path))


class Checkout:
    """One tree that is being written; folders are opened name by name from the target on."""

    def __init__(self, target: bytes, get: Get, beside: Beside = NOTHING) -> None:
        """Make the target, if it is not there."""
        self._get, self._target, self._beside = get, target, beside
        self._firsts: dict[int, TreeEntry] = {}
        self._twins: list[tuple[TreeEntry, TreeEntry]] = []
        self._lost: list[tuple[bytes, str]] = []
        self._files = self._folders = self._links = self._bytes = 0
        self._outward: list[bytes] = []
        self._made: list[TreeEntry] = []
        self._later: list[TreeEntry] = []
        try:
            os.makedirs(target, exist_ok=True)
            self._root = os.open(target, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as problem:
            raise self._problem(b"", problem) from None
        self._last = (b"", os.dup(self._root))

    def write(self, entries: Iterable[TreeEntry]) -> Report:
        """Write the entries; links last, then the modes and times of folders, the inner ones first."""
        try:
            for entry in entries:
                self._one(entry)
            for first, entry in self._twins:
                self._again(first, entry)
            for entry in self._later:
                self._guarded(entry, self._link)
            for entry in reversed(self._made):
                self._guarded(entry, self._finish)
        finally:
            os.close(self._root)
            os.close(self._last[1])
        outward, lost = tuple(self._outward[:_TOLD]), tuple(self._lost[:_TOLD])
        return Report(self._files, self._folders, self._links, self._bytes, outward, lost)

    def _one(self, entry: TreeEntry) -> None:
        match entry.kind:
            case "dir":
                self._guarded(entry, self._folder)
            case "link":
                self._later.append(entry)
            case "file":
                first = self._first(entry)
                if first is entry:
                    self._guarded(entry, self._file)
                else:
                    self._twins.append((first, entry))

    def _first(self, entry: TreeEntry) -> TreeEntry:
        """The file that was this one under another name, and is written already; else this one."""
        number = self._beside.twins.get(entry.path)
        if number is None:
            return entry
        first = self._firsts.setdefault(number, entry)
        same = (first.content, first.mode, first.mtime_ns) == (entry.content, entry.mode, entry.mtime_ns)
        return first if same else entry

    def _again(self, first: TreeEntry, entry: TreeEntry) -> None:
        """Give a file that is written a second name; where that cannot be, it is written again."""
        folder, _, name = first.path.rpartition(b"/")
        source = os.dup(self._opened(folder))
        try:
            self._guarded(
                entry,
                lambda _, to, fd: os.link(name, to, src_dir_fd=source, dst_dir_fd=fd, follow_symlinks=False),
            )
        except StoreProblem:
            self._guarded(entry, self._file)
            self._lost.append((entry.path, say("it is a file of its own now")))
        else:
            self._files += 1
        finally:
            os.close(source)

    def _set_attributes(self, entry: TreeEntry, fd: int) -> None:
        for name, value in self._beside.attributes.get(entry.path, ()):
            try:
                os.setxattr(fd, name, value)
            except OSError as problem:
                why = say("its attribute {name} is lost: {why}", name=name, why=system(problem))
                self._lost.append((entry.path, why))

    def _guarded(self, entry: TreeEntry, act: Callable[[TreeEntry, bytes, int], None]) -> None:
        folder, _, name = entry.path.rpartition(b"/")
        try:
            act(entry, name, self._opened(folder))
        except OSError as problem:
            raise self._problem(entry.path, problem) from None

    def _opened(self, folder: bytes) -> int:
        """A folder below the target; no part of the way may be a link. The last one stays open."""
        if self._last[0] == folder:
            return self._last[1]
        fd = os.dup(self._root)
        for part in folder.split(b"/") if folder else ():
            try:
                inner = os.open(part, _FOLDER, dir_fd=fd)
            finally:
                os.close(fd)
            fd = inner
        os.close(self._last[1])
        self._last = (folder, fd)
        return fd

    def _folder(self, entry: TreeEntry, name: bytes, fd: int) -> None:
        os.mkdir(name, 0o700, dir_fd=fd)
        self._made.append(entry)
        self._folders += 1

    def _file(self, entry: TreeEntry, name: bytes, fd: int) -> None:
        out = os.open(name, _NEW, 0o600, dir_fd=fd)
        try:
            for length, data in content_of(self._get, entry):
                if not data:
                    os.lseek(out, length, os.SEEK_CUR)
                while data:
                    data = data[os.write(out, data) :]
            if entry.pieces:
                os.ftruncate(out, entry.size)
            self._set_attributes(entry, out)
            os.fchmod(out, entry.mode)
            if entry.mtime_ns:
                os.utime(out, ns=(entry.mtime_ns, entry.mtime_ns))
        finally:
            os.close(out)
        self._files += 1
        self._bytes += entry.size

    def _link(self, entry: TreeEntry, name: bytes, fd: int) -> None:
        os.symlink(entry.target, name, dir_fd=fd)
        if entry.mtime_ns:
            os.utime(name, ns=(entry.mtime_ns, entry.mtime_ns), dir_fd=fd, follow_symlinks=False)
        self._links += 1
        if leads_out(entry):
            self._outward.append(entry.path)

    def _finish(self, entry: TreeEntry, name: bytes, fd: int) -> None:
        inner = os.open(name, _FOLDER, dir_fd=fd)
        try:
            self._set_attributes(entry, inner)
            os.fchmod(inner, entry.mode)
            if entry.mtime_ns:
                os.utime(inner, ns=(entry.mtime_ns, entry.mtime_ns))
        finally:
            os.close(inner)

    def _problem(self, path: bytes, problem: OSError) -> StoreProblem:
        place = os.fsdecode(os.path.join(self._target, path))
        hint = say("write it into a new or empty folder") if isinstance(problem, FileExistsError) else ""
        return StoreProblem(
            say("{path} could not be written: {why}", path=place, why=system(problem)), hint=hint
        )


def leads_out(entry: TreeEntry) -> bool:
    """Whether a link leads out of its tree, going by its words alone."""
    if entry.target.startswith(b"/"):
        return True
    depth = entry.path.count(b"/")
    for part in entry.target.split(b"/"):
        depth += -1 if part == b".." else 0 if part in (b"", b".") else 1
        if depth < 0:
            return True
    return False


def joined(parts: Iterable[tuple[bytes, Iterable[TreeEntry]]]) -> Iterator[TreeEntry]:
    """The entries of several trees as those of one; each lies at a path below the target.

    A folder that several have is written once, as the first says; so is a file that is the same in all.
    Raises Damaged where one path is two things.
    """
    last: TreeEntry | None = None
    streams = [_below(place, entries) for place, entries in parts]
    for entry in heapq.merge(*streams, key=lambda one: one.path.split(b"/")):
        if last is not None and entry.path == last.path:
            if not _alike(last, entry):
                raise _two_things(entry.path)
            continue
        if last is not None and last.kind != "dir" and entry.path.startswith(last.path + b"/"):
            raise _two_things(last.path)
        yield entry
        last = entry


def _below(place: bytes, entries: Iterable[TreeEntry]) -> Iterator[TreeEntry]:
    """Entries with the path of their tree, and the folders that lead to it."""
    parts = place.split(b"/") if place else []
    for number in range(len(parts)):
        yield TreeEntry(b"/".join(parts[: number + 1]), "dir", 0o755, 0, 0)
    for entry in entries:
        yield entry._replace(path=place + b"/" + entry.path) if parts else entry


def _alike(one: TreeEntry, other: TreeEntry) -> bool:
    if one.kind == "dir" or other.kind == "dir":
        return one.kind == other.kind
    return (one.kind, one.content, one.target) == (other.kind, other.content, other.target)


def _two_things(path: bytes) -> Damaged:
    return Damaged(say("{path} is two different things in what is to be written", path=os.fsdecode(path)))


def only_below(entries: Iterable[TreeEntry], only: bytes) -> Iterator[TreeEntry]:
    """One file or folder of a tree, with what is in it and the folders on the way; raises NothingThere."""
    only, found = only.strip(b"/"), False
    for entry in entries:
        inside = entry.path == only or entry.path.startswith(only + b"/")
        found = found or inside
        if inside or only.startswith(entry.path + b"/"):
            yield entry
    if not found:
        raise NothingThere(say("the tree has no {path}", path=os.fsdecode(only)))


__all__ = ["Checkout", "content_of", "joined", "leads_out", "only_below"]
