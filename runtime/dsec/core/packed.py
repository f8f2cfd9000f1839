"""Successor lists that are also there in one piece.

A million small numbers lie all over the memory: reading them once more costs more than all that is
computed from them. So whoever builds the lists of a large graph packs them while they are at hand.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from array import array
    from collections.abc import Iterable

    from dsec.core.wide import Csr

    Lists = tuple[tuple[int, ...], ...]

PAYS = 10_000
"""Edges from which lists are packed."""


class Packed(tuple[tuple[int, ...], ...]):
    """Successor lists as any others, and once more in two arrays."""

    lengths: array[int]
    """Of each list."""
    flat: array[int]
    """All targets, list after list."""
    compact: Csr | None = None
    """The same for numpy, from when it was first asked for."""


def packed(lists: Iterable[Iterable[int]], edges: int) -> Lists:
    """Tuples of the lists, packed where their `edges` are many."""
    if edges < PAYS:
        return tuple(map(tuple, lists))
    from array import array

    lengths, flat = array("q"), array("q")
    found: list[tuple[int, ...]] = []
    for some in lists:
        one = tuple(some)
        flat.extend(one)
        lengths.append(len(one))
        found.append(one)
    whole = Packed(found)
    whole.lengths, whole.flat = lengths, flat
    return whole
