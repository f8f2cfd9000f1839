"""Small tables of packages, drawn in a test."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from packaging.version import Version

from dsec_cli.packages.conflicts import Entry
from dsec_cli.packages.known import Facts, Row, Shelf

ROOT = Path(__file__).resolve().parents[2]
NO_UV = {"PATH": "/nowhere", "VIRTUAL_ENV": "", "CONDA_PREFIX": ""}
"""So that resolvelib is asked, whatever is installed here."""
Table = Mapping[str, Mapping[str, Mapping[str, str]]]


def facts(name: str, releases: Mapping[str, Mapping[str, str]]) -> Facts:
    """`{"1": {"b": ">=2"}}` as facts."""
    rows = tuple(
        Row(name, (version,), "", on, needs, "", f"https://example.org/{name}/{version}")
        for version, wants in releases.items()
        for on, needs in wants.items()
    )
    return Facts(name, tuple(sorted(releases, key=Version)), frozenset(releases), rows)


class Making:
    """Builds shelves and entries."""

    @staticmethod
    def shelf(table: Table, *, known: Mapping[str, str] | None = None, extra: tuple[Row, ...] = ()) -> Shelf:
        found = {name: facts(name, releases) for name, releases in table.items()}
        for row in extra:
            before = found.get(row.package, Facts(row.package, (), frozenset(), ()))
            found[row.package] = before._replace(rows=(*before.rows, row))
        return Shelf(found.get, known=known or {})

    @staticmethod
    def entries(*texts: str) -> tuple[Entry, ...]:
        return tuple(
            Entry(*text.split(" ", 1), path=("dependencies", at))
            if " " in text
            else Entry(text, "", path=("dependencies", at))
            for at, text in enumerate(texts)
        )


@pytest.fixture(scope="session")
def making() -> type[Making]:
    """The builders."""
    return Making


@pytest.fixture
def ds(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """`ds("packages", "--json")` in the test's own folder and home."""

    def run(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
        program = (
            f"import sys; sys.path[:0] = {[str(ROOT), str(ROOT / 'runtime')]!r}; sys.argv[0] = 'dsec'; "
            "from dsec_cli.fast import dsec as main; sys.exit(main())"
        )
        home = tmp_path / "home"
        home.mkdir(exist_ok=True)
        return subprocess.run(
            [sys.executable, "-c", program, *words],
            capture_output=True,
            text=True,
            timeout=60,
            cwd=tmp_path,
            env={**os.environ, "HOME": str(home), "no_proxy": "*", **NO_UV, **environment},
        )

    return run
