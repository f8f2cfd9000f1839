"""Edits of whole lines: mark, line ends, blanks at their end, blank lines, the last line's end."""

from __future__ import annotations

from bisect import bisect_right

from dsec_cli.diagnostics import Edit
from dsec_cli.lint.edits import MARK, line_end
from dsec_cli.source.text import Span
from dsec_cli.source.tree import Alias, Mapping, Scalar, Sequence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.lint.tidy import Unit
    from dsec_cli.source.text import SourceText
    from dsec_cli.source.tree import Node, Tree

UTF_8_MARK = b"\xef\xbb\xbf"
BLANKS = " \t"


def mark(source: SourceText, _tree: Tree) -> list[Unit]:
    """Take off the byte order mark that UTF-8 has no use for."""
    return [(Edit(MARK, ""),)] if source.data.startswith(UTF_8_MARK) else []


def line_ends(source: SourceText, _tree: Tree) -> list[Unit]:
    """End every line as most are ended, or with LF where two kinds are equally many."""
    text = source.text
    if "\r" not in text:
        return []
    ends = list(_ends(text))
    counts = {end: sum(text[start:stop] == end for start, stop in ends) for end in ("\n", "\r\n", "\r")}
    usual = max(counts, key=lambda end: (counts[end], end == "\n"))
    wrong = tuple(Edit(Span(start, stop), usual) for start, stop in ends if text[start:stop] != usual)
    return [wrong] if wrong else []


def trailing_blanks(source: SourceText, tree: Tree) -> list[Unit]:
    """Take blanks off the ends of lines, but not in texts of several lines."""
    text, inside = source.text, Inside(source.text, tree)
    units: list[Unit] = []
    for stop in (*(start for start, _ in _ends(text)), len(text)):
        start = stop
        while start and text[start - 1] in BLANKS:
            start -= 1
        if start < stop and not inside.holds(start):
            units.append((Edit(Span(start, stop), ""),))
    return units


def blank_lines(source: SourceText, tree: Tree) -> list[Unit]:
    """Leave one blank line where there are several, and none at the beginning."""
    text, inside = source.text, Inside(source.text, tree)
    units: list[Unit] = []
    run: list[tuple[int, int]] = []
    begun = False
    start = 0
    for stop, after in _ends(text):
        if text[start:stop].strip(BLANKS) or inside.holds(start):
            units += _shortened(run, keep=begun)
            run, begun = [], True
        else:
            run.append((start, after))
        start = after
    # A run at the end of the text is `last_line`'s.
    return units + (_shortened(run, keep=begun) if text[start:].strip(BLANKS) else [])


def _shortened(run: list[tuple[int, int]], *, keep: bool) -> list[Unit]:
    surplus = run[1:] if keep else run
    return [(Edit(Span(surplus[0][0], surplus[-1][1]), ""),)] if surplus else []


def last_line(source: SourceText, tree: Tree) -> list[Unit]:
    """End the text with one line end."""
    text = source.text
    stripped = len(text.rstrip(" \t\r\n"))
    if not stripped or Inside(text, tree).holds(stripped):
        return []
    end = next((text[start:stop] for start, stop in _ends(text)), "\n")
    keep = stripped + len(end) if text.startswith(end, stripped) else stripped
    if keep == stripped:
        return [(Edit(Span(stripped, len(text)), end),)]
    return [(Edit(Span(keep, len(text)), ""),)] if keep < len(text) else []


def _ends(text: str) -> Iterator[tuple[int, int]]:
    """Where each line end begins and ends."""
    at = line_end(text, 0)
    while at < len(text):
        after = at + (2 if text.startswith("\r\n", at) else 1)
        yield at, after
        at = line_end(text, after)


class Inside:
    """Which places are inside a text of several lines, where blanks and blank lines may mean something."""

    def __init__(self, text: str, tree: Tree) -> None:
        spans = sorted(_wide(text, tree))
        self._starts = [span.start for span in spans]
        self._ends = [span.end for span in spans]

    def holds(self, at: int) -> bool:
        """Whether `at` is behind the beginning of such a text and not behind its end."""
        before = bisect_right(self._starts, at) - 1
        return before >= 0 and self._starts[before] < at <= self._ends[before]


def _wide(text: str, tree: Tree) -> Iterator[Span]:
    """Scalars of more than one line, with what of the following lines may belong to them."""
    scalars = sorted(_scalars(tree), key=lambda one: one.start)
    for at, one in enumerate(scalars):
        if one.style not in ("literal", "folded"):
            if text.find("\n", one.start, one.end) >= 0 or text.find("\r", one.start, one.end) >= 0:
                yield Span(one.start, one.end - 1)
            continue
        if "+" in text[one.start : line_end(text, one.start)].partition("#")[0]:
            yield Span(one.start, scalars[at + 1].start - 1 if at + 1 < len(scalars) else len(text))
        else:
            yield Span(one.start, line_end(text, one.end) - 1 if one.end < len(text) else len(text))


def _scalars(tree: Tree) -> Iterator[Scalar]:
    waiting: list[Node] = [document.root for document in tree.documents if document.root is not None]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Scalar):
            yield node
        elif isinstance(node, Sequence):
            waiting.extend(node.items)
        elif isinstance(node, Mapping):
            waiting.extend(child for entry in node.entries for child in entry)
        else:
            assert isinstance(node, Alias)
