"""Edits of indentation: where only some lists are indented from their key, all become alike."""

from __future__ import annotations

from dsec.record import Record
from dsec_cli.diagnostics import Edit
from dsec_cli.lint.edits import INDENT, line_end, line_start
from dsec_cli.source.text import Span
from dsec_cli.source.tree import Mapping, Sequence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.lint.tidy import Unit
    from dsec_cli.source.text import SourceText
    from dsec_cli.source.tree import Node, Tree


class List(Record):
    """A block list below a key: its lines, and how far it is indented from the key."""

    lines: Span
    offset: int


def lists(source: SourceText, tree: Tree) -> list[Unit]:
    """Indent the lists of the rarer kind as the others are; blocks of lines move as a whole."""
    text = source.text
    found = list(_lists(text, tree))
    flush = [one for one in found if one.offset == 0]
    indented = [one for one in found if one.offset > 0]
    if not flush or not indented:
        return []
    moved = [(one.lines, INDENT) for one in flush]
    if len(flush) > len(indented):
        moved = [(one.lines, -one.offset) for one in indented]
    edits = _shifted(text, _by_line(text, moved))
    return [edits] if edits else []


def _lists(text: str, tree: Tree) -> Iterator[List]:
    waiting: list[Node] = [document.root for document in tree.documents if document.root is not None]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Sequence):
            waiting.extend(node.items)
        elif isinstance(node, Mapping):
            waiting.extend(entry.value for entry in node.entries)
            if not node.flow:
                yield from _below_keys(text, node)


def _below_keys(text: str, node: Mapping) -> Iterator[List]:
    for key, value in node.entries:
        if not isinstance(value, Sequence) or value.flow:
            continue
        first = line_start(text, value.span.start)
        after_key = line_start(text, key.span.end)
        if first <= after_key or text[first : value.span.start].strip(" "):
            continue
        column = key.span.start - line_start(text, key.span.start)
        # Comments between the key and the list belong to the list.
        top = line_end(text, key.span.end)
        top += 2 if text.startswith("\r\n", top) else 1
        yield List(Span(top, line_end(text, value.span.end)), value.span.start - first - column)


def _by_line(text: str, moved: list[tuple[Span, int]]) -> dict[int, int]:
    """By how much each line is to move; a list inside a list moves twice."""
    lines: dict[int, int] = {}
    for span, by in moved:
        start = span.start
        while start < span.end:
            lines[start] = lines.get(start, 0) + by
            stop = line_end(text, start)
            start = stop + (2 if text.startswith("\r\n", stop) else 1)
    return lines


def _shifted(text: str, lines: dict[int, int]) -> tuple[Edit, ...]:
    """The edits; () where a line has less in front of it than would have to go."""
    edits = []
    for start, by in sorted(lines.items()):
        line = text[start : line_end(text, start)]
        if not line or by == 0:
            continue
        if by > 0:
            edits.append(Edit(Span(start, start), " " * by))
            continue
        margin = len(line) - len(line.lstrip(" "))
        if margin < -by and margin < len(line):
            return ()
        edits.append(Edit(Span(start, start + min(margin, -by)), ""))
    return tuple(edits)
