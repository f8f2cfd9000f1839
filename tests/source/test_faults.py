"""Broken YAML: the cause by name, at the right place, and the healthy rest still read."""

from __future__ import annotations

import gc

import pytest
from tree_invariants import check

from dsec_cli.source.resolve import plain_value
from dsec_cli.source.text import SourceText
from dsec_cli.source.tree import Mapping, Tree
from dsec_cli.source.yaml import Once, parse


def _parse(text: str) -> tuple[SourceText, Tree]:
    source = SourceText.from_bytes("a.yaml", text.encode())
    tree = parse(source)
    check(source, tree)
    return source, tree


@pytest.mark.parametrize(
    ("text", "place", "words", "rest"),
    [
        ("a:\n\tb: 1\n\tc: 2\nd: 3\n", (2, 1), "tab indents", {"a": {"b": 1, "c": 2}, "d": 3}),
        ("a:\n  b: 1\n\tc: 2\nd: 3\n", (3, 1), "tab indents", None),
        ("a: [1, 2\nb: 3\n", (1, 4), "`[` list is not closed", {"a": None, "b": 3}),
        ("a: {x: 1\nb: 3\n", (1, 4), "`{` mapping is not closed", {"a": None, "b": 3}),
        ("a: {run}/w\nb: 3\n", (1, 4), "text that begins with `{` needs quotes", {"a": None, "b": 3}),
        ("a: [b, {run}/w]\nb: 3\n", (1, 8), "text that begins with `{` needs quotes", {"a": None, "b": 3}),
        ("a:\n- {run}/w\nb: 3\n", (2, 3), "text that begins with `{` needs quotes", {"a": None, "b": 3}),
        ("a: [1, 2", (1, 4), "`[` list is not closed", {"a": None}),
        ('a: "x\nb: 3\n', (1, 4), "quote is never closed", {"a": None, "b": 3}),
        ("a: 'x\nb: 'y'\nc: 3\n", (1, 4), "quote is never closed", {"a": None, "b": "y", "c": 3}),
        (
            "a: 1\ntimeout:30s\nb: 2\n",
            (2, 8),
            "no space after the colon of `timeout`",
            {"a": 1, "timeout": None, "b": 2},
        ),
        ("timeout:30s\nb: 2\n", (1, 8), "no space after the colon of `timeout`", {"timeout": None, "b": 2}),
        ("a: 1\nb：\n  c: 3\n", (2, 2), "the colon after `b` is full-width", {"a": 1, "b": {"c": 3}}),
        ("a: 1\nb： x\nc: 3\n", (2, 2), "the colon after `b` is full-width", {"a": 1, "b": "x", "c": 3}),
        ("a: 1\nb：x\nc: 3\n", (2, 2), "the colon after `b` is full-width", {"a": 1, "b": None, "c": 3}),
        ("a: 1\ntimeout 30s\nb: 2\n", (2, 1), "neither `key: value`", {"a": 1, "b": 2}),
        ("a: 1\n名称：x\nb: 2\n", (2, 3), "full-width `：`", {"a": 1, "b": 2}),
        ("a: b: c\nd: 1\n", (1, 5), "second `: `", {"a": None, "d": 1}),
        ("a: 1\n  b: 2\nd: 1\n", (2, 3), "indented as if it continued", {"a": 1, "d": 1}),
        ("a:\n    b: 1\n  c: 2\nd: 3\n", (3, 3), "fits into no mapping", {"a": {"b": 1}, "d": 3}),
        ("- a\nb: 1\n", (2, 1), "fits into no list", ["a"]),
        ("a: - b\nc: 1\n", (1, 4), "a list cannot start", {"a": None, "c": 1}),
        ("a: *\nb: 1\n", (1, 4), "`*` starts an alias", {"a": None, "b": 1}),
        ("a: @x\nb: 1\n", (1, 4), "cannot start with `@`", {"a": None, "b": 1}),
        ("a: `x`\nb: 1\n", (1, 4), "cannot start with ```", {"a": None, "b": 1}),
        ('a: "\\d"\nb: 1\n', (1, 5), "unknown escape", {"a": None, "b": 1}),
        ("a: !x!y z\nb: 1\n", (1, 4), "tag handle", {"a": None, "b": 1}),
        ("a: 'x' y\nb: 1\n", (1, 8), "after a quoted value", {"a": None, "b": 1}),
        ("a: |x\n  text\nb: 1\n", (1, 4), "header or the indentation", {"a": None, "b": 1}),
        ("a: }\nb: 1\n", (1, 4), "a value is expected", {"a": None, "b": 1}),
        ("a:\xa0b\nc: 1\n", (1, 1), "no-break or full-width space", {"c": 1}),
        ("%FOO\n---\na: 1\n", (1, 1), "parser limitation", {"a": 1}),
        ("%YAML 1.3\n---\na: 1\n", (1, 1), "parser limitation", {"a": 1}),
        ("a: &é 1\nb: 1\n", (1, 4), "parser limitation", {"a": None, "b": 1}),
    ],
)
def test_cause_place_and_rest(text: str, place: tuple[int, int], words: str, rest: object) -> None:
    source, tree = _parse(text)
    faults = [problem for problem in tree.problems if problem.code == "DS002"]
    assert [words in f"{fault.message}; {fault.help}" for fault in faults] == [True], faults
    assert tuple(source.position(faults[0].span.start)) == place
    if rest is not None:
        assert plain_value(tree.documents[0].root) == rest


def test_every_fault_of_a_file_is_told_once() -> None:
    text = "a: }\nb: [1\nc: 1\nd: 'x\ne: 2\nf: @\ng: 3\n"
    source, tree = _parse(text)
    assert [source.position(problem.span.start)[0] for problem in tree.problems] == [1, 2, 4, 6]
    assert plain_value(tree.documents[0].root) == {
        **dict.fromkeys("abdf"),
        "c": 1,
        "e": 2,
        "g": 3,
    }


def test_lines_below_a_damaged_line_are_no_news() -> None:
    text = "a: 1\n   b:\n     c: 1\n     d: 2\ne: 5\n"
    _, tree = _parse(text)
    assert len(tree.problems) == 1
    assert plain_value(tree.documents[0].root) == {"a": 1, "e": 5}


def test_what_was_left_out_is_a_gap_of_the_document() -> None:
    text = "a: }\nb: 1\n---\nc: 1\n"
    source, tree = _parse(text)
    assert [[source.text[slice(*gap)] for gap in document.gaps] for document in tree.documents] == [["}"], []]


def test_after_too_many_faults_the_rest_is_a_gap() -> None:
    text = "".join(f"k{n}: }}\n" for n in range(40))
    source, tree = _parse(text)
    assert 20 <= len(tree.problems) <= 21
    assert tree.documents[-1].gaps[-1].end == len(source.text)
    root = tree.documents[0].root
    assert isinstance(root, Mapping)
    assert len(root.entries) >= 20


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("a: {run}/x-{iteration}.npz  # why", 'write "{run}/x-{iteration}.npz"'),
        ("a: {run} and more", 'write "{run} and more"'),
        ("a: {b: {run}/x}", 'write "{run}/x"'),
        ("a: [{run}/x, y]", 'write "{run}/x"'),
        ("a: {b: 1} c", "align it with the keys of its mapping; after a quoted value nothing may follow"),
    ],
)
def test_text_that_begins_with_a_placeholder_is_shown_in_quotes(line: str, said: str) -> None:
    _, tree = _parse(f"{line}\n")
    assert [one.help for one in tree.problems] == [said]


@pytest.mark.parametrize(
    ("text", "places", "rest"),
    [
        ("a: {{ x }}\nb: 1\n", [(1, 4)], {"a": None, "b": 1}),
        ("{% if x %}\na: 1\n{% endif %}\nb: 2\n", [(1, 1), (3, 1)], {"a": 1, "b": 2}),
        ("{{- if .Values.x }}\na: 1\n{{- end }}\n", [(1, 1), (3, 1)], {"a": 1}),
        ("a: {{ x }}-z\nl:\n  - {{ y }}\n  - b\n", [(1, 4), (3, 5)], {"a": None, "l": [None, "b"]}),
        ("a: [{{ x }}, 2]\nb: 1\n", [(1, 5)], {"a": None, "b": 1}),
        ("{{ key }}: 1\nb: 1\n", [(1, 1)], {"b": 1}),
    ],
)
def test_templates_are_named_once(text: str, places: list[tuple[int, int]], rest: object) -> None:
    source, tree = _parse(text)
    (problem,) = tree.problems
    assert problem.code == "DS009"
    assert "Helm or Jinja" in problem.message
    spans = [problem.span, *(span for span, _ in problem.related)]
    assert [tuple(source.position(span.start)) for span in spans] == places
    assert plain_value(tree.documents[0].root) == rest


@pytest.mark.parametrize(
    "text",
    [
        "a: '{{ x }}'\n",
        'a: "{% x %}"\n',
        "a: docker ps --format {{.Names}}\n",
        "a: |\n  {{ x }}\n  {% y %}\n",
        "# {{ x }}\na: 1\n",
        "a: {b: {c: 1}}\n",
    ],
)
def test_braces_in_text_are_no_template(text: str) -> None:
    assert _parse(text)[1].problems == ()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: *x\n", "*x refers to no anchor"),
        ("a: &x [*x]\n", "*x stands inside the value that it names"),
        ("a: &x {b: {c: [*x]}}\n", "*x stands inside"),
        ("b: *x\na: &x 1\n", "*x refers to no anchor"),
    ],
)
def test_aliases_that_cannot_be_followed(text: str, words: str) -> None:
    _, tree = _parse(text)
    (problem,) = tree.problems
    assert problem.code == "DS008"
    assert words in problem.message


@pytest.mark.battery
@pytest.mark.parametrize(
    "text",
    [
        "a: {b: 1}\n",
        "a: [*x, {y}, &x {{z}}]\n",
        "a: }\nb: ]\nc: @\n",
        "a: {{ b }}\nc:\u3000d\n",
        "a: [" * 300,
    ],
)
def test_what_was_read_is_freed_without_a_collector(text: str) -> None:
    """Commands run without one: a fix reads a text a dozen times."""
    _parse(text)  # what is imported and compiled for it stays
    gc.collect()
    gc.disable()
    try:
        tree = _parse(text)
        del tree
        assert gc.collect() == 0
    finally:
        gc.enable()


def test_a_text_that_several_ask_for_is_read_once() -> None:
    read = Once()
    one, same = (SourceText.from_bytes("a.yaml", b"a: 1\n") for _ in range(2))
    tree = read(one)
    assert read(one) is tree
    assert read(same) is not tree
