"""The page of what snapshots survive names tests, in every row, and they exist."""

from __future__ import annotations

import re
from pathlib import Path

from tests.cli.conftest import ROOT

PAGE = ROOT / "docs" / "explanation" / "snapshot-failures.md"
NAMED = re.compile(r"`([a-z]+/test_\w+\.py)::(test_\w+)`")


def test_every_test_that_is_named_exists() -> None:
    named = NAMED.findall(PAGE.read_text())
    assert len(named) > 90
    texts = {name: (ROOT / "tests" / name).read_text() for name in {file for file, _ in named}}
    missing = [f"{file}::{name}" for file, name in named if f"\ndef {name}(" not in texts[file]]
    assert missing == []


def test_every_row_names_one() -> None:
    rows = [line for line in PAGE.read_text().splitlines() if line.startswith("| ") and "---" not in line]
    assert [row for row in rows if not NAMED.search(row) and "shown by" not in row] == []
    assert Path(PAGE).stat().st_size > 5000
