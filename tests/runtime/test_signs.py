"""Heartbeats and metrics of processes and of calls; reading them back; stacks only from who is prepared."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsec import signs
from dsec.metricsfile import name, parse_told, read_told
from dsec.sdk import heartbeat, metric, metrics
from dsec.signs import STACKS_SIGNAL, place


@pytest.fixture
def told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "metrics" / "S1@0.1.jsonl"
    monkeypatch.setenv("DSEC_METRICS", str(path))
    monkeypatch.setattr(signs, "_OUT", signs._Out())
    return path


def test_metrics_are_lines_of_json_and_odd_numbers_are_kept(
    told: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOCAL_RANK", "3")
    assert metric(loss=0.5, step=7)
    assert metrics({"train/loss": math.nan, "up": math.inf, "down": -math.inf, "flag": True})
    lines = [json.loads(line) for line in told.read_text().splitlines()]
    assert [line["rank"] for line in lines] == [3, 3]
    assert lines[0]["metrics"] == {"loss": 0.5, "step": 7}
    assert lines[1]["metrics"] == {
        "train/loss": "NaN",
        "up": "Infinity",
        "down": "-Infinity",
        "flag": 1.0,
    }
    found, end = read_told(str(told))
    assert end == told.stat().st_size
    assert found[0].pid == os.getpid()
    assert math.isnan(found[1].metrics["train/loss"])
    assert found[1].metrics["down"] == -math.inf


def test_what_has_a_float_is_a_number_and_a_text_is_none(told: Path) -> None:
    class Scalar:
        def __float__(self) -> float:
            return 2.5

    assert metric(loss=Scalar())
    with pytest.raises(TypeError, match=r"metric loss is '0\.3'"):
        metric(loss="0.3")  # type: ignore[arg-type]
    assert [line.metrics for line in read_told(str(told))[0]] == [{"loss": 2.5}]


def test_heartbeats_are_thinned_out(told: Path) -> None:
    assert all(heartbeat() for _ in range(1000))
    assert 1 <= len(told.read_text().splitlines()) < 20


def test_outside_of_a_run_and_on_a_full_disk_nobody_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signs, "_OUT", signs._Out())
    monkeypatch.delenv("DSEC_METRICS", raising=False)
    assert not heartbeat()
    assert not metric(loss=1)
    monkeypatch.setenv("DSEC_METRICS", "/dev/full")
    assert not metric(loss=1)


def test_a_worker_s_file_follows_its_attempt(told: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DSEC_METRICS", f"{told.parent}/")
    monkeypatch.setenv("DSEC_STEP", "S1")
    monkeypatch.setenv("DSEC_ATTEMPT", "1")
    for iteration in range(3):
        monkeypatch.setenv("DSEC_ITERATION", str(iteration))
        metric(at=iteration)
        assert place(os.environ).endswith(name("S1", iteration=iteration, attempt=1))
    assert [read_told(f"{told.parent}/S1@{at}.1.jsonl")[0][0].metrics for at in range(3)] == [
        {"at": 0},
        {"at": 1},
        {"at": 2},
    ]


def test_a_line_not_yet_whole_is_read_later(tmp_path: Path) -> None:
    path = tmp_path / "m"
    path.write_bytes(b'{"loss": 1}\nsome words\n[1]\n{"loss": "NaN", "note": "hot", "ok": true}\n{"lo')
    found, end = read_told(str(path))
    assert [list(line.metrics) for line in found] == [["loss"], ["loss"]]
    with path.open("ab") as file:
        file.write(b'ss": 2}\n')
    assert [line.metrics for line in read_told(str(path), end)[0]] == [{"loss": 2}]
    assert read_told(str(tmp_path / "none")) == ([], 0)
    assert parse_told(b'{"a":' * 100_000) is None


def test_whatever_lies_there_is_read_without_waiting(tmp_path: Path) -> None:
    path = tmp_path / "m"
    os.mkfifo(path)
    assert read_told(str(path)) == ([], 0)
    assert read_told(str(tmp_path)) == ([], 0)
    path.unlink()
    path.write_bytes(b'{"a": 1}\n{"b": 2}\n')
    end = read_told(str(path))[1]
    path.write_bytes(b'{"c": 3}\n')
    assert [line.metrics for line in read_told(str(path), end)[0]] == [{"c": 3}]
    long = b'{"a": ' + b"9" * 5000 + b"}\n"
    path.write_bytes(long + b'{"b": 1e999}\n' + b"\xff\n")
    assert [list(line.metrics) for line in read_told(str(path))[0]] == [["b"]]


@given(st.binary(max_size=400), st.integers(0, 500))
def test_any_bytes_are_read(data: bytes, offset: int) -> None:
    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        found, end = read_told(file.name, offset)
        assert 0 <= end <= max(offset, len(data))
        assert all(isinstance(line.metrics, dict) for line in found)


def test_a_prepared_process_shows_its_stacks_and_lives_on(tmp_path: Path) -> None:
    code = (
        "import sys, time\nfrom dsec.sdk import show_stacks\n"
        "def waits_here():\n    sys.stdin.read()\n"
        "assert show_stacks() and show_stacks()\nprint('ready', flush=True)\nwaits_here()\n"
    )
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"ready\n"
        fds = [f"/proc/{child.pid}/fd/{fd}" for fd in os.listdir(f"/proc/{child.pid}/fd")]
        (held,) = [fd for fd in fds if signs.STACKS_NAME in os.readlink(fd)]
        for _ in range(200):  # it may not have got there when it is first asked
            os.kill(child.pid, STACKS_SIGNAL)
            time.sleep(0.05)
            if b"waits_here" in (shown := Path(held).read_bytes()):
                break
            assert child.poll() is None, shown
        assert b"waits_here" in shown
        child.communicate(b"")
    assert child.returncode == 0


MODULE = """
from dsec.sdk import heartbeat, metric

def trains(ctx):
    heartbeat()
    metric(loss=1.0 / (1 + ctx.iteration))
"""


def test_steps_of_a_run_tell_as_processes_and_as_calls(job: Any, kit: SimpleNamespace) -> None:
    (job.folder / "mine.py").write_text(MODULE)
    code = "from dsec.sdk import metric; metric(reward=0.5)"
    job.run(
        kit.plan(
            kit.step("P", argv=(sys.executable, "-c", code)),
            kit.step("W", shell='echo "{\\"loss\\": 3}" >> "$DSEC_METRICS"'),
            kit.step("C", call="mine:trains"),
            count=2,
        )
    )
    for iteration in range(2):
        (by_process,) = read_told(str(job.run_dir / name("P", iteration=iteration, attempt=1)))[0]
        assert by_process.metrics == {"reward": 0.5}
        (by_shell,) = read_told(str(job.run_dir / name("W", iteration=iteration, attempt=1)))[0]
        assert by_shell.metrics == {"loss": 3}
        by_call = read_told(str(job.run_dir / name("C", iteration=iteration, attempt=1)))[0][-1]
        assert by_call.metrics == {"loss": 1.0 / (1 + iteration)}
