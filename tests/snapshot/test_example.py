"""The shipped job: run, kept, changed, refused, put back, run again with the same policy at its end."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from .shell import Shell

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "grpo-addition"


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    found = Shell(tmp_path)
    for path in EXAMPLE.glob("*.*"):
        shutil.copy(path, found.project)
    contract = found.project / "dsandbox.yaml"
    contract.write_text(contract.read_text().replace("count: 20", "count: 2"))
    return found


@pytest.mark.battery
def test_the_last_policy_is_the_recorded_one(shell: Shell) -> None:
    pytest.importorskip("numpy", reason="the example needs numpy")
    shell.ok("run -q --job-id first")
    shell.ok("snapshot create --name v1 --include-code --include-deps")

    code = shell.project / "grpo.py"
    before = code.read_text()
    code.write_text(before.replace("learning_rate: float = 5e-3", "learning_rate: float = 9e-3"))
    (shell.site / "torch-2.4.0.dist-info").rename(shell.site / "torch-2.5.1.dist-info")
    text = shell.ok("snapshot run v1", 1)
    assert "-     learning_rate: float = 5e-3" in text
    assert "+     learning_rate: float = 9e-3" in text
    assert "in Settings" in text
    assert "torch  2.4.0 -> 2.5.1" in text

    code.write_text(before)
    (shell.site / "torch-2.5.1.dist-info").rename(shell.site / "torch-2.4.0.dist-info")
    text = shell.ok("snapshot run v1 -q --job-id again")
    assert "0 differ, 0 missing" in text
    runs = shell.project / ".dsec" / "runs"
    first, again = ((runs / job / "work" / "policy-1.npy").read_bytes() for job in ("first", "again"))
    assert first == again
