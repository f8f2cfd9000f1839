"""The YAML door: any text in, a located tree and its problems out; never an exception.

Texts of the ordinary kind are read by a reader of our own, all others by the C parser's events. Of a
text beyond the limits (see `SourceText`) nothing is read, so that any takes little time and memory.
"""

from __future__ import annotations

import gc

from dsec_cli.source import plain
from dsec_cli.source.characters import prepare
from dsec_cli.source.text import BYTES, LINES, SourceText
from dsec_cli.source.tree import TooMany, Tree

_CONFLICT = "<<<<<<<"


def parse(source: SourceText) -> Tree:
    """Read all documents of a text; what cannot be read becomes problems and unknown values."""
    most = source.most_nodes
    if len(source.data) > BYTES * most or source.text.count("\n") > LINES * most:
        return _refused(source)
    collecting = gc.isenabled()
    # Nothing is garbage before the tree is done, and looking for some costs as much as parsing.
    gc.disable()
    try:
        return _read(source)
    except TooMany:
        return _refused(source)
    finally:
        if collecting:
            gc.enable()


class Once:
    """Reads, and remembers the last tree, for several who ask about one text after each other."""

    __slots__ = ("_last",)

    def __init__(self) -> None:
        self._last: tuple[SourceText, Tree] | None = None

    def __call__(self, source: SourceText) -> Tree:
        """As `parse`."""
        if self._last is None or self._last[0] is not source:
            self._last = None  # two trees at a time would be one too many
            self._last = source, parse(source)
        return self._last[1]


def _read(source: SourceText) -> Tree:
    prepared = prepare(source)
    if not prepared.problems and not prepared.restore:
        tree = plain.read(prepared.text, source.most_nodes)
        if tree is not None:
            return tree
    from dsec_cli.source import events  # costs start-up, and most texts are ordinary

    tree = events.read(source, prepared)
    if _CONFLICT not in source.text:
        return tree
    from dsec_cli.source.conflicts import without_conflicts

    return without_conflicts(source, tree)


def _refused(source: SourceText) -> Tree:
    from dsec_cli.source import refusals  # few texts are

    most, size = source.most_nodes, len(source.data)
    if size > BYTES * most:
        return refusals.unread(source, refusals.too_many_bytes(size, BYTES * most))
    lines = source.text.count("\n")
    if lines > LINES * most:
        return refusals.unread(source, refusals.too_many_lines(lines, LINES * most))
    return refusals.unread(source, refusals.too_many_nodes(most))
