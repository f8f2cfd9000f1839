"""Commands in process, in a folder that somebody else may have filled."""

from __future__ import annotations

import gc
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from dsec_cli.exit import guarded
from dsec_cli.fast import run


class Ran(NamedTuple):
    """How a command ended, and what it wrote."""

    code: int
    out: str
    err: str


Commands = Callable[..., Ran]


@pytest.fixture
def dsec(capfd: pytest.CaptureFixture[str]) -> Commands:
    """`dsec("lint", "-f", "json")` in the present folder; an error becomes its words, as for a user."""

    def ran(*argv: str) -> Ran:
        capfd.readouterr()
        try:
            code = guarded(lambda: run("dsctl" if argv[0] == "config" else "dsec", list(argv)))
        finally:
            gc.enable()  # a process that runs one command does without
        return Ran(code, *capfd.readouterr())

    return ran


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cloned repository in the home folder, entered."""
    monkeypatch.setenv("HOME", str(tmp_path))
    folder = tmp_path / "clone"
    (folder / ".git").mkdir(parents=True)
    monkeypatch.chdir(folder)
    return folder
