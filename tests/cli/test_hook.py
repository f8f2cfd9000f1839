"""The pre-commit hook that other repositories use."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from dsec_cli.commands.sources import NAMES
from dsec_cli.source.resolve import plain_value
from dsec_cli.source.text import SourceText
from dsec_cli.source.yaml import parse

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def hook() -> dict[str, object]:
    tree = parse(SourceText.from_bytes("hooks", (ROOT / ".pre-commit-hooks.yaml").read_bytes()))
    hooks = plain_value(tree.documents[0].root)
    assert isinstance(hooks, list)
    (only,) = hooks
    assert isinstance(only, dict)
    return only  # type: ignore[return-value]


def test_it_runs_an_installed_program(hook: dict[str, object]) -> None:
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    assert hook["id"] == hook["entry"] == "ds-contract-lint"
    assert hook["entry"] in scripts
    assert hook["language"] == "python"


def test_it_sees_every_contract_and_nothing_else(hook: dict[str, object]) -> None:
    pattern = re.compile(str(hook["files"]))
    for name in NAMES:
        assert pattern.search(name)
        assert pattern.search(f"jobs/a/{name}")
        assert not pattern.search(f"my-{name}")
        assert not pattern.search(f"{name}.bak")
