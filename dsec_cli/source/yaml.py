"""The YAML door: any text in, a located tree and its problems out; never an exception.

Texts of the ordinary kind are read by a reader of our own, all others by the C parser's events.
"""

from __future__ import annotations

import gc

from dsec_cli.source import plain
from dsec_cli.source.characters import prepare
from dsec_cli.source.text import SourceText, Span
from dsec_cli.source.tree import Problem, Tree
from dsec_cli.words import say

MAX_BYTES = 64 * 1024 * 1024


def parse(source: SourceText) -> Tree:
    """Read all documents of a text; what cannot be read becomes problems and unknown values."""
    if len(source.data) > MAX_BYTES:
        size = say(
            "the file has {count} bytes, more than the {most} that are read",
            "bytes",
            count=len(source.data),
            most=MAX_BYTES,
        )
        return Tree((), (), (Problem("DS010", Span(0, 0), size, say("split the file")),))
    collecting = gc.isenabled()
    # Nothing is garbage before the tree is done, and looking for some costs as much as parsing.
    gc.disable()
    try:
        return _read(source)
    finally:
        if collecting:
            gc.enable()


def _read(source: SourceText) -> Tree:
    prepared = prepare(source)
    if not prepared.problems and not prepared.restore:
        tree = plain.read(prepared.text)
        if tree is not None:
            return tree
    from dsec_cli.source import events  # costs start-up, and most texts are ordinary

    return events.read(source, prepared)
