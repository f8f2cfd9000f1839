"""Mistakes as people make them are found, with the way out; contracts that are right give no alarm."""

from __future__ import annotations

from pathlib import Path

import pytest

from dsec_cli.diagnostics import Diagnostic, Severity
from dsec_cli.lint.linter import lint
from dsec_cli.lint.rule import Surroundings
from dsec_cli.source.text import SourceText

ROOT = Path(__file__).resolve().parents[2]
FOLDER = Path(__file__).parent / "mistakes"
RIGHT = sorted(FOLDER.glob("*.yaml")) + [
    ROOT / "examples" / name
    for name in (
        "grpo-addition/dsandbox.yaml",
        "hello/dsandbox.yaml",
        "split-model/dsandbox.yaml",
        "search-agent/dsandbox.yaml",
    )
]
SHARE = 0.95
"""Of the mistakes that are written down, so many are found; those that are not stay in the list."""


def alarms(text: str) -> list[Diagnostic]:
    found = lint(
        SourceText.from_bytes("dsandbox.yaml", text.encode()), around=Surroundings(today="2026-11-29")
    )
    return [one for one in found if one.severity is not Severity.INFO]


def mistakes() -> list[tuple[str, str, str, str]]:
    """The code expected, a word of the way out, the contract with the mistake, and the line that has it."""
    rows, right = [], ""
    for number, line in enumerate((FOLDER / "mistakes.txt").read_text("utf-8").splitlines(), 1):
        if line.startswith("["):
            right = (FOLDER / f"{line[1:-1]}.yaml").read_text("utf-8")
        elif line and not line.startswith("#"):
            code, word, old, new = f"{line} ".split(" ~ ")
            old, new = (
                text.removesuffix(" ").replace("\\n", "\n").replace("\\t", "\t") for text in (old, new)
            )
            assert right.count(old) == 1, f"{number}: {old!r} stands there {right.count(old)} times"
            rows.append((code, word, right.replace(old, new), f"{number}: {line}"))
    return rows


def test_nearly_all_mistakes_are_found_with_the_way_out() -> None:
    rows = mistakes()
    missed = [
        line
        for code, word, text, line in rows
        if not any(
            one.code == code and word.lower() in f"{one.message} {one.help}".lower() for one in alarms(text)
        )
    ]
    assert len(rows) >= 150
    assert len(missed) <= (1 - SHARE) * len(rows), missed
    known = [line for line in missed if ": - ~" not in line]
    assert not known, "these were found before"


@pytest.mark.parametrize("path", RIGHT, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_contract_that_is_right_gives_no_alarm(path: Path) -> None:
    assert alarms(path.read_text("utf-8")) == []
