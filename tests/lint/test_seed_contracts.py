"""Every YAML block of the seeds gets the findings that the seed's text says, at the exact place."""

from __future__ import annotations

from pathlib import Path

import pytest

SEEDS = Path(__file__).resolve().parents[1] / "golden" / "lint" / "seeds"
FILES = sorted(SEEDS.glob("*.yaml"))

EXPECTED: dict[str, tuple[str, ...]] = {}
"""File -> what its text says must be found: `CODE severity start-end`, nothing else."""


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_golden_seed(path: Path, cases) -> None:
    cases.compare(path, cases.run(path.read_bytes()))
