"""Commands in process, in a folder that somebody else may have filled."""

from __future__ import annotations

import gc
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from dsec_cli import fast
from dsec_cli.exit import guarded


class Ran(NamedTuple):
    """How a command ended, and what it wrote."""

    code: int
    out: str
    err: str


Commands = Callable[..., Ran]
CONTRACT = """\
version: "1.0.0"
name: x
baseline: {cpu: 1, memory: 256MiB}
elasticity: {gpu: {min_count: 0, max_count: 0}}
fault_tolerance: {level: pauseable, checkpoint_grace_period: 1s}
dependencies: []
steps:
  - id: a
    run: |
      echo ran >> ran-as
      exit 1
    timeout: 20s
"""


@pytest.fixture
def dsec(capfd: pytest.CaptureFixture[str]) -> Commands:
    """`dsec("lint", "-f", "json")` in the present folder; an error becomes its words, as for a user."""

    def ran(*argv: str) -> Ran:
        capfd.readouterr()
        try:
            code = guarded(lambda: fast.run("dsctl" if argv[0] == "config" else "dsec", list(argv)))
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


@pytest.fixture
def shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that everybody may write to, as /tmp, with a folder of ours in it, entered."""
    folder = tmp_path / "shared"
    (folder / "mine").mkdir(parents=True)
    folder.chmod(0o1777)
    monkeypatch.chdir(folder / "mine")
    return folder


@pytest.fixture
def run(shared: Path, dsec: Commands) -> Path:
    """A run that has failed, in the shared folder."""
    (shared / "dsandbox.yaml").write_text(CONTRACT)
    assert dsec("run", str(shared / "dsandbox.yaml"), "--job-id", "evil").code == 1
    (shared / "ran-as").unlink()
    return shared / ".dsec" / "runs" / "evil"
