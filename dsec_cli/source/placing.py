"""From the many paths into the lists of one document to their lines and columns."""

from __future__ import annotations

from bisect import bisect_right
from itertools import chain, islice, repeat

from dsec_cli.source.locate import locate
from dsec_cli.source.tree import Document, Mapping, Node, Path, Scalar, Sequence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from collections.abc import Sequence as Row
    from typing import Any, TypeVar

    Made = TypeVar("Made")
    Key = str | int


def placing(
    document: Document,
    lines: Callable[[], Row[int]],
    name: str,
    make: Callable[[tuple[str, int, int]], Made],
) -> Callable[[Path], Made]:
    """From a path to what `make` makes of `name`, line and column of where `locate` begins.

    Whoever asks for a part of one item of a list asks for that of nearly all, so these are found for all
    when the first is asked for: one after the other, as they lie in the memory. `lines` tells the
    offsets at which the document's lines start, and is not asked before a place is: an unread text may
    have millions of them.
    """

    def made(starts: Row[int]) -> list[Made]:
        table = lines()
        numbers = list(map(bisect_right, repeat(table), starts))
        columns = [start - table[line - 1] + 1 for start, line in zip(starts, numbers, strict=True)]
        return list(map(make, zip(repeat(name), numbers, columns, strict=False)))

    root = document.root
    lists = {
        key.text: value.items
        for key, value in (root.entries if isinstance(root, Mapping) and root.plain else ())
        if isinstance(key, Scalar) and isinstance(value, Sequence)
    }
    heads = {key: _Kept(items, lambda items, _: _heads(items), made) for key, items in lists.items()}
    scalars = {key: _Kept(items, _scalars, made) for key, items in lists.items()}
    inner = {key: _Kept(items, _inner, made) for key, items in lists.items()}

    def place(path: tuple[Any, ...]) -> Made:  # a number that is a word leads nowhere here
        depth, number = len(path), 0
        try:
            if depth == 4:
                section, at, key, number = path
                row = inner[section][key][at]
            elif depth == 2:
                section, at = path
                row = heads[section][""][at]
            else:
                section, at, key = path
                row = scalars[section][key][at]
            if at >= 0 and number >= 0:
                found: Made = row[number]
                return found
        except (LookupError, TypeError, ValueError):
            pass  # it is written in a way of its own, or not at all
        return made([locate(document, path).start])[0]

    return place


class _Kept(dict["Key", "list[tuple[Made, ...]]"]):
    """Of a list's items, the places of what stands under a key; an item of another kind has none."""

    def __init__(
        self,
        items: tuple[Node, ...],
        starts: Callable[[tuple[Node, ...], Key], Iterator[tuple[int, ...]]],
        made: Callable[[Row[int]], list[Made]],
    ) -> None:
        super().__init__()
        self._items, self._starts, self._made = items, starts, made

    def __missing__(self, key: Key) -> list[tuple[Made, ...]]:
        starts = list(self._starts(self._items, key))
        found = iter(self._made(list(chain.from_iterable(starts))))
        rows = self[key] = [tuple(islice(found, len(row))) for row in starts]
        return rows


def _heads(items: tuple[Node, ...]) -> Iterator[tuple[int, ...]]:
    """Where each item begins."""
    for item in items:
        if type(item) is not Mapping or not item.plain or not item.entries:
            yield ()
        elif item.flow:
            yield (item.span.start,)
        else:
            key = item.entries[0][0]
            yield (key.start,) if type(key) is Scalar else ()


def _scalars(items: tuple[Node, ...], key: Key) -> Iterator[tuple[int, ...]]:
    """Where the scalar under a key begins."""
    for value in _values(items, key):
        yield (value.start,) if type(value) is Scalar else ()


def _inner(items: tuple[Node, ...], key: Key) -> Iterator[tuple[int, ...]]:
    """Where the scalars of the list under a key begin."""
    for value in _values(items, key):
        inside = value.items if type(value) is Sequence else ()
        starts = tuple([one.start for one in inside if type(one) is Scalar])
        yield starts if len(starts) == len(inside) else ()


def _values(items: tuple[Node, ...], key: Key) -> Iterator[Node | None]:
    """What each plain item, whose keys are scalars, has under a key; None: look closely."""
    usual = 0  # which of the entries it was when it was last looked for: items are often alike
    for item in items:
        if type(item) is not Mapping or not item.plain:
            yield None
            continue
        entries = item.entries
        if usual < len(entries) and entries[usual][0].text == key:  # type: ignore[union-attr]
            yield entries[usual][1]
            continue
        found = [place for place, (name, _) in enumerate(entries) if name.text == key]  # type: ignore[union-attr]
        usual = found[0] if found else usual
        yield entries[usual][1] if found else None
