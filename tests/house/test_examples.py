"""The examples are copied as they are in a fresh checkout, also after they were run in this one."""

from __future__ import annotations

import socket
from pathlib import Path

from tests import examples


def test_what_a_run_leaves_is_not_copied(tmp_path: Path, monkeypatch) -> None:
    source = tmp_path / "examples" / "job"
    left = source / ".dsec" / "runs" / "demo"
    left.mkdir(parents=True)
    (source / "dsandbox.yaml").write_text("version: 1.0.0\n")
    with socket.socket(socket.AF_UNIX) as listener:
        monkeypatch.chdir(left)
        listener.bind("worker.sock")
        monkeypatch.setattr(examples, "EXAMPLES", tmp_path / "examples")
        copy = examples.copied("job", tmp_path / "copy")
    assert [path.name for path in copy.rglob("*")] == ["dsandbox.yaml"]
