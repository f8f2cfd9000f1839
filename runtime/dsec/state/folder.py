"""What is in a folder of states, and folding the newest into one file."""

from __future__ import annotations

import os
from typing import NamedTuple

from dsec.state.layout import Placed
from dsec.state.problems import NoStateError, StateError
from dsec.state.reading import chain_of, read_place
from dsec.state.statefile import opened, places
from dsec.state.writing import Result, Wish, write_state

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Stored(NamedTuple):
    """One state of a folder."""

    at: int
    file: str
    nbytes: int
    """Of the file."""
    tracked: int | None
    """Of its tensors; None: it cannot be read."""
    links: int | None
    """Deltas that reading it follows; 0: it needs no other file; None: it cannot be read."""
    problem: str
    """Why it cannot be read; "": whether the blocks are whole, reading tells."""


def stored(folder: str) -> list[Stored]:
    """Every state of the folder, the oldest first; records are checked, blocks are not."""
    every = places(folder)
    found = []
    for place in every:
        name, size = os.path.basename(place.path), os.stat(place.path).st_size
        try:
            links = len(chain_of(place, every)) - 1
            with opened(place.path) as one:
                tracked = sum(tensor.get("nbytes", 0) for tensor in one.record["tensors"])
        except (StateError, OSError) as problem:
            found.append(Stored(place.at, name, size, None, None, str(problem)))
        else:
            found.append(Stored(place.at, name, size, tracked, links, ""))
    return found


def compact(folder: str, *, keep: int = 1) -> Result:
    """Write the newest state anew as one file that needs no other, and take away all but `keep`.

    Raises StateError where it is damaged (nothing is taken away then), NoStateError where there is
    none, OSError. What was quantised stays as it is read, and is stored in full.
    """
    every = places(folder)
    if not every:
        raise NoStateError(f"there is no state in {folder}")
    record, buffers = read_place(every[-1], folder)
    placed = tuple(_placed(tensor) for tensor in record["tensors"])
    wish = Wish(folder, record["at"], placed, record.get("values", {}), keep)
    return write_state(wish, buffers, None)


def _placed(tensor: dict[str, Any]) -> Placed:
    return Placed(
        tensor["name"],
        tensor["dtype"],
        tuple(tensor["shape"]),
        0,
        tensor.get("nbytes", 0),
        tensor.get("width", 1),
        tensor.get("alias", ""),
    )
