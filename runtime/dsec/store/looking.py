"""Looking at folders: what is in each, and what the system says of it. Contents are not read."""

from __future__ import annotations

import os
import stat
import struct
import sys

from dsec.hashing import blake3_of, framed
from dsec.store.facts import facts_of
from dsec.store.values import StoreProblem, Unread
from dsec.words import say, system

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from dsec.store.values import Entry, Facts

    Skip = Callable[[bytes, bool], bool]

_CODING = (sys.getfilesystemencoding(), sys.getfilesystemencodeerrors())
"""What the names of an open folder were decoded with."""
OTHER_SYSTEM = "on another file system"
_KIND, _FOLDER, _SIGN = 0o170000, 0o040000, 1 << 63
_ODD = (b"//", b"/./", b"/../")
_ABOVE: Facts = (0, 0, 0, 0, 0)
_LONG = 3000
"""Paths of more bytes may be longer than the system takes: what is there is looked at from its folder."""
NOT_STORED = "not a file, folder or link"


class Listing:
    """What is in one folder, in the order in which the system gave it."""

    __slots__ = ("facts", "folders", "names", "unread")

    def __init__(self) -> None:
        self.names: list[bytes] = []
        self.facts: list[int] = []
        """Five for each name."""
        self.folders: list[bytes] = []
        """Those of the names that are folders to go into."""
        self.unread: list[Unread] = []

    def packed(self) -> bytes:
        """The facts as a stat cache has them."""
        return _packed(self.facts)


def _packed(numbers: list[int]) -> bytes:
    return struct.pack(f"<{len(numbers)}q", *numbers)


class FolderLook:
    """Everything below a root, on its own file system; `skip(path, is_folder)` leaves things out."""

    def __init__(self, root: bytes, *, skip: Skip | None, avoid: tuple[int, int]) -> None:
        """`avoid` is device and inode of a folder to stay out of: the store, which may be inside."""
        self._skip, self._avoid = skip, avoid
        self._device = _root(root).st_dev

    def whole(self, *, times: bool) -> bytes:  # noqa: ARG002  # another look knows
        """What is there is not known before every folder was opened."""
        return b""

    def glance(self, _path: bytes) -> None:
        """What is in a folder only the open folder tells."""

    def listing(self, path: bytes, fd: int) -> Listing:
        """The open folder, which is at this path from the root; raises OSError."""
        found = Listing()
        below = path + b"/" if path else b""
        names, facts, skip = found.names, found.facts, self._skip
        with os.scandir(fd) as entries:
            for entry in entries:
                name = entry.name.encode(*_CODING)
                if skip is not None and skip(below + name, entry.is_dir(follow_symlinks=False)):
                    continue
                try:
                    state = entry.stat(follow_symlinks=False)
                except OSError as problem:
                    found.unread.append(Unread(below + name, _gone(problem)))
                    continue
                mode, inode = state.st_mode, state.st_ino
                if mode & _KIND == _FOLDER:
                    if inode != self._avoid[1] and state.st_dev == self._device:
                        found.folders.append(name)
                    elif not self._enters(state, below + name, found):
                        continue
                names.append(name)
                if inode >= _SIGN:
                    inode -= _SIGN << 1
                facts += (state.st_size, state.st_mtime_ns, state.st_ctime_ns, inode, mode)
        return found

    def _enters(self, state: os.stat_result, path: bytes, found: Listing) -> bool:
        """Whether a folder is taken in; its contents are not if they are on another file system."""
        if (state.st_dev, state.st_ino) == self._avoid:
            return False
        if state.st_dev == self._device:
            found.folders.append(path.rpartition(b"/")[2])
        else:
            found.unread.append(Unread(path, OTHER_SYSTEM, kept=True))
        return True


class EntriesLook:
    """The named entries of a root, with the folders on the way to them.

    Where whoever names them has looked at them all, nobody does so again, and only folders are looked at.
    """

    def __init__(self, root: bytes, entries: Iterable[Entry]) -> None:
        _root(root)
        self._below = root + b"/"
        self._entries = list(entries)
        self._named = [path for path, _, _ in self._entries]
        _check(self._named)
        self._facts: list[int] | None = []
        """Of all that is named; None: not all was looked at."""
        for _, _, facts in self._entries:
            if facts is None:
                self._facts = None
                break
            self._facts += facts
        self._states: dict[bytes, os.stat_result] = {}
        """Of folders that were looked at already."""
        self._made: dict[bytes, dict[bytes, Facts | None]] = {}

    @property
    def _inside(self) -> dict[bytes, dict[bytes, Facts | None]]:
        """Of each folder: the names in it, and what they look like; _ABOVE is a folder with some in it."""
        if not self._made:
            self._made[b""] = {}
            for path, _, facts in self._entries:
                self._name(path.rstrip(b"/"), facts)
        return self._made

    def _name(self, path: bytes, facts: Facts | None) -> None:
        folder, _, name = path.rpartition(b"/")
        inside = self._made.get(folder)
        if inside is None:
            inside = self._made[folder] = {}
            self._lead_to(folder)
        if inside.get(name) is not _ABOVE:
            inside[name] = facts

    def _lead_to(self, folder: bytes) -> None:
        """Name the folders on the way to a new one."""
        while folder:
            folder, _, name = folder.rpartition(b"/")
            known = self._made.get(folder)
            if known is not None:
                known[name] = _ABOVE
                return
            self._made[folder] = {name: _ABOVE}

    def _folders(self) -> list[bytes]:
        """All folders that the named entries are in, in order, without what is in each."""
        found = {path[: path.rfind(b"/")] for path in self._named if b"/" in path}
        for folder in tuple(found):
            while b"/" in folder and (folder := folder[: folder.rfind(b"/")]) not in found:
                found.add(folder)
        return sorted(found)

    def whole(self, *, times: bool) -> bytes:
        """Digest of what is named, how it was seen to look, and the folders on the way to it."""
        if self._facts is None:
            return b""
        folders: list[int] = []
        paths = self._folders()
        for path in paths:
            if len(path) > _LONG:
                return b""
            try:
                state = self._states[path] = os.lstat(self._below + path)
            except OSError:
                return b""
            folders += (state.st_mode, state.st_mtime_ns if times else 0)
        parts = (b"\0".join(self._named), b"\0".join(paths), _packed(self._facts), _packed(folders))
        return blake3_of()(b"".join(map(framed, parts))).digest()

    def glance(self, path: bytes) -> Listing | None:
        """The named entries of the folder at this path from the root, as they were seen to be."""
        if self._facts is None or len(path) > _LONG:
            return None
        below = path + b"/" if path else b""
        found = Listing()
        for name, facts in self._inside[path].items():
            if facts is _ABOVE:
                self._add(found, below + name, facts, path=self._below + below + name, fd=None)
            else:
                assert facts is not None, "all were seen"
                found.names.append(name)
                found.facts += facts
        return found

    def listing(self, path: bytes, fd: int) -> Listing:
        """The named entries of the open folder, which is at this path from the root."""
        found = Listing()
        below = path + b"/" if path else b""
        for name, facts in self._inside[path].items():
            self._add(found, below + name, facts, path=name, fd=fd)
        return found

    def _add(self, found: Listing, entry: bytes, facts: Facts | None, *, path: bytes, fd: int | None) -> None:
        """Look at an entry, which is at `path`, from the folder `fd` if there is one."""
        try:
            state = self._states.get(entry) or os.stat(path, dir_fd=fd, follow_symlinks=False)
        except OSError as problem:
            found.unread.append(Unread(entry, _gone(problem)))
            return
        name = entry.rpartition(b"/")[2]
        if facts is _ABOVE and not stat.S_ISDIR(state.st_mode):
            found.unread.append(Unread(entry, "a folder when it was named, now something else"))
        elif facts is _ABOVE:
            found.folders.append(name)
        found.names.append(name)
        found.facts += facts_of(state)


def _check(paths: list[bytes]) -> None:
    """Raise for one that does not lead below the root; all are looked at together, as most are right."""
    whole = b"/%b/" % b"/\0/".join([path.rstrip(b"/") for path in paths])
    if whole.count(b"\0") == len(paths) - 1 and not any(part in whole for part in _ODD):
        return
    for path in paths:
        one = b"/%b/" % path.rstrip(b"/")
        if b"\0" in path or any(part in one for part in _ODD):
            raise StoreProblem(
                say("{path} is no path below the folder that is taken in", path=os.fsdecode(path))
            )


def _gone(problem: OSError) -> str:
    return "vanished" if isinstance(problem, FileNotFoundError | NotADirectoryError) else system(problem)


def _root(root: bytes) -> os.stat_result:
    try:
        state = os.stat(root)
    except OSError as problem:
        raise StoreProblem(say("{path}: {why}", path=os.fsdecode(root), why=system(problem))) from None
    if not stat.S_ISDIR(state.st_mode):
        raise StoreProblem(say("{path} is not a folder", path=os.fsdecode(root)))
    return state
