"""Exact places, trap by trap: what C parsers report wrongly and the tree has right."""

from __future__ import annotations

import pytest
from tree_invariants import check, walk

from dsec_cli.source.text import SourceText
from dsec_cli.source.tree import Alias, Mapping, Node, Scalar, Sequence, Tree
from dsec_cli.source.yaml import parse


def _parse(text: str) -> tuple[SourceText, Tree]:
    source = SourceText.from_bytes("a.yaml", text.encode())
    tree = parse(source)
    check(source, tree)
    return source, tree


def _written(text: str) -> list[str]:
    """The text of every node's span, in document order."""
    source, tree = _parse(text)
    assert tree.problems == ()
    nodes = [node for document in tree.documents if document.root for node, _ in walk(document.root)]
    nodes.sort(key=lambda node: (node.span.start, -node.span.end))
    return [source.text[node.span.start : node.span.end] for node in nodes]


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("a: 1\n\n# c\n\n", ["a: 1", "a", "1"]),
        ("a:\n  b: 1\n\n  # c\nd: 2\n", ["a:\n  b: 1\n\n  # c\nd: 2", "a", "b: 1", "b", "1", "d", "2"]),
        ("- a\n\n- - b\n  - c\n", ["- a\n\n- - b\n  - c", "a", "- b\n  - c", "b", "c"]),
        ("k:\n- a\n- b\n", ["k:\n- a\n- b", "k", "- a\n- b", "a", "b"]),
        ("k: |\n  a\n  b\n\n\nz: 1\n", ["k: |\n  a\n  b\n\n\nz: 1", "k", "|\n  a\n  b", "z", "1"]),
        ("k: >+\n  a\n\n", ["k: >+\n  a", "k", ">+\n  a"]),
        ('k: "a\n  b"\n', ['k: "a\n  b"', "k", '"a\n  b"']),
        ("k: a\n  b\n\n", ["k: a\n  b", "k", "a\n  b"]),
        ("a:\r\n  - x\r\n  - y\r\n", ["a:\r\n  - x\r\n  - y", "a", "- x\r\n  - y", "x", "y"]),
        ("a: 1\rb: 2\r", ["a: 1\rb: 2", "a", "1", "b", "2"]),
        (
            "钥: 值\n\U0001f600: e\u0301\n",
            ["钥: 值\n\U0001f600: e\u0301", "钥", "值", "\U0001f600", "e\u0301"],
        ),
        ("a:\t1\nb: [1,\t2]\n", ["a:\t1\nb: [1,\t2]", "a", "1", "b", "[1,\t2]", "1", "2"]),
        ("a: &x !!str  1\n", ["a: &x !!str  1", "a", "1"]),
        ("a: &an:chor b\n", ["a: &an:chor b", "a", ":chor b"]),
        ("a: &x\n  b: 1\n", ["a: &x\n  b: 1", "a", "b: 1", "b", "1"]),
        ("a: &x # c\n- 1\n", ["a: &x # c\n- 1", "a", "- 1", "1"]),
        ("a: &x\n  - 1\n", ["a: &x\n  - 1", "a", "- 1", "1"]),
        ("a: !t {b: 1}\n", ["a: !t {b: 1}", "a", "{b: 1}", "b", "1"]),
        ("[a: b, ? c : d]", ["[a: b, ? c : d]", "a: b", "a", "b", "? c : d", "c", "d"]),
    ],
)
def test_spans(text: str, written: list[str]) -> None:
    assert _written(text) == written


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("a:\nb: 1\n", 2),
        ("a:   \n\n# c\nb: 1\n", 2),
        ("- \n- x\n", 1),
        ("? a\n\n# c\n? b\n", 3),
        ("a: &x\nb: 1\n", 5),
    ],
)
def test_an_empty_value_is_where_it_would_be_written(text: str, at: int) -> None:
    _, tree = _parse(text)
    root = tree.documents[0].root
    assert root is not None
    empty = [node for node, _ in walk(root) if isinstance(node, Scalar) and not node.text]
    assert [node.span for node in empty][-1] == (at, at) or empty[0].span == (at, at)


def _root(text: str) -> Node:
    root = _parse(text)[1].documents[0].root
    assert root is not None
    return root


def test_aliases_stay_at_their_own_place() -> None:
    root = _root("a: &x [1]\nb: *x\nc: *x\n")
    assert isinstance(root, Mapping)
    anchored, *aliases = [entry.value for entry in root.entries]
    assert isinstance(anchored, Sequence)
    assert anchored.anchor == "x"
    assert all(isinstance(alias, Alias) and alias.target is anchored for alias in aliases)
    assert [alias.span.start for alias in aliases] == [13, 19]


def test_the_anchor_above_is_meant_when_a_name_is_used_twice() -> None:
    root = _root("a: &x 1\nb: *x\nc: &x 2\nd: *x\n")
    assert isinstance(root, Mapping)
    meant = [entry.value.target for entry in root.entries if isinstance(entry.value, Alias)]
    assert [node.text for node in meant if isinstance(node, Scalar)] == ["1", "2"]


def test_styles_tags_and_flow_are_kept() -> None:
    root = _root("[a, 'b', \"c\", !!int 1, ! x, !l y]")
    assert isinstance(root, Sequence)
    assert root.flow
    scalars = [item for item in root.items if isinstance(item, Scalar)]
    assert [item.style for item in scalars] == ["plain", "single", "double", "plain", "plain", "plain"]
    assert [item.tag for item in scalars] == [None, None, None, "tag:yaml.org,2002:int", "!", "!l"]
    block = _root("a: |\n  x\nb: >\n  y\n")
    assert isinstance(block, Mapping)
    assert [entry.value.style for entry in block.entries if isinstance(entry.value, Scalar)] == [
        "literal",
        "folded",
    ]


def test_documents_of_a_stream() -> None:
    _, tree = _parse("%YAML 1.2\n---\na: &x 1\n...\n---\n---\nb: 2\n")
    assert [type(document.root).__name__ for document in tree.documents] == ["Mapping", "Scalar", "Mapping"]
    assert [document.index for document in tree.documents] == [0, 1, 2]


def test_anchors_end_with_their_document() -> None:
    _, tree = _parse("a: &x 1\n---\nb: *x\n")
    assert [problem.code for problem in tree.problems] == ["DS008"]


def test_comments() -> None:
    text = """\
# top
a: 1 # one
b: "x # no" # two
c: 'it''s # no'
d: a#b
e: |  # three
  # no
f: >-
  x # no

# four
g: [1, # five
    2]#six
h: x
  y # seven
i: !t # eight
  z
"""
    _, tree = _parse(text)
    assert [comment.text.lstrip("# ") for comment in tree.comments] == [
        *("top", "one", "two", "three", "four", "five", "six", "seven", "eight")
    ]


@pytest.mark.parametrize("char", ["\x85", "\u2028", "\u2029"])
@pytest.mark.parametrize(
    "where", ["# a{}b\nk: v\n", 'a: "x{}y"\nk: v\n', "a: x{}y\nk: v\n", "a: |\n  x{}y\nk: v\n"]
)
def test_odd_line_breaks_shift_nothing(char: str, where: str) -> None:
    text = where.format(char)
    source, tree = _parse(text)
    assert [problem.code for problem in tree.problems] == ["DS005"]
    assert tree.problems[0].span.start == text.index(char)
    root = tree.documents[0].root
    assert isinstance(root, Mapping)
    key = root.entries[-1].key
    assert source.position(key.span.start)[0] == text.count("\n")
    if len(root.entries) == 2:
        value = root.entries[0].value
        assert isinstance(value, Scalar)
        assert value.text.rstrip("\n") == f"x{char}y"


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("a: b\u200bc\n", ["DS005"]),
        ("a: b\ufeffc\n", ["DS005"]),
        ("a: x\xa0y\n", []),
        ("a: 你好\u3000世界\n", []),
        ("# \xa0\na: '\xa0'\n", []),
        ("a: 1\n\xa0b: 2\n", ["DS005"]),
        ("\u200b\u200b: 1\n", ["DS005"]),
        ("a: \U0001f468\u200d\U0001f469\n", []),
        ("a: \x00\n", ["DS002"]),
        ("a: '\x9f\x7f'\n", ["DS002", "DS002"]),
    ],
)
def test_odd_characters(text: str, codes: list[str]) -> None:
    _, tree = _parse(text)
    assert sorted(problem.code for problem in tree.problems) == codes


def test_hidden_characters_come_back_in_values() -> None:
    root = _root("a: 'x\x01\u2028y'\n")
    assert isinstance(root, Mapping)
    value = root.entries[0].value
    assert isinstance(value, Scalar)
    assert value.text == "x\x01\u2028y"
