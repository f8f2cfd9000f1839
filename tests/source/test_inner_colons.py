"""Colons inside plain words of flow collections: YAML 1.2 takes them, the C parser alone does not."""

from __future__ import annotations

import pytest

from dsec_cli.source.resolve import plain_value
from dsec_cli.source.text import SourceText
from dsec_cli.source.yaml import parse


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: [read:redis, write:s3]", {"a": ["read:redis", "write:s3"]}),
        ("a: {source: ds://m/b, url: http://h:80}", {"a": {"source": "ds://m/b", "url": "http://h:80"}}),
        ('a: {"k":v, b: x:y}', {"a": {"k": "v", "b": "x:y"}}),
        ("a: [b:c]\nd: ds://e\nf: 'x:y'\n", {"a": ["b:c"], "d": "ds://e", "f": "x:y"}),
        ("a: [1:30, a::b]", {"a": ["1:30", "a::b"]}),
    ],
)
def test_words_with_colons_in_flow_collections(text: str, value: object) -> None:
    tree = parse(SourceText.from_bytes("a.yaml", text.encode()))
    assert tree.problems == ()
    assert plain_value(tree.documents[0].root) == value


def test_spans_stay_exact_behind_a_hidden_colon() -> None:
    text = "a: [read:redis]\nb: {c: d}\n"
    root = parse(SourceText.from_bytes("a.yaml", text.encode())).documents[0].root
    item = root.entries[0].value.items[0]
    assert text[item.span.start : item.span.end] == "read:redis" == item.text


def test_other_faults_are_still_told() -> None:
    tree = parse(SourceText.from_bytes("a.yaml", b"a: [b:c]\nd: [x\ne: 1\n"))
    assert [problem.code for problem in tree.problems] == ["DS002"]
    many = "".join(map(chr, range(0xE000, 0xF900)))
    parse(SourceText.from_bytes("a.yaml", f"a: [b:c]\nd: '{many}'\n".encode()))
