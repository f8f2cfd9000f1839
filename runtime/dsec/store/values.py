"""What goes into the content-addressed store and what it answers: values only.

Names and paths are bytes, ids are 64 hex digits of BLAKE3. The id of a file is that of its bytes,
so `b3sum` agrees, however the store cuts the file up.
"""

from __future__ import annotations

from dsec.errors import DSecError
from dsec.record import Record as _Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Literal

    Kind = Literal["file", "dir", "link"]
    Facts = tuple[int, int, int, int, int]
    """Size, mtime and ctime in ns, inode (signed), mode."""


class StoreProblem(DSecError):
    """The store could not be opened, read or written."""


class NameTaken(StoreProblem):
    """A record of that name is there already."""


class Missing(StoreProblem):
    """Nothing is kept under that id or name."""


class NothingThere(Missing):
    """A tree has no such path."""


class Damaged(StoreProblem):
    """What is stored is not what was put in."""


class Entry(_Record):
    """One thing to take in: a path from the root, its parts joined by `/`.

    Folders on the way need not be named. A folder that is named is taken with the entries below it
    that are named too, so that alone it is an empty one. `kind` is what the caller saw; what the
    store finds counts.
    """

    path: bytes
    kind: Kind = "file"
    facts: Facts | None = None
    """What the caller saw of it, with lstat; None: the store is to look itself.

    A file is read again whenever it is not known to have looked like this when it was last read.
    """


CHANGED = "changed while it was read"


class Unread(_Record):
    """An entry that was not taken in as it stands."""

    path: bytes
    reason: str
    """`changed while it was read`, `vanished`, `not a file, folder or link`, or the system's words."""
    kept: bool = False
    """Whether what was read the last time is in the tree all the same (a file that grows)."""


class Tree(_Record):
    """A tree that was put in."""

    id: str
    files: int
    folders: int
    links: int
    size_bytes: int
    """Of all files, as long as they are, holes counted."""
    new_objects: int
    new_bytes: int
    """Of content that the store did not have before, before it is compressed."""
    reused_files: int
    """Files that were not even read, because the stat cache knows them."""
    unread: tuple[Unread, ...] = ()


class TreeEntry(_Record):
    """One entry of a stored tree."""

    path: bytes
    kind: Kind
    mode: int
    """Permission bits, without set-user-id and set-group-id."""
    mtime_ns: int
    """0 where the tree was put in without times."""
    size: int
    content: str = ""
    """A file: BLAKE3 of its bytes. A folder: the id of its tree."""
    target: bytes = b""
    """A link: where it leads, as it is written."""
    pieces: str = ""
    """A file that is kept in pieces, or that has holes: the id of their list."""


class Beside(_Record):
    """What is known of the files of a tree beside it, for a checkout to bring back."""

    twins: Mapping[bytes, int]
    """Names that were one file have one number; those of equal content become one again."""
    attributes: Mapping[bytes, tuple[tuple[str, bytes], ...]]
    """Extended attributes of a file or folder."""


NOTHING = Beside({}, {})


class Change(_Record):
    """One path that differs between two trees."""

    path: bytes
    before: TreeEntry | None
    after: TreeEntry | None

    @property
    def content_differs(self) -> bool:
        """Whether more than times differ: content, target, kind, or the right to execute."""
        if self.before is None or self.after is None:
            return True
        return _essence(self.before) != _essence(self.after)


def _essence(entry: TreeEntry) -> tuple[str, str, bytes, bool]:
    content = "" if entry.kind == "dir" else entry.content
    return entry.kind, content, entry.target, entry.kind == "file" and bool(entry.mode & 0o100)


class Report(_Record):
    """What a checkout wrote."""

    files: int
    folders: int
    links: int
    written_bytes: int
    outward: tuple[bytes, ...] = ()
    """Links among them that lead out of the tree."""
    lost: tuple[tuple[bytes, str], ...] = ()
    """(path, why) of what could not be brought back of what was known beside the tree."""


class Record(_Record):
    """A named snapshot: a document, and what the store must keep for its sake."""

    name: str
    document: bytes
    trees: tuple[str, ...]
    contents: tuple[str, ...]
    at_ns: int
    """When it was put in, in nanoseconds since 1970; not part of what it says."""


class Damage(_Record):
    """Something of the store that is not as it was written."""

    file: str
    """From the store's folder."""
    what: str
    objects: tuple[str, ...]
    """Ids that cannot be read because of it."""
    records: tuple[str, ...]
    """Names of the records that need one of them."""


class Verification(_Record):
    """What `verify` read and found."""

    packs: int
    objects: int
    records: int
    read_bytes: int
    damage: tuple[Damage, ...]
    notes: tuple[str, ...] = ()
    """What was put right by itself: a cache that is made anew."""


class Pruned(_Record):
    """What `prune` removed."""

    records: tuple[str, ...]
    packs: int
    """Packs that are gone, rewritten ones counted."""
    freed_bytes: int
    """On the disk; what rewriting added is taken off."""
    left_bytes: int
    stopped: bool = False
    """Whether some packs were left as they are because there was not enough free space to rewrite them."""


class Usage(_Record):
    """What the store takes."""

    packs: int
    objects: int
    records: int
    stored_bytes: int
    """On the disk, packs and records."""
    content_bytes: int
    """The same before it was compressed."""
    unfinished_bytes: int
    """Temporary files of processes that died or are still writing."""
