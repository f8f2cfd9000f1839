"""Hostile files in a repository: as they were, as they are, and both."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from hostile.driver import answer
from hostile.files import FILES, GOOD, HEAVY

pytestmark = pytest.mark.skipif(not shutil.which("git"), reason="git is not installed")
CPU_S = 20
"""Two lints of one file, in this process."""
LIGHT = sorted(set(FILES) - HEAVY)


def git(folder: Path, *words: str) -> None:
    """Run git without anybody's configuration."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    for who in ("AUTHOR", "COMMITTER"):
        environment |= {f"GIT_{who}_NAME": "a", f"GIT_{who}_EMAIL": "a@example.org"}
    environment |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True, env=environment)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """An empty repository."""
    git(tmp_path, "init", "-q", "-b", "main")
    return tmp_path


def compared(old: bytes, new: bytes, folder: Path) -> None:
    """`--since` of a commit with `old` is answered of a file with `new`."""
    file = folder / "dsandbox.yaml"
    file.write_bytes(old)
    git(folder, "add", ".")
    git(folder, "commit", "-q", "--allow-empty", "-m", "old")
    file.write_bytes(new)
    said = answer(folder, "lint", "dsandbox.yaml", "--since", "HEAD")
    assert not said.fault, str(said)
    assert said.cpu_s < CPU_S, str(said)


@pytest.mark.parametrize("name", LIGHT[::12])
def test_a_hostile_file_is_compared_with_a_commit(name: str, repository: Path) -> None:
    compared(GOOD, FILES[name], repository)
    compared(FILES[name], GOOD, repository)


@pytest.mark.battery
@pytest.mark.parametrize("name", sorted(FILES))
def test_every_hostile_file_is_compared_with_a_commit(name: str, repository: Path) -> None:
    compared(GOOD, FILES[name], repository)
    compared(FILES[name], GOOD, repository)
    compared(FILES[name], FILES[name] + b"\n", repository)
