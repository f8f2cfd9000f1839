"""A block of a tensor as it goes into a file and as it stands in one."""

from __future__ import annotations

from typing import NamedTuple

from dsec.state.coding import squeezed
from dsec.state.problems import StateError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

BLOCK_BYTES = 4 << 20
EQUAL, RUNS, SCATTER, XOR, PLANES, RAW = "equal", "runs", "scatter", "xor", "planes", "raw"
PAGES = "pages"


class Encoded(NamedTuple):
    """A block as it goes into the file."""

    kind: str
    parts: tuple[Any, ...]
    """Buffers, to be written one after another."""
    lengths: tuple[int, ...]
    """Of each: its length, negative where it is compressed."""
    changed: int | None
    """Elements that differ from the base (bytes for `pages`); None: there was none to compare with."""

    @property
    def nbytes(self) -> int:
        """Bytes in the file."""
        return sum(abs(length) for length in self.lengths)


class Stored(NamedTuple):
    """A block as it stands in a file."""

    kind: str
    data: memoryview
    lengths: tuple[int, ...]
    changed: int


def packed(kind: str, buffers: list[Any], compress: Callable[[Any], bytes], changed: int | None) -> Encoded:
    """A block of these buffers, each compressed where that helps."""
    parts, lengths = [], []
    for buffer in buffers:
        data, small = squeezed(buffer, compress) if len(buffer) else (buffer, False)
        parts.append(data)
        lengths.append(-len(data) if small else len(data))
    return Encoded(kind, tuple(parts), tuple(lengths), changed)


def cut(stored: Stored, *, least: int = 1) -> list[tuple[memoryview, bool]]:
    """The parts of a block, and whether each is compressed; raises StateError where they do not add up."""
    if len(stored.lengths) < least:
        raise StateError(f"a block has {len(stored.lengths)} parts, and needs {least}")
    if sum(abs(length) for length in stored.lengths) != len(stored.data):
        raise StateError("the lengths of a block's parts do not add up")
    parts, at = [], 0
    for length in stored.lengths:
        parts.append((stored.data[at : at + abs(length)], length < 0))
        at += abs(length)
    return parts
