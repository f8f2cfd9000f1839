"""The store as its users see it."""

from __future__ import annotations

from dsec.store.values import (
    Change,
    Entry,
    Pruned,
    Record,
    Report,
    Tree,
    TreeEntry,
    Usage,
    Verification,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from types import TracebackType


def open_store(path: str, *, create: bool = True) -> Store:
    """The store in this folder, made on first use; raises StoreProblem for one of a newer version.

    `create=False` raises Missing where there is none. A store that may not be written can be read.
    """
    raise NotImplementedError


class Store:
    """A store that is open; not for use by several threads at once."""

    def __enter__(self) -> Store:
        """Close it at the end of the block."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, _error: object, _trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Write what is pending, and let `prune` go on."""

    def put_bytes(self, data: bytes) -> str:
        """Keep some bytes; their id."""
        raise NotImplementedError

    def get_bytes(self, content: str) -> bytes:
        """What is kept under the id, checked against it; raises Missing and Damaged."""
        raise NotImplementedError

    def __contains__(self, content: str) -> bool:
        """Whether something is kept under this id."""
        raise NotImplementedError

    def put_tree(self, root: bytes, entries: Iterable[Entry], *, times: bool = True) -> Tree:
        """Take in these entries of a folder.

        `times=False` leaves modification times out, so that two checkouts of the same code have one id.
        """
        raise NotImplementedError

    def put_folder(
        self, root: bytes, *, skip: Callable[[bytes, bool], bool] | None = None, times: bool = True
    ) -> Tree:
        """Take in a whole folder; `skip(path, is_folder)` says what to leave out."""
        raise NotImplementedError

    def tree(self, tree: str) -> Iterator[TreeEntry]:
        """Every entry of a tree, folders before what is in them, by the bytes of their names."""
        raise NotImplementedError

    def diff(self, before: str, after: str) -> Iterator[Change]:
        """What differs between two trees, files and links one by one; equal folders are not visited."""
        raise NotImplementedError

    def content(self, entry: TreeEntry) -> Iterator[bytes]:
        """The bytes of a stored file, piece by piece, holes as zeros; checked against its id at the end."""
        raise NotImplementedError

    def checkout(self, tree: str, target: bytes, *, only: bytes | None = None) -> Report:
        """Write a tree, or the file or folder `only` of it, below `target`, which is made if absent.

        Files that are there stay and make it fail; nothing is written through links.
        """
        raise NotImplementedError

    def put_record(
        self, name: str, document: bytes, *, trees: Iterable[str], contents: Iterable[str]
    ) -> None:
        """Keep a document under a name, and the trees and contents that it speaks of; raises NameTaken."""
        raise NotImplementedError

    def records(self) -> Iterator[Record]:
        """All records, the oldest first; raises Damaged at one that cannot be read."""
        raise NotImplementedError

    def get_record(self, name: str) -> Record:
        """The record of that name; raises Missing and Damaged."""
        raise NotImplementedError

    def delete_record(self, name: str) -> None:
        """Forget a record; `prune` then frees what nothing else needs. Raises Missing."""
        raise NotImplementedError

    def verify(self, *, quick: bool = False) -> Verification:
        """Read everything and compare it with its hashes; `quick` looks at the tables only."""
        raise NotImplementedError

    def prune(self, *, budget: int | None = None, keep: frozenset[str] = frozenset()) -> Pruned:
        """Free what no record needs; with a budget, forget the oldest records first until it holds.

        Records of `keep` stay in any case. Raises StoreProblem while someone else puts in.
        """
        raise NotImplementedError

    def usage(self) -> Usage:
        """What the store takes."""
        raise NotImplementedError
