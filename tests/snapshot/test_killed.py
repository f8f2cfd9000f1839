"""An executor that is killed leaves no process behind that takes snapshots, and what was taken is whole."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

from tests.cli.conftest import command

from .kit import write
from .shell import Shell


def processes(run: Path) -> list[int]:
    """Of this run, by their command lines."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if str(run).encode() in path.read_bytes():
                found.append(int(path.parent.name))
        except OSError:
            continue
    return found


def test_a_killed_executor(shell: Shell) -> None:
    write(shell.project, {"train.sh": "#!/bin/sh\nsleep 60\n"})
    run = subprocess.Popen(
        command("dsec", "run", "--job-id", "long", "--snapshots", "always"),
        cwd=shell.project, env=shell.environ, stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    folder = shell.project / ".dsec" / "runs" / "long"
    log = folder / "snapshots.log"
    until = time.monotonic() + 60
    while not (log.exists() and "taken" in log.read_text()):
        assert time.monotonic() < until
        time.sleep(0.02)
    os.kill(run.pid, signal.SIGKILL)
    run.wait(10)
    while left := processes(folder):
        assert time.monotonic() < until, left
        time.sleep(0.05)
    assert log.read_text().splitlines() == ["taken: long-start", "taken: long-finish"]
    assert "intact: 2 snapshots" in shell.ok("snapshot verify")
    assert "unfinished" in shell.ok("snapshot inspect long-finish")
