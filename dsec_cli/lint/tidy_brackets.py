"""Edits within lines: blanks behind colons and commas and inside brackets, and the kind of quotes."""

from __future__ import annotations

from itertools import pairwise

from dsec_cli.diagnostics import Edit
from dsec_cli.source.spelling import double
from dsec_cli.source.text import Span
from dsec_cli.source.tree import Mapping, Scalar, Sequence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.lint.tidy import Unit
    from dsec_cli.source.text import SourceText
    from dsec_cli.source.tree import Entry, Node, Tree


def spacing(source: SourceText, tree: Tree) -> list[Unit]:
    """`key: value`, `[a, b]` and `{a: 1}`: one blank behind `:` and `,`, none inside brackets."""
    text = source.text
    units: list[Unit] = []
    for node in _nodes(tree):
        if isinstance(node, Mapping):
            units += _colons(text, node.entries)
        if isinstance(node, Mapping | Sequence) and node.flow:
            units += _brackets(text, node)
    return units


def quotes(source: SourceText, tree: Tree) -> list[Unit]:
    """Double quotes in place of single ones, where the text between them needs no escape."""
    text = source.text
    return [
        (Edit(node.span, double(node.text)),)
        for node in _nodes(tree)
        if isinstance(node, Scalar)
        and node.style == "single"
        and node.text.isprintable()
        and text[node.start + 1 : node.end - 1].replace("''", "'") == node.text
        and not {'"', "\\"}.intersection(node.text)
    ]


def _nodes(tree: Tree) -> Iterator[Node]:
    waiting: list[Node] = [document.root for document in tree.documents if document.root is not None]
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, Sequence):
            waiting.extend(node.items)
        elif isinstance(node, Mapping):
            waiting.extend(child for entry in node.entries for child in entry)


def _colons(text: str, entries: tuple[Entry, ...]) -> Iterator[Unit]:
    for key, value in entries:
        # Behind an alias or a bare anchor the blank is needed: `*name:` would be another name.
        if not isinstance(key, Scalar) or key.start == key.end:
            continue
        gap = Span(key.end, value.span.start)
        words = _words(text, gap)
        if words[:1] == [":"]:
            yield from _written(text, gap, _joined(words, before=value))


def _words(text: str, gap: Span) -> list[str]:
    """What stands in a gap of one line: signs, anchors and tags; nothing where a comment does."""
    between = text[gap.start : gap.end]
    return [] if set("\r\n#") & set(between) else between.split()


def _joined(words: list[str], *, before: Node) -> str:
    """The words with one blank between them, and one more before a value that has any width."""
    wide = before.span.start < before.span.end
    return " ".join(words) + (" " if wide and words else "")


def _written(text: str, gap: Span, new: str) -> Iterator[Unit]:
    if text[gap.start : gap.end] != new:
        yield (Edit(gap, new),)


def _brackets(text: str, node: Mapping | Sequence) -> Iterator[Unit]:
    children = _children(node)
    inner = Span(node.span.start + 1, node.span.end - 1)
    if not children:
        if not text[inner.start : inner.end].strip(" \t"):
            yield from _written(text, inner, "")
        return
    first, last = children[0], children[-1]
    yield from _gap(text, Span(inner.start, first.start), comma=False, before=first)
    for left, right in pairwise(children):
        yield from _gap(text, Span(left.end, right.start), comma=True, before=right)
    closing = text[last.end : inner.end]
    # Behind an empty value the blank is needed: `{a:}` would be another key.
    if last.start < last.end and closing.strip(" \t") in ("", ","):
        yield from _written(text, Span(last.end, inner.end), closing.strip(" \t"))


def _children(node: Mapping | Sequence) -> list[Span]:
    if isinstance(node, Sequence):
        return [item.span for item in node.items]
    return [Span(key.span.start, max(key.span.end, value.span.end)) for key, value in node.entries]


def _gap(text: str, gap: Span, *, comma: bool, before: Span) -> Iterator[Unit]:
    """The part in front of a child: nothing, or a comma, then what belongs to the child."""
    between = text[gap.start : gap.end]
    if set("\r\n#") & set(between):
        return
    rest = between.strip(" \t")
    if comma:
        if not rest.startswith(","):
            return
        rest = rest[1:]
    words = rest.split()
    tail = " " if words and before.start < before.end else ""
    yield from _written(text, gap, (", " if comma else "") + " ".join(words) + tail)
