"""Reading knowledge files: each wrong form is named, and the schema refuses what the reader refuses."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from dsec_cli.code.knowledge import NotKnowledgeError, parse
from dsec_cli.code.knowledge.form import FIELDS
from dsec_cli.code.knowledge.schema import schema

ENTRY: dict[str, Any] = {
    "name": "shop.Cart",
    "kind": "tool",
    "framework": "plain",
    "imports": ["shop.Cart"],
    "function": "Orders things.",
    "egress": [
        "shop.example.com:443",
        "*.example.com:8443",
        "localhost:*",
        "unknown: the hook is an argument",
    ],
    "env": [{"name": "SHOP_KEY", "required": True, "secret": True}],
    "files": [{"access": "read-write", "path": "argument"}],
    "subprocess": False,
    "executes": None,
    "privileges": "Spends money.",
    "rate": "2.5req/min",
    "rate_source": "https://shop.example.com/limits",
    "calls": "both",
    "streams": False,
    "cost": None,
    "notes": "Größe: 漢字.",
    "source": "https://shop.example.com/docs?page=2",
    "checked": "2026-11-29",
}
SCHEMA = Draft202012Validator(schema())


def document(entry: object) -> dict[str, object]:
    return {"version": 1, "entries": [entry]}


def refusal(text: str) -> str:
    with pytest.raises(NotKnowledgeError) as caught:
        parse(text)
    said = str(caught.value)
    assert "\n" not in said
    assert len(said) < 300
    return said


def test_every_field_is_read() -> None:
    assert set(ENTRY) == {field.key for field in FIELDS}
    (entry,) = parse(json.dumps(document(ENTRY))).entries
    assert entry.env[0].name == "SHOP_KEY"
    assert entry.files[0].access == "read-write"
    read = {**entry._asdict(), "env": ENTRY["env"], "files": ENTRY["files"]}
    assert {key: list(value) if isinstance(value, tuple) else value for key, value in read.items()} == ENTRY
    assert SCHEMA.is_valid(document(ENTRY))


def test_what_is_optional_may_be_missing() -> None:
    least = {field.key: ENTRY[field.key] for field in FIELDS if field.required}
    (entry,) = parse(json.dumps(document(least))).entries
    assert (entry.rate, entry.source, entry.notes) == (None, None, None)
    assert SCHEMA.is_valid(document(least))


WRONG = [
    ("name", ""), ("name", " x"), ("name", "x" * 201), ("name", 1), ("name", "a\nb"), ("name", None),
    ("kind", "robot"), ("kind", None), ("kind", []), ("imports", "shop"), ("imports", [1]), ("imports", [""]),
    ("function", "  "), ("function", "a\x1b[31mb"), ("egress", None), ("egress", "a.com:443"),
    ("egress", ["a.com"]), ("egress", ["https://a.com:443"]), ("egress", ["a.com:0"]),
    ("egress", ["a b.com:443"]), ("egress", ["a*.com:443"]), ("egress", ["-a.com:443"]),
    ("egress", ["unknown: "]),
    ("egress", ["unknown"]), ("env", ["KEY"]), ("env", [{"name": "KEY"}]),
    ("env", [{"name": "A-B", "required": True, "secret": True}]),
    ("env", [{"name": "A", "required": 1, "secret": True}]),
    ("env", [{"name": "A", "required": True, "secret": True, "x": 1}]),
    ("files", [{"access": "own", "path": "x"}]),
    ("files", [{"access": "read", "path": ""}]), ("subprocess", "no"), ("subprocess", 0),
    ("executes", "maybe"),
    ("rate", "often"), ("rate", "1 req/s"), ("rate", "-1req/s"), ("rate_source", "http://a.com/"),
    ("source", "see the docs"), ("source", "https://localhost/"), ("calls", "never"), ("streams", 1),
    ("checked", "yesterday"), ("checked", "29.11.2026"), ("notes", 7), ("notes", ""), ("cost", {}),
]  # fmt: skip


@pytest.mark.parametrize(("key", "value"), WRONG)
def test_a_wrong_value_is_named(key: str, value: object) -> None:
    wrong = document({**ENTRY, key: value})
    said = refusal(json.dumps(wrong))
    assert said.startswith("entry 1")
    assert f": {key} " in said
    assert not SCHEMA.is_valid(wrong)


@pytest.mark.parametrize(("key", "value"), [("checked", "2026-02-30"), ("egress", ["a.com:70000"])])
def test_what_a_schema_cannot_say(key: str, value: object) -> None:
    assert f": {key} must" in refusal(json.dumps(document({**ENTRY, key: value})))


@pytest.mark.parametrize("key", [field.key for field in FIELDS if field.required])
def test_a_missing_key_is_named(key: str) -> None:
    wrong = document({name: value for name, value in ENTRY.items() if name != key})
    assert refusal(json.dumps(wrong)).endswith(f" has no {key}")
    assert not SCHEMA.is_valid(wrong)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "line 1 is no JSON"),
        ("{\n\n]", "line 3 is no JSON"),
        ("[]", 'must be {"version": 1'),
        ("null", 'must be {"version": 1'),
        ('{"version": 1}', 'must be {"version": 1'),
        ('{"version": 1, "entries": [], "more": 1}', 'must be {"version": 1'),
        ('{"version": 2, "entries": []}', "version 2; this dsec reads 1"),
        ('{"version": true, "entries": []}', "version True"),
        ('{"version": "1", "entries": []}', "version '1'"),
        ('{"version": 1, "entries": {}}', "must be a list"),
        ('{"version": 1, "entries": [7]}', "entry 1 must be an object"),
        ('{"version": 1, "version": 1, "entries": []}', "'version' is written twice"),
        ('{"version": NaN, "entries": []}', "NaN"),
        ("[" * 100_000, "no JSON"),
        ('{"version": ' + "9" * 5000 + "}", "no JSON"),
        ('{"version": 1, "entries": [' + '{"a":' * 50_000 + "}]}", "no JSON"),
    ],
    ids=range(16),
)
def test_hostile_texts(text: str, said: str) -> None:
    assert said in refusal(text)


def test_unknown_keys_are_refused() -> None:
    wrong = document({**ENTRY, "rates": 1})
    assert "unknown key 'rates'" in refusal(json.dumps(wrong))
    assert not SCHEMA.is_valid(wrong)


@pytest.mark.parametrize(
    ("names", "imports", "said"),
    [
        (("a", "a"), (["x"], ["y"]), "two entries are called 'a'"),
        (("a", "b"), (["x"], ["x"]), "'a' and 'b' both claim 'x'"),
        (("a", "b"), (["b"], ["x"]), "'a' and 'b' both claim 'b'"),
    ],
)
def test_repeated_names_and_imports(
    names: tuple[str, str], imports: tuple[list[str], list[str]], said: str
) -> None:
    entries = [{**ENTRY, "name": n, "imports": i} for n, i in zip(names, imports, strict=True)]
    assert said in refusal(json.dumps({"version": 1, "entries": entries}))


def refused(text: str) -> bool:
    """Whether a text is refused, then in one line; nothing else may be raised."""
    said = ""
    try:
        parse(text)
    except NotKnowledgeError as problem:
        said = str(problem)
    assert "\n" not in said
    return bool(said)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@given(key=st.sampled_from(sorted(ENTRY)), value=JSON)
def test_any_value_is_read_or_refused(key: str, value: object) -> None:
    changed = document({**ENTRY, key: value})
    if not refused(json.dumps(changed)):
        assert SCHEMA.is_valid(changed), "what the reader takes, the schema takes"


@given(text=st.text(max_size=40))
def test_any_text_is_read_or_refused(text: str) -> None:
    refused(text)
