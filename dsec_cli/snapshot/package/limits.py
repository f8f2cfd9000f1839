"""What a package may bring along: names that nobody is harmed by, and trees of a size that can be written.

A package is small and may expand without end: folders that are named twice, files of zeros, a chain of
thousands of folders. Every folder is looked at once, however often it is named; the sums are exact.
"""

from __future__ import annotations

from dsec.errors import StoredFormError
from dsec.record import Record
from dsec.store.trees import FOLDER, LINK
from dsec.store.treewalk import rows_of
from dsec_cli.snapshot.spelling import is_repository
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from dsec.store.trees import Row

FREE_BYTES, RATIO = 256 << 20, 100
"""What files may come to in any case, and how many times the package itself."""
FREE_ENTRIES, ENTRY_RATIO = 10_000, 100
"""The same of files and folders: how many times those that are different."""
MOST_ENTRIES = 5_000_000
DEEPEST, LONGEST_NAME, LONGEST_PATH = 256, 255, 4000
_ENDLESS = 1 << 62
LARGEST_DOCUMENT = 64 << 20
"""Bytes of a part that is read as a whole."""


class Extent(Record):
    """What a tree expands to."""

    entries: int
    size_bytes: int
    depth: int
    longest: int
    """Bytes of its longest path."""


def check(get: Callable[[bytes], bytes], trees: Iterable[bytes], *, size: int, most: int | None) -> None:
    """Raise StoredFormError for trees that are not to be taken in; `size` is that of the package.

    `most` is how many bytes the user allows; without it, what is free, or a share of the size.
    """
    known: dict[bytes, Extent] = {}
    total = Extent(0, 0, 0, 0)
    different = [0]
    for tree in trees:
        found = _extent(get, tree, known, different)
        total = Extent(total.entries + found.entries, total.size_bytes + found.size_bytes, 0, 0)
    if total.entries > min(MOST_ENTRIES, max(FREE_ENTRIES, ENTRY_RATIO * different[0])):
        raise StoredFormError(
            say(
                "the package expands to {total:,} files and folders, {count:,} different ones",
                total=total.entries,
                count=different[0],
            ),
            hint=say("somebody made it so; ask where it comes from"),
        )
    allowed = max(FREE_BYTES, RATIO * size) if most is None else most
    if total.size_bytes > allowed:
        raise StoredFormError(
            say(
                "the package of {size:,} bytes expands to {total:,} bytes, more than {most:,}",
                size=size,
                total=total.size_bytes,
                most=allowed,
            ),
            hint=say("if that is so, allow it with --most"),
        )


class _Waiting(Record):
    """A folder whose inner ones are looked at first."""

    tree: bytes
    path: bytes
    rows: list[Row]
    inner: Iterator[Row]
    """Folders in it that are still to be looked at."""


def _extent(
    get: Callable[[bytes], bytes], root: bytes, known: dict[bytes, Extent], different: list[int]
) -> Extent:
    """Of one tree; folders below it that are known are not looked at again."""
    stack = [_entered(get, root, b"", different)]
    while stack:
        at = stack[-1]
        inner = next((row for row in at.inner if row[5] not in known), None)
        if inner is None:
            known[at.tree] = _summed(at.rows, known)
            _bounded(known[at.tree], at.path)
            stack.pop()
        else:
            if len(stack) >= DEEPEST:
                raise _refused(
                    at.path[:80] + b"...", say("it lies more than {most} folders deep", most=DEEPEST)
                )
            stack.append(_entered(get, inner[5], at.path + inner[0] + b"/", different))
    return known[root]


def _entered(get: Callable[[bytes], bytes], tree: bytes, path: bytes, different: list[int]) -> _Waiting:
    rows = rows_of(get, tree)
    different[0] += len(rows)
    for row in rows:
        if is_repository(row[0]):
            raise _refused(path + row[0], say("git would take it for a repository, and run what it says"))
        if len(row[0]) > LONGEST_NAME:
            raise _refused(
                path + row[0][:80] + b"...", say("the name is {size} bytes long", size=len(row[0]))
            )
    kinds = {row[0].lower(): row[1] for row in rows}
    if kinds.get(b"objects") == kinds.get(b"refs") == FOLDER and kinds.get(b"head", FOLDER) != FOLDER:
        raise _refused(
            path + b"HEAD", say("git would take its folder for a repository, and run what it says")
        )
    return _Waiting(tree, path, rows, iter([row for row in rows if row[1] == FOLDER]))


def _summed(rows: list[Row], known: dict[bytes, Extent]) -> Extent:
    entries, size, depth, longest = len(rows), 0, 0, 0
    for name, kind, _, _, length, one, _ in rows:
        below = 0
        if kind == FOLDER:
            inner = known[one]
            entries += inner.entries
            size += inner.size_bytes
            depth = max(depth, inner.depth)
            below = inner.longest + 1
        elif kind != LINK:
            size += length
        longest = max(longest, len(name) + below)
    return Extent(min(entries, _ENDLESS), min(size, _ENDLESS), depth + 1, longest)


def _bounded(extent: Extent, path: bytes) -> None:
    if extent.depth > DEEPEST:
        raise _refused(path[:80], say("it lies more than {most} folders deep", most=DEEPEST))
    if extent.longest > LONGEST_PATH:
        raise _refused(path[:80], say("its longest path has {size} bytes", size=extent.longest))


def _refused(path: bytes, why: str) -> StoredFormError:
    shown = path.decode("utf-8", "backslashreplace")
    return StoredFormError(
        say("the package is not taken in for {path}: {why}", path=shown, why=why),
        hint=say("nothing of it was kept; ask its maker for one without"),
    )
