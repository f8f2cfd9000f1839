"""Stacks of real processes: saved, and nobody harmed by it."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from dsec.stacks import Target, folder_of, save_stacks
from dsec.sweep import look

PREPARED = "from dsec.sdk import show_stacks; show_stacks()\n"
WAITS = "import sys\ndef waits_here():\n    print('ready', flush=True); sys.stdin.read()\nwaits_here()\n"


@contextmanager
def waiting(code: str) -> Iterator[subprocess.Popen[bytes]]:
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"ready\n"
        yield child
        child.communicate(b"")


def target(child: subprocess.Popen[bytes], rank: int | None = None) -> Target:
    found = look(child.pid)
    assert found is not None
    return Target(child.pid, found.ticks, rank)


@pytest.fixture
def no_py_spy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))


@pytest.mark.usefixtures("no_py_spy")
def test_a_prepared_process_tells_its_python_stack_again_and_again(tmp_path: Path) -> None:
    with waiting(PREPARED + WAITS) as child:
        for turn in range(2):
            assert save_stacks([target(child, 3)], str(tmp_path / str(turn))) == 1
            text = (tmp_path / str(turn) / f"3-{child.pid}.txt").read_text()
            assert text.startswith(f"process {child.pid}, rank 3: ")
            assert text.count("in waits_here") == 1
            assert "the kernel's account:" in text
            assert f"thread {child.pid}" in text
    assert child.returncode == 0


@pytest.mark.usefixtures("no_py_spy")
@pytest.mark.parametrize(
    "code",
    [
        WAITS,
        PREPARED + "import os, sys; os.execv(sys.executable, [sys.executable, '-c', " + repr(WAITS) + "])",
        "import os; os.memfd_create('dsec-stacks')\n" + WAITS,
    ],
    ids=["plain", "exec", "same file, no handler"],
)
def test_an_unprepared_process_is_sent_nothing(code: str, tmp_path: Path) -> None:
    with waiting(code) as child:
        assert save_stacks([target(child)], str(tmp_path / "s")) == 1
        text = (tmp_path / "s" / f"none-{child.pid}.txt").read_text()
        assert "no Python stacks" in text
        assert "State" not in text
        assert "waits in" in text
        assert child.poll() is None
    assert child.returncode == 0


@pytest.mark.usefixtures("no_py_spy")
def test_a_forked_child_of_a_prepared_process_tells_its_own(tmp_path: Path) -> None:
    code = (
        "import os, sys, time\n" + PREPARED + "def parent(pid):\n    os.waitpid(pid, 0)\n"
        "def child():\n    print('ready', flush=True); sys.stdin.read()\n"
        "pid = os.fork()\nparent(pid) if pid else child()\n"
    )
    with waiting(code) as child:
        pids = [
            int(name)
            for name in filter(str.isdigit, os.listdir("/proc"))
            if (found := look(int(name))) is not None and found.parent == child.pid
        ]
        (pid,) = pids
        found = look(pid)
        assert found is not None
        assert save_stacks([target(child), Target(pid, found.ticks, None)], str(tmp_path / "s")) == 2
        assert "in parent" in (tmp_path / "s" / f"none-{child.pid}.txt").read_text()
        assert "in child" in (tmp_path / "s" / f"none-{pid}.txt").read_text()
    assert child.returncode == 0


def test_who_is_gone_or_is_another_one_is_left_out(tmp_path: Path) -> None:
    with waiting(WAITS) as child:
        one = target(child)
        assert save_stacks([one._replace(ticks=one.ticks + 1)], str(tmp_path / "s")) == 0
    assert save_stacks([one], str(tmp_path / "s")) == 0
    assert os.listdir(tmp_path / "s") == []


@pytest.mark.parametrize(
    ("script", "used"),
    [
        ('echo "Thread 1 (idle) $*"', True),
        ("echo partly; exit 1", False),
        ("", False),
    ],
)
def test_py_spy_is_used_where_it_works(
    script: str, used: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = tmp_path / "py-spy"
    tool.write_text(f"#!/bin/sh\n{script}\n")
    tool.chmod(tool.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", str(tmp_path))
    with waiting(PREPARED + WAITS) as child:
        save_stacks([target(child, 0)], str(tmp_path / "s"))
        text = (tmp_path / "s" / f"0-{child.pid}.txt").read_text()
        assert (f"Thread 1 (idle) dump --pid {child.pid}" in text) == used
        assert ("in waits_here" in text) != used


def test_where_nothing_can_be_written_nothing_is(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with waiting(WAITS) as child:
        assert save_stacks([target(child)], str(tmp_path / "file" / "s")) == 0


def test_an_attempt_has_a_folder_of_its_own() -> None:
    assert folder_of("S5", iteration=3, attempt=2) == "stacks/S5@3.2"
