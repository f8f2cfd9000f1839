"""Edits that take an entry or a list item out, together with the comments that speak of it alone."""

from __future__ import annotations

from dsec_cli.diagnostics import Edit
from dsec_cli.lint.edits import line_end, line_start, spot
from dsec_cli.lint.suppress import MARK
from dsec_cli.source.text import Span
from dsec_cli.source.tree import Mapping, Sequence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.lint.rule import Facts
    from dsec_cli.source.tree import Comment, Node, Path


def removed(facts: Facts, path: Path) -> tuple[Edit, ...]:
    """The entry or item at `path` taken out; () where that would leave nothing, or reach elsewhere."""
    here = spot(facts.document, path)
    if here is None or here.parent is None or _anchored(here.node):
        return ()
    parent, text = here.parent, facts.text.text
    spans, at = _spans(parent, here.at)
    if parent.flow:
        return _from_flow(text, spans, at)
    if len(spans) == 1:
        return ()
    if isinstance(parent, Sequence):
        dash = _dash(text, spans[at].start, parent.span.start)
        return _lines(text, Span(dash, spans[at].end), first=here.at == 0) if dash >= 0 else ()
    if not text[line_start(text, spans[at].start) : spans[at].start].strip(" "):
        return _lines(text, spans[at], first=here.at == 0)
    return _first_of_item(text, spans, at)


def comment_removed(text: str, comment: Comment) -> tuple[Edit, ...]:
    """A comment taken out, with its line when it has one of its own."""
    start, stop = line_start(text, comment.span.start), comment.span.end
    before = text[start : comment.span.start]
    if before.strip():
        return (Edit(Span(comment.span.start - len(before) + len(before.rstrip()), stop), ""),)
    return (Edit(_whole_lines(text, start, stop), ""),)


def _spans(node: Mapping | Sequence, at: int) -> tuple[list[Span], int]:
    """Where the entry number `at` and its neighbours stand, and which of these it is."""
    start = max(0, at - 1)
    if isinstance(node, Sequence):
        return [item.span for item in node.items[start : at + 2]], at - start
    near = node.entries[start : at + 2]
    return [Span(key.span.start, max(key.span.end, value.span.end)) for key, value in near], at - start


def _anchored(root: Node) -> bool:
    """Whether an alias elsewhere may lead to `root` or into it."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if getattr(node, "anchor", None):
            return True
        if isinstance(node, Mapping):
            waiting.extend(child for entry in node.entries for child in entry)
        elif isinstance(node, Sequence):
            waiting.extend(node.items)
    return False


def _from_flow(text: str, spans: list[Span], at: int) -> tuple[Edit, ...]:
    if len(spans) == 1:
        rest = text[spans[0].end :].lstrip()
        return () if rest.startswith(",") else (Edit(spans[0], ""),)
    if at + 1 < len(spans):
        gap = Span(spans[at].start, spans[at + 1].start)
        between = text[spans[at].end : gap.end]
    else:
        gap = Span(spans[at - 1].end, spans[at].end)
        between = text[gap.start : spans[at].start]
    # A comment between the two belongs to one of them, and only its writer knows to which.
    return (Edit(gap, ""),) if between.strip() == "," else ()


def _dash(text: str, start: int, first: int) -> int:
    """Where the `-` of an item stands, in the column of the list's first; -1 unless on the item's line."""
    column = first - line_start(text, first)
    at = line_start(text, start) + column
    alone = not text[at - column : at].strip(" ") and not text[at + 1 : start].strip(" ")
    return at if at < start and text[at] == "-" and alone else -1


def _lines(text: str, span: Span, *, first: bool) -> tuple[Edit, ...]:
    """The whole lines of an entry, and the comment lines right above it."""
    stop = line_end(text, span.end)
    behind = text[span.end : stop].strip()
    start = line_start(text, span.start)
    if (behind and not behind.startswith("#")) or text[start : span.start].strip(" "):
        return ()
    # What stands above the first entry speaks of all of them.
    top = start if first else _with_comments(text, start, text[start : span.start])
    return (Edit(_whole_lines(text, top, stop), ""),)


def _with_comments(text: str, start: int, margin: str) -> int:
    """Start of the comment lines, of the same indentation, that stand right above `start`."""
    top = start
    while top:
        above = line_start(text, _before_line_end(text, top))
        line = text[above:top]
        if not line.startswith(f"{margin}#") or MARK in line:
            return top
        top = above
    # They reach up to the first line, where a file says what it is.
    return start


def _before_line_end(text: str, at: int) -> int:
    """Where the line end in front of `at` begins."""
    return at - 2 if text[at - 2 : at] == "\r\n" else at - 1


def _whole_lines(text: str, start: int, stop: int) -> Span:
    """The lines from `start` to `stop` with their line end.

    A last line without one leaves that of the line before, which a block text may be glad of.
    """
    return Span(start, min(stop + (2 if text.startswith("\r\n", stop) else 1), len(text)))


def _first_of_item(text: str, spans: list[Span], at: int) -> tuple[Edit, ...]:
    """The entry behind a `- `: the next one moves up into its place."""
    if at or not text[line_start(text, spans[0].start) : spans[0].start].rstrip().endswith("-"):
        return ()
    between = text[spans[0].end : spans[1].start].splitlines()
    own = between[0].strip()
    if (own and not own.startswith("#")) or any(line.strip() for line in between[1:]):
        return ()
    return (Edit(Span(spans[0].start, spans[1].start), ""),)
