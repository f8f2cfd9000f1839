"""Snapshots that runs take by themselves: marks, states between them, and what is freed."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli.conftest import ROOT, command

from .kit import write
from .shell import TRAIN, Shell


def test_marks_of_a_run(shell: Shell) -> None:
    write(shell.project, {"train.sh": TRAIN + "sleep 0.5\n"})
    text = shell.ok("run --snapshots always --job-id marked")
    assert "snapshot: marked-finish" in text
    names = [one["name"] for one in json.loads(shell.ok("snapshot list --json"))["snapshots"]]
    assert names == ["marked-start", "marked-finish"]
    told = json.loads(shell.ok("snapshot inspect marked-finish --json"))
    assert told["sections"]["command"]["data"]["argv"][-1] == "marked"
    assert told["sections"]["run"]["data"]["outcome"] == "succeeded"
    assert "equal to the recorded" in shell.ok("snapshot run marked-finish --job-id again")
    assert "snapshot:" not in shell.ok("run --snapshots never --job-id unmarked")


@pytest.mark.battery
def test_a_run_that_is_over_at_once_has_a_mark_of_its_finish(shell: Shell) -> None:
    assert "snapshot: marked-finish" in shell.ok("run --snapshots always --job-id marked")
    assert [one["name"] for one in json.loads(shell.ok("snapshot list --json"))["snapshots"]] == [
        "marked-finish"
    ]


def test_marks_never_make_a_run_fail(shell: Shell) -> None:
    (shell.project / ".dsec").mkdir()
    (shell.project / ".dsec" / "store").write_text("in the way")
    text = shell.ok("run --snapshots always --job-id marked")
    assert "succeeded" in text
    assert "not taken (finish)" in (shell.project / ".dsec/runs/marked/snapshots.log").read_text()


def test_an_interrupted_run_leaves_no_process(shell: Shell) -> None:
    write(shell.project, {"train.sh": "#!/bin/sh\necho begun\nsleep 60\n"})
    run = subprocess.Popen(
        command("dsec", "run", "--job-id", "long", "--snapshots", "always"),
        cwd=shell.project, env=shell.environ, stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    log = shell.project / ".dsec" / "runs" / "long" / "snapshots.log"
    until = time.monotonic() + 60
    while not (log.exists() and "taken" in log.read_text()):
        assert time.monotonic() < until, run.poll()
        assert run.poll() is None
        time.sleep(0.02)
    run.send_signal(signal.SIGINT)
    assert run.wait(60) == 130
    mine = str(log.parent).encode()
    left = [
        path
        for path in Path("/proc").glob("[0-9]*/cmdline")
        if mine in _read(path) and int(path.parent.name) != os.getpid()
    ]
    assert left == []


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


@pytest.mark.battery
def test_a_resumed_run_has_a_start_of_its_own(shell: Shell) -> None:
    write(shell.project, {"train.sh": "#!/bin/sh\nsleep 0.5\nfalse\n"})
    assert "failed" in shell.ok("run --snapshots always --job-id again", 1)
    write(shell.project, {"train.sh": TRAIN + "sleep 0.5\n"})
    assert "snapshot: again-finish-2" in shell.ok("resume again --snapshots always")
    names = [one["name"] for one in json.loads(shell.ok("snapshot list --json"))["snapshots"]]
    assert names == ["again-start", "again-finish", "again-start-2", "again-finish-2"]
    assert "train.sh" in shell.ok("snapshot diff again-finish again-finish-2", 1)


@pytest.mark.battery
def test_states_between_the_marks(shell: Shell) -> None:
    write(shell.project, {"train.sh": TRAIN + "sleep 0.3\n"})
    shell.ok("run -q --job-id first")
    run = str(shell.project / ".dsec" / "runs" / "first")
    code = (
        "import sys; from dsec_cli.commands import marking; marking.EVERY_S = 0.4; "
        f"sys.exit(marking.main(['first', {run!r}]))"
    )
    environ = {**shell.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'runtime'}"}
    child = subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=shell.project,
        env=environ,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdin is not None
    assert child.stdout is not None
    told = {
        "folder": str(shell.project),
        "contract": "dsandbox.yaml",
        "argv": ["dsec", "run", "--token", "x9Kq7mW2vB4nZ8pL"],
    }
    child.stdin.write(json.dumps(told) + "\n")
    child.stdin.flush()
    lines = [child.stdout.readline().strip() for _ in range(3)]
    child.stdin.close()
    rest = child.stdout.read().split("\n")
    child.stdout.close()
    assert child.wait(30) == 0
    assert lines[0] == "taken: first-start"
    assert all(re.fullmatch(r"taken: first-\d+[ms](-\d)?", line) for line in lines[1:])
    assert len(set(lines)) == 3
    assert rest[-2] == "taken: first-finish"
    words = json.loads(shell.ok("snapshot inspect first-start --json"))["sections"]["command"]["data"]["argv"]
    assert words[-1].startswith("<redacted:")


@pytest.mark.battery
def test_a_start_frees_what_nothing_needs(shell: Shell) -> None:
    write(shell.project, {"train.sh": TRAIN + "sleep 0.5\n", "large.txt": os.urandom(100_000).hex()})
    shell.ok("snapshot create --name v1")
    (shell.project / "large.txt").unlink()
    from dsec.store import open_store

    with open_store(str(shell.project / ".dsec" / "store")) as store:
        store.delete_record("v1")
    shell.ok("run -q --job-id marked --snapshots always")
    packs = (shell.project / ".dsec" / "store" / "packs").glob("*.pack")
    assert sum(path.stat().st_size for path in packs) < 50_000
    assert "intact: 2 snapshots" in shell.ok("snapshot verify")
