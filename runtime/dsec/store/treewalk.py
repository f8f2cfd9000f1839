"""Walking stored trees: their entries, their differences, and what they need. Never deeper than the stack."""

from __future__ import annotations

from dsec.store import pieces, trees
from dsec.store.packform import BLOB, LIST, TREE
from dsec.store.trees import DEEPEST, FILE, FOLDER, LINK, PIECES, TreeError
from dsec.store.values import Change, Damaged, StoreProblem, TreeEntry
from dsec.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dsec.store.trees import Row
    from dsec.store.values import Kind

    Get = Callable[[bytes], bytes]
    """The object of an id; raises Missing and Damaged."""

PIECE = 3
"""What a list names: an object like any other, that is compressed on its own."""
_KIND = {FILE: "file", PIECES: "file", FOLDER: "dir", LINK: "link"}


def rows_of(get: Get, tree: bytes) -> list[Row]:
    """The rows of a tree; raises Missing and Damaged."""
    try:
        return trees.decoded(get(tree))
    except TreeError as problem:
        raise Damaged(say("{id} of the store is no tree: {why}", id=tree.hex(), why=str(problem))) from None


def runs_of(get: Get, name: bytes) -> tuple[list[tuple[int, bytes]], int]:
    """The runs of a list and the size of its file; raises Missing and Damaged."""
    try:
        return pieces.decoded(get(name))
    except pieces.ListError as problem:
        raise Damaged(
            say("{id} of the store is no list of pieces: {why}", id=name.hex(), why=str(problem))
        ) from None


def entry_of(row: Row, below: bytes) -> TreeEntry:
    """A row as its readers see it; `below` is the path of its folder and a `/`."""
    name, kind, mode, mtime, size, one, extra = row
    if kind == LINK:
        return TreeEntry._make((below + name, "link", mode, mtime, size, "", extra, ""))
    what: Kind = "dir" if kind == FOLDER else "file"
    return TreeEntry._make((below + name, what, mode, mtime, size, one.hex(), b"", extra.hex()))


def entries(get: Get, tree: bytes) -> Iterator[TreeEntry]:
    """Every entry, folders before what is in them."""
    stack = [(b"", iter(rows_of(get, tree)))]
    while stack:
        below, rows = stack[-1]
        row = next(rows, None)
        if row is None:
            stack.pop()
            continue
        yield entry_of(row, below)
        if row[1] == FOLDER:
            _check_depth(len(stack))
            stack.append((below + row[0] + b"/", iter(rows_of(get, row[5]))))


def _check_depth(depth: int) -> None:
    if depth >= DEEPEST:
        raise Damaged(say("a tree of the store is deeper than {most} folders", most=DEEPEST))


def differences(get: Get, before: bytes, after: bytes) -> Iterator[Change]:
    """What differs, path by path; folders that are equal are not looked into."""
    stack: list[tuple[bytes, bytes | None, bytes | None]] = [(b"", before, after)]
    while stack:
        below, one, other = stack.pop()
        _check_depth(below.count(b"/"))
        deeper = []
        for change, folder in _beside(get, below, one, other):
            if change is not None:
                yield change
            if folder is not None:
                deeper.append(folder)
        stack += reversed(deeper)


def _beside(
    get: Get, below: bytes, one: bytes | None, other: bytes | None
) -> Iterator[tuple[Change | None, tuple[bytes, bytes | None, bytes | None] | None]]:
    """Changes in one folder, and the folders in it that differ."""
    if one == other:
        return
    if one is not None and other is not None:
        rows = _differing(get, one, other)
    else:
        rows = tuple(rows_of(get, it) if it is not None else [] for it in (one, other))
    old, new = ({row[0]: row for row in part} for part in rows)
    for name in sorted(old.keys() | new.keys()):
        was, now = old.get(name), new.get(name)
        into = _folder(was), _folder(now)
        change = None
        if was is None or now is None or None in into or was[:5] != now[:5]:  # not in the folder alone
            change = Change._make((
                below + name,
                entry_of(was, below) if was is not None else None,
                entry_of(now, below) if now is not None else None,
            ))  # fmt: skip
        yield change, (below + name + b"/", *into) if into[0] != into[1] else None


def _differing(get: Get, one: bytes, other: bytes) -> tuple[list[Row], ...]:
    """Of two trees; raises Missing and Damaged."""
    try:
        return trees.differing(get(one), get(other))
    except TreeError:
        return rows_of(get, one), rows_of(get, other)  # which says what is wrong with which of them


def _folder(row: Row | None) -> bytes | None:
    return row[5] if row is not None and row[1] == FOLDER else None


def needed(get: Get, tree: bytes, known: set[bytes], *, lenient: bool = False) -> Iterator[bytes]:
    """Ids that a tree needs, itself among them; ids of trees and lists in `known` are not looked into.

    Those that are seen are added to it. Raises Missing and Damaged; when `lenient`, what cannot be
    read is given, but nothing that it needs.
    """
    for name, _ in needed_kinds(get, tree, known, lenient=lenient):
        yield name


def needed_kinds(
    get: Get, tree: bytes, known: set[bytes], *, lenient: bool = False
) -> Iterator[tuple[bytes, int]]:
    """The same, with what each is: a TREE, a LIST, a BLOB, or a PIECE of a large file."""
    stack = [(tree, TREE)]
    while stack:
        name, kind = stack.pop()
        yield name, kind
        if name in known:
            continue
        known.add(name)
        try:
            inside = _inside(get, name, kind)
        except StoreProblem:
            if lenient:
                continue
            raise
        for one, what in inside:
            if what in (BLOB, PIECE):
                yield one, what
            else:
                stack.append((one, what))


def named_by(data: bytes, kind: int) -> list[tuple[bytes, int]]:
    """What a tree or a list of these bytes names: ids, and what each is; raises TreeError and ListError."""
    if kind == LIST:
        return [(one, PIECE) for _, one in pieces.decoded(data)[0] if one != pieces.HOLE]
    if (found := trees.named(data)) is not None:
        return [(one, TREE) for one in found[0]] + [(one, BLOB) for one in found[1]]
    return _in_rows(trees.decoded(data))


def _inside(get: Get, name: bytes, kind: int) -> list[tuple[bytes, int]]:
    if kind == LIST:
        return [(one, PIECE) for _, one in runs_of(get, name)[0] if one != pieces.HOLE]
    return _in_rows(rows_of(get, name))


def _in_rows(rows: list[Row]) -> list[tuple[bytes, int]]:
    found = []
    for row in rows:
        if row[1] == PIECES:
            found.append((row[6], LIST))
        elif row[1] != LINK:
            found.append((row[5], TREE if row[1] == FOLDER else BLOB))
    return found
