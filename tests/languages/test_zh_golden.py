"""What a Chinese reader sees of five contracts, to the letter; DSEC_BLESS=1 writes it anew."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from dsec_cli.cells import cells
from dsec_cli.commands.speaking import spoken
from dsec_cli.lint.linter import lint_all
from dsec_cli.lint.rule import Surroundings
from dsec_cli.report.format import Report
from dsec_cli.report.formats import json as programs
from dsec_cli.report.formats import text as people
from dsec_cli.source.text import SourceText
from dsec_cli.words import Said

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "languages" / "zh"
CASES = sorted(GOLDEN.glob("*.yaml"))
TODAY = "2026-12-01"
PHRASE = re.compile(r"[A-Za-z]{2,} [a-z]{2,} [a-z]{2,}")


def found(path: Path) -> Report:
    name = "agent-train-sandbox.yaml" if path.stem == "security" else "dsandbox.yaml"
    text = SourceText.from_bytes(name, path.read_bytes())
    diagnostics = lint_all(text, around=Surroundings(inventory=None, today=TODAY))
    return Report(files=(name,), texts={name: text}, diagnostics=diagnostics, rules=tuple)


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_a_contract_in_chinese(path: Path) -> None:
    written = people.render(spoken(found(path), "zh"))
    golden = path.with_suffix(".out")
    if os.environ.get("DSEC_BLESS"):
        golden.write_text(written)
    assert written == golden.read_text()


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_no_line_is_wider_than_the_terminal(path: Path) -> None:
    report = spoken(found(path), "zh")._replace(fold=True)
    assert [line for line in people.render(report).split("\n") if cells(line) > 80] == []


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_nothing_but_words_changes_with_the_language(path: Path) -> None:
    english, chinese = (
        list(programs.diagnostics(spoken(found(path), language))) for language in ("en", "zh")
    )
    assert len(english) > 5
    for one, other in zip(english, chinese, strict=True):
        said = one["message"], one["reason"], one["help"]
        assert all(before != after for before, after in zip(said, _words(other), strict=True) if before)
        for key in ("code", "name", "severity", "path", "place", "message_id", "arguments", "fingerprint"):
            assert one[key] == other[key]
        assert [fix["edits"] for fix in one["fixes"]] == [fix["edits"] for fix in other["fixes"]]


def _words(one: dict[str, str]) -> tuple[str, str, str]:
    return one["message"], one["reason"], one["help"]


@pytest.mark.parametrize(
    "path", sorted(GOLDEN.parents[1].glob("lint/*/fires*.yaml")), ids=lambda path: path.parent.name
)
def test_no_english_phrase_is_left_in_a_message(path: Path) -> None:
    """An argument that is a phrase is one of ours, which can be said in Chinese, or the contract's."""
    report = found(path)
    text = report.texts[report.files[0]].text
    for one in report.diagnostics:
        for said in (one.message, one.reason, one.help):
            assert [phrase for phrase in _plain(said) if PHRASE.search(phrase) and phrase not in text] == []


def _plain(text: str) -> list[str]:
    """Arguments that nobody will translate."""
    if not isinstance(text, Said):
        return []
    args = [arg for arg in text.args.values() if isinstance(arg, str)]
    inner = [phrase for arg in args for phrase in _plain(arg)]
    return inner + [arg for arg in args if not isinstance(arg, Said)]
