"""Whatever a command does, its end is a code and at most two lines."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from dsec.errors import DSecError, RunProblem
from dsec_cli import exit as codes
from dsec_cli import fast

ROOT = Path(__file__).resolve().parents[2]


def failing(error: BaseException) -> Callable[[], int]:
    def run() -> int:
        raise error

    return run


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (RunProblem("no run abc", hint="dsec status lists them"), 3),
        (DSecError("plain"), 3),
        (codes.UsageError("no setting x", hint="color"), 2),
        (KeyboardInterrupt(), 130),
        (codes.Terminated(), 143),
        (BrokenPipeError(), 141),
        (OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "/full/file"), 3),
        (MemoryError(), 3),
        (SystemExit(2), 2),
        (SystemExit(), 0),
        (SystemExit("words"), 70),
        (RecursionError(), 70),
        (AssertionError("cannot happen"), 70),
        (ZeroDivisionError(), 70),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else str(value),
)
def test_codes(
    error: BaseException,
    code: int,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(codes, "_drop_stdout", lambda: None)
    monkeypatch.setenv("DSEC_HOME", str(tmp_path / "state"))
    assert codes.guarded(failing(error)) == code
    said = capsys.readouterr()
    assert "Traceback" not in said.err
    assert len(said.err.splitlines()) <= 1
    assert said.out == ""


@pytest.mark.parametrize("code", [0, 1, 2, 3])
def test_a_command_decides(code: int) -> None:
    assert codes.guarded(lambda: code) == code


def test_an_error_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    codes.guarded(failing(DSecError("a\nb \x1b[31m", hint="c\nd")))
    assert capsys.readouterr().err == "dsec: error: a b \\x1b[31m (hint: c d)\n"


def test_a_crash_leaves_a_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DSEC_HOME", str(tmp_path / "state"))
    assert codes.guarded(failing(ValueError("inside"))) == 70
    (file,) = (tmp_path / "state").iterdir()
    text = file.read_text()
    assert "ValueError: inside" in text
    assert "Traceback" in text
    assert "ruamel.yaml" in text
    assert str(file) in capsys.readouterr().err


@pytest.mark.parametrize(("error", "code"), [(DSecError("a", hint="b"), 3), (ValueError("a"), 70)])
def test_an_error_is_said_in_english_where_the_translation_fails(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    error: Exception,
    code: int,
) -> None:
    monkeypatch.setenv("DSEC_HOME", str(tmp_path / "state"))

    def translate(_text: str) -> str:
        raise ImportError("no Chinese")

    assert codes.guarded(failing(error), translate) == code
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("dsec: error: ")
    assert "(hint: " in line


def test_a_crash_with_no_place_for_its_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("DSEC_HOME", str(tmp_path / "file" / "state"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "file" / "none"))
    assert codes.guarded(failing(ValueError())) == 70
    assert "could not be written" in capsys.readouterr().err


def python(program: str, **streams: object) -> subprocess.CompletedProcess[str]:
    source = f"import sys; sys.path[:0] = {[str(ROOT), str(ROOT / 'runtime')]!r}\n{program}"
    return subprocess.run(  # type: ignore[call-overload,no-any-return]
        [sys.executable, "-c", source], text=True, stderr=subprocess.PIPE, timeout=60, **streams
    )


PRINTS = """
from dsec_cli.exit import guarded
def run():
    for at in range(100000): sys.stdout.write(f"line {at}\\n")
    return 1
sys.exit(guarded(run))
"""


def test_a_reader_that_leaves_gets_no_trace() -> None:
    read, write = os.pipe()
    os.close(read)
    done = python(PRINTS, stdout=write)
    os.close(write)
    assert (done.returncode, done.stderr) == (141, "")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_disk_is_named() -> None:
    with open("/dev/full", "w") as full:
        done = python(PRINTS, stdout=full)
    assert done.returncode == 3
    assert done.stderr.startswith("dsec: error: ")
    assert "standard output" in done.stderr
    assert "No space left" in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("name", ["contract_lint", "dsec", "dag_analyze"])
def test_ctrl_c_while_a_program_starts_is_no_traceback(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    left: list[int] = []

    def leave(code: int) -> int:
        left.append(code)
        return code

    monkeypatch.setattr(fast, "leave", leave)
    monkeypatch.setattr(fast, "_entered", lambda *_, **__: failing(KeyboardInterrupt())())
    assert getattr(fast, name)() == codes.INTERRUPTED
    assert left == [codes.INTERRUPTED]
