"""One source file: its bytes decoded once, and offsets turned into the units people and tools use.

Inside DSec a place is a pair of offsets in code points of `SourceText.text`; lines, columns,
UTF-16 columns and byte offsets are derived here, once, when something is shown.
"""

from __future__ import annotations

from typing import NamedTuple


class Span(NamedTuple):
    """Half-open range of code points in a text."""

    start: int
    end: int


class Position(NamedTuple):
    """Where an offset is: both numbers count from 1, the column counts code points."""

    line: int
    column: int
