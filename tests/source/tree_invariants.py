"""What holds for the tree of any text at all."""

from __future__ import annotations

from collections.abc import Iterator

from dsec_cli.source.builder import MAX_DEPTH
from dsec_cli.source.resolve import plain_value, resolve
from dsec_cli.source.text import SourceText, Span
from dsec_cli.source.tree import Alias, Mapping, Node, Scalar, Sequence, Tree


def check(source: SourceText, tree: Tree) -> None:
    """Spans lie in the text, in order and nested; values can be taken; plain scalars read as they stand."""
    size = len(source.text)
    last = 0
    for index, document in enumerate(tree.documents):
        assert document.index == index
        assert_within(document.span, Span(last, size))
        last = document.span.end
        for gap in document.gaps:
            assert_within(gap, Span(0, size))
        if document.root is not None:
            assert_within(document.root.span, Span(0, size))
            for node, depth in walk(document.root):
                assert depth <= MAX_DEPTH
                _check_node(source, node, damaged=bool(document.gaps))
            plain_value(document.root)
    for comment in tree.comments:
        assert_within(comment.span, Span(0, size))
        assert source.text[comment.span.start : comment.span.end] == comment.text
        assert comment.text.startswith("#")
        assert "\n" not in comment.text
    for problem in tree.problems:
        assert problem.code.startswith("DS0")
        assert problem.message
        assert problem.help
        for span in (problem.span, *(related for related, _ in problem.related)):
            assert_within(span, Span(0, size))
            line, column = source.position(span.start)
            assert 1 <= line <= source.line_count
            assert column >= 1
    assert list(tree.problems) == sorted(tree.problems, key=lambda one: (one.span, one.code, one.message))


def walk(root: Node) -> Iterator[tuple[Node, int]]:
    """Nodes as written (aliases not followed) with their depth, without recursion."""
    stack = [(root, 0)]
    while stack:
        node, depth = stack.pop()
        yield node, depth
        stack.extend((child, depth + 1) for child in children(node))


def children(node: Node) -> tuple[Node, ...]:
    match node:
        case Sequence(items=items):
            return items
        case Mapping(entries=entries):
            return tuple(part for entry in entries for part in entry)
        case Scalar() | Alias():
            return ()


def assert_within(span: Span, outer: Span) -> None:
    assert outer.start <= span.start <= span.end <= outer.end, (span, outer)


def _check_node(source: SourceText, node: Node, *, damaged: bool) -> None:
    at = node.span.start
    for child in children(node):
        assert_within(child.span, Span(at, node.span.end))
        at = child.span.end
    if isinstance(node, Scalar):
        kind, value = resolve(node)
        assert kind in ("null", "bool", "int", "float", "str")
        written = source.text[node.span.start : node.span.end]
        if node.style == "plain" and "\n" not in written and "\r" not in written and not damaged:
            assert written == node.text
            again = resolve(Scalar(node.span, written, "plain", node.tag, None))
            assert repr(again) == repr((kind, value))
