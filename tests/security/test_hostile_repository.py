"""A repository whose own configuration of git would have something run."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from .conftest import CONTRACT, Commands


def git(folder: Path, *words: str) -> None:
    person = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    environ = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    subprocess.run(["git", *person, *words], cwd=folder, check=True, capture_output=True, env=environ)


def test_pipes_in_the_place_of_files_hold_nothing_up(dsec: Commands, clone: Path) -> None:
    (clone / ".dsec").mkdir(mode=0o700)
    names = ("durations.json", "devices.json", "knowledge.json", "conflicts.json")
    for name in ("p", *(f".dsec/{one}" for one in names)):
        os.mkfifo(clone / name)
    (clone / "dsandbox.yaml").write_text(CONTRACT)
    (clone / ".dsec.toml").write_text('[lint]\nbaseline = "p"\n')
    assert dsec("lint").code == 3
    (clone / ".dsec.toml").unlink()
    for words in (("plan",), ("packages",), ("simulate",)):
        assert dsec(*words).code in (0, 3), words
    os.mkfifo(clone / ".dsec.toml")
    assert dsec("lint").code == 3


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("core.fsmonitor", "touch ../RAN; false"),
        ("diff.external", "touch ../RAN; false"),
        ("core.pager", "touch ../RAN"),
        ("core.sshCommand", "touch ../RAN"),
    ],
)
def test_lint_since_runs_nothing_of_it(
    dsec: Commands, tmp_path: Path, key: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    clone = tmp_path / "clone"
    clone.mkdir()
    monkeypatch.chdir(clone)
    (clone / "dsandbox.yaml").write_text("version: '1.0.0'\nname: x\n")
    git(clone, "init", "-q", ".")
    git(clone, "add", "dsandbox.yaml")
    git(clone, "commit", "-q", "-m", "x")
    (clone / "dsandbox.yaml").write_text("version: '1.0.0'\nname: x\nsteps: 3\n")
    git(clone, "config", key, value)
    ran = dsec("lint", "--since", "HEAD")
    assert ran.code == 1, ran
    assert not (tmp_path / "RAN").exists()
