"""The job as one loop: killed while it saves, it goes on from the last complete save and ends the same."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests import examples

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent
ITERATIONS = 4
CUT = (
    "dsec: save 3 in {saves} is not used: it is incomplete, its writer did not get to the marker;"
    " save 2, the last complete one, was taken"
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return copied(tmp_path)


@pytest.fixture(scope="module")
def wanted(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The policy of a run that nobody disturbs."""
    folder = copied(tmp_path_factory.mktemp("whole"))
    return policy(run(folder, sys.executable, "run_in_process.py", "--iterations", str(ITERATIONS)))


def copied(to: Path) -> Path:
    pytest.importorskip("numpy", reason="the example needs numpy")
    copy = examples.copied("grpo-addition", to / "grpo-addition")
    text = (copy / "loop.yaml").read_text()
    assert "--iterations 20" in text
    (copy / "loop.yaml").write_text(text.replace("--iterations 20", f"--iterations {ITERATIONS}"))
    return copy


def run(folder: Path, *words: str, expect: int = 0) -> str:
    environment = os.environ | {"PATH": f"{BIN}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT / "runtime")}
    done = subprocess.run(
        words, cwd=folder, env=environment, capture_output=True, text=True, timeout=400, check=False
    )
    assert done.returncode == expect, done.stdout + done.stderr
    return done.stdout + done.stderr


def policy(text: str) -> str:
    return text[text.index("policy ") :].split()[1]


@pytest.mark.battery
def test_killed_while_saving_it_ends_with_the_same_policy(folder: Path, wanted: str) -> None:
    run(folder, "dsec", "run", "loop.yaml", "--job-id", "j")
    logs = folder / ".dsec" / "runs" / "j" / "logs"
    first, second = ((logs / f"Train@0.{attempt}.log").read_text() for attempt in (1, 2))
    saves = folder / ".dsec" / "runs" / "j" / "work" / "saves"
    assert "iteration 2" in first
    assert "iteration 3" not in first
    assert CUT.format(saves=saves) in second
    assert "going on after iteration 2" in second
    assert policy(second) == wanted


@pytest.mark.battery
def test_without_retries_the_run_is_resumed(folder: Path, wanted: str) -> None:
    text = (folder / "loop.yaml").read_text()
    (folder / "loop.yaml").write_text(text.replace("    retries: 1\n", ""))
    out = run(folder, "dsec", "run", "loop.yaml", "--job-id", "j", expect=1)
    assert signal.SIGKILL.name in out
    run(folder, "dsec", "resume", "j")
    log = (folder / ".dsec" / "runs" / "j" / "logs" / "Train@0.2.log").read_text()
    assert "save 2, the last complete one, was taken" in log
    assert policy(log) == wanted
