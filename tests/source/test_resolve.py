"""Core scalars, merge keys and duplicates."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsec_cli.source.resolve import pairs, plain_value, resolve
from dsec_cli.source.text import SourceText, Span
from dsec_cli.source.tree import Mapping, Scalar, Tree
from dsec_cli.source.yaml import parse


def _tree(text: str) -> Tree:
    return parse(SourceText.from_bytes("a.yaml", text.encode()))


def _root(text: str) -> Mapping:
    root = _tree(text).documents[0].root
    assert isinstance(root, Mapping)
    return root


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        *((text, "null", None) for text in ("", "~", "null", "Null", "NULL")),
        *((text, "bool", True) for text in ("true", "True", "TRUE")),
        *((text, "bool", False) for text in ("false", "False", "FALSE")),
        *((text, "int", int(text)) for text in ("0", "-1", "+12", "007", "010")),
        ("0o17", "int", 15),
        ("0xfF", "int", 255),
        *((text, "float", float(text)) for text in ("1.", ".5", "-1.5", "1e3", "1E-3", "+1.e+2", "0.0")),
        (".inf", "float", math.inf),
        ("-.INF", "float", -math.inf),
        *(
            (text, "str", text)
            for text in ("no", "yes", "on", "off", "y", "1_000", "0b11", "1:30", "2024-01-01")
        ),
        *(
            (text, "str", text)
            for text in (".", "+", "-", "e3", "1e", "1e+", "1.2.3", "0o8", "0x", "0xg", "-0x1")
        ),
        *(
            (text, "str", text)
            for text in ("=", "<<", "١٢", "½", "1²", "nUll", "tRue", "+.nan", ".Inf5", "1 2")
        ),
    ],
)
def test_plain_scalars_follow_the_core_schema(text: str, kind: str, value: object) -> None:
    assert resolve(Scalar(Span(0, 0), text, "plain", None, None)) == (kind, value)


def test_not_a_number() -> None:
    kind, value = resolve(Scalar(Span(0, 0), ".NaN", "plain", None, None))
    assert kind == "float"
    assert isinstance(value, float)
    assert math.isnan(value)


@pytest.mark.parametrize("style", ["single", "double", "literal", "folded"])
def test_other_styles_are_strings(style: str) -> None:
    assert resolve(Scalar(Span(0, 0), "1", style, None, None)) == ("str", "1")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("!!str 1", "1"),
        ("!!int '1'", 1),
        ("!!float 1", 1.0),
        ("!!bool 'true'", True),
        ("!!null ''", None),
        ("! 1", "1"),
        ("!custom 1", "1"),
        ("!!int x", "x"),
        ("!!python/object:os.system ls", "ls"),
        ("!!binary aGk=", "aGk="),
    ],
)
def test_tags(text: str, value: object) -> None:
    result = plain_value(_tree(text).documents[0].root)
    assert result == value
    assert type(result) is type(value)


def test_thousands_of_digits_neither_crash_nor_cost() -> None:
    assert plain_value(_root(f"a: {'1' * 6000}")) == {"a": math.inf}
    assert plain_value(_root(f"a: 0x{'1' * 6000}")) == {"a": int("1" * 6000, 16)}


MERGES = """\
one: &one {a: 1, b: 1}
two: &two {b: 2, c: 2}
"""


@pytest.mark.parametrize(
    ("mapping", "value", "codes"),
    [
        ("{<<: *one}", {"a": 1, "b": 1}, []),
        ("{<<: *one, b: 9}", {"a": 1, "b": 9}, []),
        ("{b: 9, <<: *one}", {"a": 1, "b": 9}, ["DS004"]),
        ("{<<: [*one, *two]}", {"a": 1, "b": 1, "c": 2}, ["DS004"]),
        ("{<<: [*two, *one]}", {"a": 1, "b": 2, "c": 2}, ["DS004"]),
        ("{<<: *one, <<: *two}", {"a": 1, "b": 1, "c": 2}, ["DS004"]),
        ("{<<: {x: 1}}", {"x": 1}, []),
        ("{<<: *one, a: 1, a: 2}", {"a": 2, "b": 1}, ["DS003"]),
        ('{"<<": *one}', {"<<": {"a": 1, "b": 1}}, []),
        ("{<<: 5}", {"<<": 5}, []),
        ("{<<: []}", {}, []),
    ],
)
def test_merge_keys(mapping: str, value: object, codes: list[str]) -> None:
    tree = _tree(f"{MERGES}m: {mapping}\n")
    result = plain_value(tree.documents[0].root)
    assert isinstance(result, dict)
    assert result["m"] == value
    assert [problem.code for problem in tree.problems] == codes


def test_merges_of_merges_and_where_they_come_from() -> None:
    text = "a: &a {x: 1, y: 1}\nb: &b\n  <<: *a\n  y: 2\nc:\n  <<: *b\n  z: 3\n"
    root = _root(text)
    found = {pair.key: pair for pair in pairs(root)}
    mapping = found["c"].value
    assert isinstance(mapping, Mapping)
    entries = pairs(mapping)
    assert [(pair.key, pair.merged) for pair in entries] == [("z", False), ("y", True), ("x", True)]
    assert text[slice(*entries[1].value.span)] == "2"
    assert entries[2].key_node.span.start == text.index("x")


def test_duplicate_keys_name_the_first_place() -> None:
    text = "a: 1\nb: 2\n'a': 3\n"
    tree = _tree(text)
    (problem,) = tree.problems
    assert problem.code == "DS003"
    assert text[slice(*problem.span)] == "'a'"
    assert problem.related[0][0] == (0, 1)
    assert plain_value(tree.documents[0].root) == {"a": 3, "b": 2}


def test_keys_that_are_no_strings() -> None:
    tree = _tree("80: a\ntrue: b\n? [x]\n: c\n~: d\n*k : e\n")
    assert plain_value(tree.documents[0].root) == {"80": "a", "true": "b", "~": "d"}


LEAVES = st.sampled_from(["1", "2", "x"])
TABLES = st.dictionaries(st.sampled_from("abc"), LEAVES, min_size=1, max_size=3)


@given(st.lists(TABLES, min_size=1, max_size=3), TABLES)
def test_merge_precedence_is_that_of_dictionaries(sources: list[dict[str, str]], own: dict[str, str]) -> None:
    def flow(table: dict[str, str]) -> str:
        return "{" + ", ".join(f"{key}: '{value}'" for key, value in table.items()) + "}"

    anchors = "".join(f"s{n}: &s{n} {flow(table)}\n" for n, table in enumerate(sources))
    names = ", ".join(f"*s{n}" for n in range(len(sources)))
    text = f"{anchors}m:\n  <<: [{names}]\n" + "".join(f"  {key}: '{value}'\n" for key, value in own.items())
    expected: dict[str, str] = {}
    for table in reversed(sources):
        expected |= table
    result = plain_value(_root(text))
    assert isinstance(result, dict)
    assert result["m"] == expected | own
