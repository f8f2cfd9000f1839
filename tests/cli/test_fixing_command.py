"""`--fix`, `--diff` and `--unsafe-fixes` as a user and as CI meet them."""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dsec_cli import fast
from dsec_cli.diagnostics import Diagnostic
from dsec_cli.lint.linter import Linter
from dsec_cli.source.text import SourceText

from .conftest import Ran, command

Ds = Callable[..., Ran]
WRONG = (
    "\ufeff# mine: 我的\r\n"
    "steps:\r\n"
    "  - id: a  # the first\r\n"
    "    run: python a.py\r\n"
    "    timout: 60s\r\n"
    "  - {id: b, run: python b.py}\r\n"
).encode()
SAFE = WRONG.removeprefix("\ufeff".encode()).replace(b"timout", b"timeout")
UNSAFE = SAFE.replace(b"b.py}", b"b.py, timeout: 300s}")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "ds_config.yaml"
    path.write_bytes(WRONG)
    path.chmod(0o640)
    return path


def test_safe_fixes_are_written_and_the_rest_is_told(ds: Ds, file: Path) -> None:
    ran = ds("ds-contract-lint", "--fix", "-q")
    assert ran.returncode == 1
    assert file.read_bytes() == SAFE
    assert file.stat().st_mode & 0o777 == 0o640
    assert b"error[DS505] Step b has no timeout" in ran.stdout
    assert ran.stdout.count(b"\n") == 1
    assert ran.stderr == b""


def test_each_fix_is_told_on_standard_error(ds: Ds, file: Path) -> None:
    ran = ds("ds-contract-lint", "--fix", "--format", "json")
    assert [one["code"] for one in json.loads(ran.stdout)["diagnostics"]] == ["DS505"]
    assert ran.stderr.decode().splitlines() == [
        "ds_config.yaml:1:1: fixed[DS007] make the file tidy",
        "ds_config.yaml:5:5: fixed[DS101] write timeout",
    ]


def test_a_mended_file_is_linted_before_and_after_and_no_third_time(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Tens of thousands of findings take seconds each time."""
    asked: list[str] = []
    lint = Linter.all

    def counted(self: Linter, text: SourceText, *rest: Any) -> tuple[Diagnostic, ...]:
        asked.append(text.text)
        return lint(self, text, *rest)

    monkeypatch.setattr(Linter, "all", counted)
    monkeypatch.chdir(file.parent)
    assert fast.run("dsec", ["lint", file.name, "--fix", "-f", "concise"]) == 1
    assert ["timout" in one for one in asked] == [True, False]
    assert "DS" in capsys.readouterr().out


def test_unsafe_fixes_need_to_be_asked_for(ds: Ds, file: Path) -> None:
    ran = ds("ds-contract-lint", "--fix", "--unsafe-fixes")
    assert (ran.returncode, ran.stdout) == (0, b"1 file checked, nothing found\n")
    assert file.read_bytes() == UNSAFE
    before = file.stat()
    ran = ds("ds-contract-lint", "--fix", "--unsafe-fixes")
    assert (ran.returncode, ran.stderr) == (0, b"")
    assert file.stat().st_ino == before.st_ino, "what needs no fix is not written again"


def test_a_diff_writes_nothing_and_can_be_patched(ds: Ds, file: Path, tmp_path: Path) -> None:
    ran = ds("ds-contract-lint", "--diff", "--unsafe-fixes")
    assert (ran.returncode, ran.stderr) == (1, b"")
    assert file.read_bytes() == WRONG
    assert ran.stdout.startswith(b"--- ds_config.yaml\n+++ ds_config.yaml\n")
    if shutil.which("patch"):
        subprocess.run(["patch", "--binary", "-s"], input=ran.stdout, cwd=tmp_path, check=True)
        assert file.read_bytes() == UNSAFE
    file.write_bytes(UNSAFE)
    ran = ds("ds-contract-lint", "--diff", "--unsafe-fixes")
    assert (ran.returncode, ran.stdout) == (0, b"")


def test_a_diff_is_zero_where_nothing_can_be_mended(ds: Ds, file: Path) -> None:
    file.write_bytes(SAFE)
    assert ds("ds-contract-lint").returncode == 1
    assert ds("ds-contract-lint", "--diff").returncode == 0


@pytest.mark.parametrize(
    "words", [("--output", "sarif:a.sarif"), ("-f", "json"), ("--write-baseline", "b.json")]
)
def test_a_diff_goes_with_nothing_that_it_would_leave_out(
    ds: Ds, tmp_path: Path, words: tuple[str, str]
) -> None:
    before = sorted(os.listdir(tmp_path))
    ran = ds("ds-contract-lint", "--diff", *words)
    assert (ran.returncode, ran.stdout) == (2, b"")
    assert words[0].encode() in ran.stderr or b"--output" in ran.stderr
    assert sorted(os.listdir(tmp_path)) == before


def test_a_diff_goes_to_a_file(ds: Ds, file: Path, tmp_path: Path) -> None:
    shown = ds("ds-contract-lint", "--diff").stdout
    ran = ds("ds-contract-lint", "--diff", "-o", "a.diff")
    assert (ran.returncode, ran.stdout, (tmp_path / "a.diff").read_bytes()) == (1, b"", shown)


def test_standard_input_comes_out_mended(ds: Ds) -> None:
    ran = ds("ds-contract-lint", "-", "--fix", "--stdin-name", "ds_config.yaml", stdin=WRONG)
    assert ran.returncode == 1
    assert ran.stdout == SAFE
    assert b"ds_config.yaml:6:10: error[DS505]" in ran.stderr
    clean = ds("ds-contract-lint", "-", "--fix", "--stdin-name", "ds_config.yaml", stdin=UNSAFE)
    assert (clean.returncode, clean.stdout) == (0, UNSAFE)
    ran = ds("ds-contract-lint", "-", "--diff", "--stdin-name", "ds_config.yaml", stdin=WRONG)
    assert ran.returncode == 1
    assert ran.stdout.startswith(b"--- ds_config.yaml\n")


def test_what_is_excused_is_not_mended(ds: Ds, file: Path, tmp_path: Path) -> None:
    text = b"steps:\n  - {id: b, run: python b.py}  # dsec: ignore[DS505] never hangs\n"
    file.write_bytes(text)
    assert ds("ds-contract-lint", "--fix", "--unsafe-fixes").returncode == 0
    assert file.read_bytes() == text
    file.write_bytes(WRONG)
    assert ds("ds-contract-lint", "--write-baseline", "known.json").returncode == 0
    assert ds("ds-contract-lint", "--baseline", "known.json", "--fix", "--unsafe-fixes").returncode == 0
    assert file.read_bytes() == WRONG


def test_only_selected_rules_mend(ds: Ds, file: Path) -> None:
    ds("ds-contract-lint", "--fix", "--select", "DS101")
    assert file.read_bytes() == WRONG.replace(b"timout", b"timeout")


def test_a_fix_that_would_do_harm_is_told_and_not_made(ds: Ds, file: Path) -> None:
    text = (
        b"steps:\n  - {id: load, run: python a.py, timeout: 1m, needs: [trian]}\n"
        b"  - {id: train, run: python b.py, timeout: 1m, needs: [load]}\n"
    )
    file.write_bytes(text)
    ran = ds("ds-contract-lint", "--fix", "--unsafe-fixes", "--select", "DS501,DS503", "-q")
    assert ran.returncode == 1
    assert ran.stderr.decode().splitlines() == [
        "ds_config.yaml:2:55: not fixed[DS501] write train: "
        "it would bring DS503: cycle: load -> train -> load"
    ]
    assert file.read_bytes() == text


def test_unsafe_alone_is_asked_wrongly(ds: Ds, file: Path) -> None:
    ran = ds("ds-contract-lint", "--unsafe-fixes")
    assert ran.returncode == 2
    assert b"add --fix" in ran.stderr
    assert file.read_bytes() == WRONG


def test_a_link_stays_one_and_its_file_is_mended(ds: Ds, file: Path, tmp_path: Path) -> None:
    (tmp_path / "jobs").mkdir()
    link = tmp_path / "jobs" / "ds_config.yaml"
    link.symlink_to(file)
    ds("ds-contract-lint", "jobs", "--fix")
    assert link.is_symlink()
    assert file.read_bytes() == SAFE


def test_a_file_that_cannot_be_written_is_one_line_and_the_others_are_mended(
    ds: Ds, file: Path, tmp_path: Path
) -> None:
    (tmp_path / "job").mkdir()
    other = tmp_path / "job" / "ds_config.yaml"
    other.write_bytes(WRONG)
    file.chmod(0o444)
    ran = ds("ds-contract-lint", "--fix", "-q", "ds_config.yaml", "job")
    assert ran.returncode == 3
    assert ran.stderr.decode().splitlines() == [
        "dsec: error: ds_config.yaml is read-only (hint: it is as it was; make it writable with: chmod u+w)"
    ]
    assert file.read_bytes() == WRONG
    assert other.read_bytes() == SAFE


def test_a_full_disk_leaves_the_file_as_it_was(file: Path, tmp_path: Path) -> None:
    def small() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64))

    done = subprocess.run(
        command("ds-contract-lint", "--fix", "-q"),
        cwd=tmp_path,
        capture_output=True,
        preexec_fn=small,
        timeout=60,
    )
    assert done.returncode == 3
    assert b"ds_config.yaml could not be written: File too large" in done.stderr
    assert done.stderr.count(b"\n") == 1
    assert file.read_bytes() == WRONG
    assert [path.name for path in tmp_path.iterdir() if path.suffix == ".part"] == []


def test_the_cache_never_answers_in_place_of_a_fix(ds: Ds, file: Path) -> None:
    for _ in range(2):
        file.write_bytes(WRONG)
        ds("ds-contract-lint", "--fix")
        assert file.read_bytes() == SAFE
        file.write_bytes(WRONG)
        assert ds("ds-contract-lint", "--diff").stdout != b""


@pytest.mark.parametrize(
    "data", [b"", b"\n", b"\xff\xfe\x00", b"\x00" * 9, b"a: [1\n", b"- " * 300, b"a: \xff\n"]
)
def test_any_bytes_are_left_whole(ds: Ds, tmp_path: Path, data: bytes) -> None:
    (tmp_path / "x.yaml").write_bytes(data)
    ran = ds("ds-contract-lint", "x.yaml", "--fix", "--unsafe-fixes")
    assert ran.returncode in (0, 1), ran.stderr
    assert b"Traceback" not in ran.stderr
    again = (tmp_path / "x.yaml").read_bytes()
    ds("ds-contract-lint", "x.yaml", "--fix", "--unsafe-fixes")
    assert (tmp_path / "x.yaml").read_bytes() == again
