"""What DSec ships: every entry is valid, unique, in order, sourced, and written the same way."""

from __future__ import annotations

import json
import re
from datetime import date
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from jsonschema import Draft202012Validator

from dsec.units import RequestsPerDay
from dsec.units import parse as parse_quantity
from dsec_cli.code.knowledge import generate, lookup, parse, trusted
from dsec_cli.code.knowledge.schema import schema
from dsec_cli.commands.knowing import shipped

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted((ROOT / "dsec_cli/code/knowledge/data").glob("*.json"))
KNOWN = shipped()
LEAST = 200
SEARCH_PAGE = re.compile(r"[?&](q|query|search)=|//(www\.)?(google|bing|duckduckgo)\.[a-z]+/")
INDEX_PAGE = re.compile(r"/(project|packages?|simple|pypi)/")
"""How the address of a package's page or file in an index begins, whatever its host."""


def rows(path: Path) -> list[dict[str, Any]]:
    document: dict[str, list[dict[str, Any]]] = json.loads(path.read_text("utf-8"))
    return document["entries"]


def test_there_are_enough_entries() -> None:
    assert len(KNOWN.entries) >= LEAST
    assert len({entry.framework for entry in KNOWN.entries}) >= 8
    assert sum(len(rows(path)) for path in FILES) == len(KNOWN.entries), "one name in two files"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_each_file_is_valid_by_itself(path: Path) -> None:
    text = path.read_text("utf-8")
    assert list(parse(text).entries) == trusted(text), "read with and without checks alike"
    errors = [
        error.message
        for error in Draft202012Validator(schema()).iter_errors(json.loads(path.read_text("utf-8")))
    ]
    assert errors == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_one_entry_a_line_and_sorted(path: Path) -> None:
    lines = path.read_text("utf-8").splitlines()
    assert (lines[0], lines[-1]) == ('{"version": 1, "entries": [', "]}")
    entries = [json.loads(line.removesuffix(",")) for line in lines[1:-1]]
    assert entries == rows(path)
    names = [entry["name"] for entry in entries]
    assert names == sorted(names, key=lambda name: (name.lower(), name))
    assert all(entry["imports"] == sorted(set(entry["imports"])) for entry in entries)


def test_no_import_belongs_to_two_entries() -> None:
    owners: dict[str, list[str]] = {}
    for entry in KNOWN.entries:
        for dotted in entry.imports:
            owners.setdefault(dotted, []).append(entry.name)
    assert {dotted: names for dotted, names in owners.items() if len(names) > 1} == {}


def test_every_name_and_import_finds_its_entry() -> None:
    for entry in KNOWN.entries:
        assert entry.imports
        assert {lookup(KNOWN, dotted) for dotted in entry.imports} == {entry}


def test_every_entry_cites_a_page() -> None:
    for entry in KNOWN.entries:
        assert entry.source is not None, entry.name
        parts = urlsplit(entry.source)
        assert parts.scheme == "https", entry.name
        assert not SEARCH_PAGE.search(entry.source), entry.name
        assert not INDEX_PAGE.match(parts.path), entry.name
        assert parts.netloc != "github.com" or parts.path.count("/") >= 3, f"{entry.name}: name the file"


def test_enough_entries_were_compared_with_their_source() -> None:
    days = [date.fromisoformat(entry.checked) for entry in KNOWN.entries if entry.checked]
    assert len(days) >= LEAST
    assert min(days) >= date(2026, 11, 29)


def test_a_limit_is_a_rate_and_says_who_states_it() -> None:
    limited = [entry for entry in KNOWN.entries if entry.rate or entry.rate_source]
    assert limited
    for entry in limited:
        assert entry.rate is not None, entry.name
        assert entry.rate_source is not None, entry.name
        assert parse_quantity(RequestsPerDay, entry.rate) > 0


def test_texts_are_whole_sentences() -> None:
    for entry in KNOWN.entries:
        assert entry.function.endswith("."), entry.name
        assert len(entry.function) <= 100, entry.name
        for text in (entry.notes, entry.privileges):
            assert text is None or text.endswith("."), entry.name


def test_what_looks_like_a_key_is_secret() -> None:
    key = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD)$|_DSN$", re.IGNORECASE)
    public = {"LANGFUSE_PUBLIC_KEY"}
    wrong = [
        (entry.name, one.name)
        for entry in KNOWN.entries
        for one in entry.env
        if key.search(one.name) and not one.secret and one.name not in public
    ]
    assert wrong == []


def test_what_runs_code_calls_whom_the_code_calls() -> None:
    """A tool that runs any code here cannot promise whom it calls."""
    local = [
        entry
        for entry in KNOWN.entries
        if entry.executes and (entry.privileges or "").startswith("Everything the process may do")
    ]
    assert len(local) >= 5
    assert [entry.name for entry in local if not entry.unknown_egress] == []


@pytest.mark.parametrize(
    ("dotted", "host"),
    [
        ("langchain_community.tools.TavilySearchResults", "api.tavily.com:443"),
        ("langchain.tools.PubmedQueryRun", "eutils.ncbi.nlm.nih.gov:443"),
        ("crewai_tools.SerperDevTool", "google.serper.dev:443"),
        ("llama_index.tools.brave_search.BraveSearchToolSpec", "api.search.brave.com:443"),
        ("smolagents.WebSearchTool", "lite.duckduckgo.com:443"),
        ("openai.OpenAI.chat.completions.create", "api.openai.com:443"),
        ("boto3.client(s3)", "s3.*.amazonaws.com:443"),
        ("@modelcontextprotocol/server-slack", "slack.com:443"),
    ],
)  # fmt: skip
def test_well_known_names_lead_to_well_known_hosts(dotted: str, host: str) -> None:
    entry = lookup(KNOWN, dotted)
    assert entry is not None
    assert host in entry.hosts


def test_page_and_schema_are_fresh() -> None:
    assert generate.stale(ROOT) == [], "run make generate"


def test_check_names_what_is_stale(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generate, "ROOT", tmp_path)
    assert generate.main(["--check"]) == 1
    for path in (generate.PAGE, generate.SCHEMA):
        (tmp_path / path).parent.mkdir(parents=True)
    assert generate.main([]) == 0
    assert generate.main(["--check"]) == 0
    assert generate.stale(tmp_path) == []
