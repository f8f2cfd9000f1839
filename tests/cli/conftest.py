"""Runs the programs as a user does: real processes, from a folder of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ENTRIES = {
    "dsec": "dsec",
    "ds-contract-lint": "contract_lint",
    "ds-dag-analyze": "dag_analyze",
    "dsctl": "dsctl",
}
Ran = subprocess.CompletedProcess[bytes]


def command(program: str, *words: str) -> list[str]:
    """The command line of one of our programs, installed or not."""
    source = (
        f"import sys; sys.path[:0] = {[str(ROOT), str(ROOT / 'runtime')]!r}; sys.argv[0] = {program!r}; "
        f"from dsec_cli.fast import {ENTRIES[program]} as main; sys.exit(main())"
    )
    return [sys.executable, "-c", source, *words]


@pytest.fixture
def ds(tmp_path: Path) -> Callable[..., Ran]:
    """`ds("dsec", "lint", "x.yaml", stdin=b"", COLUMNS="60")` in the test's own folder."""

    def run(program: str, *words: str, stdin: bytes | None = None, **environment: str) -> Ran:
        return subprocess.run(
            command(program, *words),
            input=stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            capture_output=True,
            timeout=60,
            cwd=tmp_path,
            env=os.environ | environment,
        )

    return run
