"""Suppression comments: `# dsec: ignore[DS203] reason`, and what each of them covers.

A comment at the end of a line covers the findings of that line and of what hangs below its key;
a comment on a line of its own covers the next key and its subtree. Text inside block scalars is
no comment, so nothing there suppresses.
"""

from __future__ import annotations

from dsec.record import Record
from dsec_cli.source.text import Span
from dsec_cli.source.tree import Mapping, Sequence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dsec_cli.diagnostics import Diagnostic
    from dsec_cli.source.tree import Comment, Node, Tree

MARK = "dsec:"
VERB = "ignore"


class Suppression(Record):
    """One code that one comment silences over a range of the text."""

    code: str
    """"" when the comment names none."""
    comment: Span
    covers: Span
    reason: str


def read(text: str, tree: Tree) -> tuple[Suppression, ...]:
    """Every suppression in the comments of `tree`, in text order."""
    found: list[Suppression] = []
    for comment in tree.comments:
        asked = _asked(comment.text)
        if asked is not None:
            codes, reason = asked
            covers = _covered(text, tree, comment)
            found.extend(Suppression(code, comment.span, covers, reason) for code in codes)
    return tuple(found)


def _asked(comment: str) -> tuple[tuple[str, ...], str] | None:
    """Codes and reason of `# dsec: ignore[CODE, CODE] reason`; None when it is another comment."""
    body = comment.lstrip("#").strip()
    if not body.startswith(MARK):
        return None
    order = body[len(MARK) :].strip()
    if not order.startswith(VERB):
        return None
    rest = order[len(VERB) :]
    if rest[:1].isalnum():
        return None
    rest = rest.lstrip()
    if not rest.startswith("["):
        return ("",), rest.strip()
    inside, closed, reason = rest[1:].partition("]")
    codes = tuple(code.strip() for code in inside.split(",") if code.strip())
    if not closed or not codes:
        return ("",), reason.strip()
    return codes, reason.strip(" \t:-")


def _covered(text: str, tree: Tree, comment: Comment) -> Span:
    """The range that a comment speaks about: its line, or the next one, with the subtree there."""
    start = text.rfind("\n", 0, comment.span.start) + 1
    if not text[start : comment.span.start].strip():
        start = _next_statement(text, comment.span.end)
    line_end = _line_end(text, start)
    ends = [span.end for span in _begun_between(tree, start, line_end)]
    return Span(start, max([line_end, *ends]))


def _line_end(text: str, start: int) -> int:
    end = text.find("\n", start)
    return len(text) if end < 0 else end


def _next_statement(text: str, offset: int) -> int:
    """Start of the first line after `offset` that is neither empty nor a comment."""
    at = _line_end(text, offset) + 1
    while at < len(text):
        line = text[at : _line_end(text, at)].strip()
        if line and not line.startswith("#"):
            return at
        at = _line_end(text, at) + 1
    return len(text)


def _begun_between(tree: Tree, start: int, end: int) -> Iterator[Span]:
    """Spans of the entries and items whose first character stands between two offsets."""
    waiting: list[Node] = [document.root for document in tree.documents if document.root is not None]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Mapping):
            for key, value in node.entries:
                if start <= key.span.start < end:
                    yield Span(key.span.start, value.span.end)
                waiting.append(value)
        elif isinstance(node, Sequence):
            for item in node.items:
                if start <= item.span.start < end:
                    yield item.span
                waiting.append(item)


def apply(
    diagnostics: Iterable[Diagnostic], suppressions: tuple[Suppression, ...]
) -> tuple[list[Diagnostic], frozenset[Suppression]]:
    """What is left of `diagnostics`, and the suppressions that silenced something."""
    left: list[Diagnostic] = []
    used: set[Suppression] = set()
    for diagnostic in diagnostics:
        silent = [one for one in suppressions if _matches(one, diagnostic)]
        if silent:
            used.update(silent)
        else:
            left.append(diagnostic)
    return left, frozenset(used)


def _matches(suppression: Suppression, diagnostic: Diagnostic) -> bool:
    start = diagnostic.place.span.start
    return suppression.code == diagnostic.code and suppression.covers.start <= start < suppression.covers.end
