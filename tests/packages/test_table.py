"""The shipped table keeps its schema and its promises; a user's table is read or refused in words."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsec.core.pep440 import parse as version_of
from dsec.errors import FileProblem
from dsec.versions import range_problem
from dsec_cli.packages.conflicts import Entry, find
from dsec_cli.packages.known import Shelf
from dsec_cli.packages.markers import environment, judge
from dsec_cli.packages.ranges import NOTHING, of
from dsec_cli.packages.requirement import normalised
from dsec_cli.packages.table import NOTES, parse, shipped, source

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted((ROOT / "dsec_cli" / "packages" / "data").glob("*.json"))
SCHEMA = json.loads((ROOT / "schemas" / "package-table.schema.json").read_text("utf-8"))
FULL = environment("3.11.4", machine="x86_64")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_shipped_file_keeps_schema_and_form(path: Path) -> None:
    document = json.loads(path.read_text("utf-8"))
    jsonschema.validate(document, SCHEMA, format_checker=jsonschema.FormatChecker())
    strictly = parse(path.read_bytes(), path.name)
    assert shipped(path.stem) == strictly
    for facts in strictly:
        assert facts.name == normalised(facts.name)
        assert facts.read <= set(facts.releases) or not facts.releases
        places = [version_of(one) for one in facts.releases]
        assert None not in places
        for row in facts.rows:
            assert range_problem(row.needs) == ""
            assert of(row.needs) != NOTHING
            assert not row.when or judge(row.when, FULL) is not None, row.when
            assert row.source.startswith(("https://", "pkg:pypi/"))
            assert set(row.versions) <= facts.read
            assert row.versions or row.why, "what no metadata tell has a reason"
    assert path.stem == NOTES or [facts.name for facts in strictly] == [path.stem]


def test_the_table_is_worth_its_name() -> None:
    rows = [row for path in FILES for facts in shipped(path.stem) for row in facts.rows]
    assert len(rows) >= 100
    assert len(set(rows)) == len(rows)


@pytest.mark.parametrize(
    ("one", "other", "chain"),
    [
        (("trl", "==0.9.6"), ("transformers", "==4.20.1"), "trl 0.9.6 -> transformers >=4.31.0"),
        (("torch", "==2.3.0"), ("torchvision", "==0.17.0"), "torchvision 0.17.0 -> torch ==2.2.0"),
        (("torch", "==2.2.0"), ("numpy", ">=2"), "torch 2.2.0 -> numpy <2"),
        (("openai", "==1.30.0"), ("httpx", ">=0.28"), "openai 1.30.0 -> httpx >=0.23.0,<1,<0.28"),
        (("vllm", "==0.6.0"), ("torchvision", "==0.17.0"), "vllm 0.6.0 -> torchvision ==0.19"),
        (
            ("transformers", ">=4.40.0,<4.42.0"),
            ("tokenizers", ">=0.20"),
            "transformers >=4.40.0,<4.42.0 -> tokenizers >=0.19,<0.20",
        ),
    ],
)
def test_known_conflicts(one: tuple[str, str], other: tuple[str, str], chain: str) -> None:
    found = find((Entry(*one, path=(0,)), Entry(*other, path=(1,))), Shelf(source()))
    assert [
        conflict for conflict in found if f"contract -> {chain}" in (conflict.one.words, conflict.other.words)
    ]
    assert all(conflict.sources for conflict in found)


@pytest.mark.parametrize(
    "texts",
    [
        {"torch": "==2.3.0", "torchvision": "==0.18.0", "torchaudio": "==2.3.0", "numpy": "==1.26.4"},
        {"trl": "==0.9.6", "transformers": ">=4.40.0,<4.42.0", "torch": ">=2.1"},
        {"vllm": "==0.6.0", "torch": "==2.4.0", "torchvision": "==0.19.0"},
        {"langchain": "==0.3.30", "openai": ">=2", "pydantic": "==2.12.5"},
        {"numba": "==0.60.0", "numpy": "==2.0.2", "scipy": "==1.14.1"},
    ],
)
def test_known_good_sets(texts: dict[str, str]) -> None:
    entries = tuple(Entry(name, text, path=(name,)) for name, text in texts.items())
    assert find(entries, Shelf(source(), known=FULL)) == ()


GOOD = {
    "format": "dsec.conflicts/1",
    "rows": [
        {
            "package": "Our_Lib",
            "versions": ">=2",
            "on": "torch",
            "needs": ">=2.4",
            "source": "https://example.org",
        }
    ],
}


def test_a_users_table_adds_to_the_shipped_one() -> None:
    extra = parse(json.dumps(GOOD).encode(), "mine.json")
    entries = (Entry("our-lib", "==2.1", path=(0,)), Entry("torch", "==2.3.0", path=(1,)))
    assert find(entries, Shelf(source())) == ()
    (conflict,) = find(entries, Shelf(source(extra)))
    assert conflict.one.words == "contract -> our-lib 2.1 -> torch >=2.4"
    assert conflict.sources == ("https://example.org",)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"needs": ">>1"}, "rows[0]: needs '>>1' is no range"),
        ({"versions": ">=" + "1" * 2000}, "rows[0]: versions '>=1111"),
        ({"versions": "===what-ever"}, "rows[0]: versions '===what-ever' is no range"),
        ({"when": "python_version"}, "rows[0]: when 'python_version' is no environment marker"),
        ({"when": "foo bar"}, "rows[0]: when 'foo bar' is no environment marker"),
        ({"needs": 5}, "rows[0]: needs is no text"),
        ({"versions": [1]}, "rows[0]: versions is no list of versions"),
        ({"versions": ""}, "rows[0]: versions is no text"),
        ({"source": None}, "rows[0]: source is no text"),
        ({"wants": "x"}, "rows[0]: unknown key 'wants'"),
        ({"package": ""}, "rows[0]: package is no text"),
    ],
)
def test_a_wrong_row_is_named(change: dict[str, object], words: str) -> None:
    document = {**GOOD, "rows": [{**GOOD["rows"][0], **change}]}  # type: ignore[dict-item]
    with pytest.raises(FileProblem) as caught:
        parse(json.dumps(document).encode(), "mine.json")
    assert caught.value.what.startswith(f"mine.json: {words}")
    assert caught.value.hint


@pytest.mark.parametrize(
    "data",
    [b"", b"\xff\xfe", b"[]", b"{}", b"[" * 100_000, b'{"format": "dsec.conflicts/2"}', b'{"format": 1}',
     b'{"format": "dsec.conflicts/1", "rows": 1}', b'{"format": "dsec.conflicts/1", "rows": [1]}',
     b'{"format": "dsec.conflicts/1", "package": "a", "releases": 1}',
     b'{"format": "dsec.conflicts/1", "rows": [], "more": 1}'],
)  # fmt: skip
def test_what_is_no_table_is_refused(data: bytes) -> None:
    with pytest.raises(FileProblem, match=r"mine\.json"):
        parse(data, "mine.json")


KEYS = st.sampled_from(["format", "package", "rows", "versions", "on", "needs", "source", "releases", "read"])
ANY = st.recursive(
    st.none() | st.text(max_size=5) | st.integers(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=5),
    max_leaves=12,
)


@given(ANY)
def test_any_json_is_read_or_refused(value: object) -> None:
    if isinstance(value, dict):
        value = {**value, "format": "dsec.conflicts/1"}
    try:
        parse(json.dumps(value).encode(), "x")
    except FileProblem:
        return


def test_no_name_leads_out_of_the_folder() -> None:
    assert shipped("../data/torch") == shipped("") == shipped("/etc/passwd") == ()
    assert source()("../data/torch") is None
