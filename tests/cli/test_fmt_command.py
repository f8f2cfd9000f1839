"""`dsec fmt` as a user and as CI meet it."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import ROOT, Ran

Ds = Callable[..., Ran]
UNTIDY = b"# mine\r\nsteps: [ {id: a,run: 'echo hi'} ]  \r\n\r\n\r\n\r\nnvlink_mode:   p2p"
TIDY = b'# mine\r\nsteps: [{id: a, run: "echo hi"}]\r\n\r\nnvlink_mode: p2p\r\n'


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "ds_config.yaml"
    path.write_bytes(UNTIDY)
    path.chmod(0o640)
    return path


def test_files_are_formatted_in_place(ds: Ds, file: Path) -> None:
    ran = ds("dsec", "fmt")
    assert (ran.returncode, ran.stderr) == (0, b"")
    assert ran.stdout == b"ds_config.yaml formatted\n1 file formatted\n"
    assert file.read_bytes() == TIDY
    assert file.stat().st_mode & 0o777 == 0o640
    before = file.stat()
    ran = ds("dsec", "fmt", "ds_config.yaml")
    assert (ran.returncode, ran.stdout) == (0, b"1 file is in its usual form\n")
    assert file.stat().st_ino == before.st_ino, "what is in its form already is not written again"


@pytest.mark.battery
def test_check_and_diff_write_nothing(ds: Ds, file: Path, tmp_path: Path) -> None:
    for option in ("--check", "--diff"):
        assert ds("dsec", "fmt", option).returncode == 1
        assert file.read_bytes() == UNTIDY
    assert ds("dsec", "fmt", "--check").stdout == b"ds_config.yaml would change\n1 file would change\n"
    assert ds("dsec", "fmt", "--check", "-q").stdout == b""
    diff = ds("dsec", "fmt", "--diff").stdout
    if shutil.which("patch"):
        subprocess.run(["patch", "--binary", "-s"], input=diff, cwd=tmp_path, check=True)
        assert file.read_bytes() == TIDY
        assert ds("dsec", "fmt", "--check").returncode == 0
        assert ds("dsec", "fmt", "--diff").stdout == b""


def test_standard_input_goes_to_standard_output(ds: Ds) -> None:
    ran = ds("dsec", "fmt", "-", stdin=UNTIDY)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, TIDY, b"")
    ran = ds("dsec", "fmt", "-", "--check", stdin=UNTIDY)
    assert (ran.returncode, ran.stdout) == (1, b"<stdin> would change\n")
    assert b"--- a.yaml\n" in ds("dsec", "fmt", "-", "--diff", "--stdin-name", "a.yaml", stdin=UNTIDY).stdout


def test_what_cannot_be_read_or_written_is_one_line_and_the_others_are_done(
    ds: Ds, file: Path, tmp_path: Path
) -> None:
    (tmp_path / "broken.yaml").write_bytes(b"a: [1\n")
    (tmp_path / "fixed.yaml").write_bytes(UNTIDY)
    (tmp_path / "fixed.yaml").chmod(0o444)
    ran = ds("dsec", "fmt", "broken.yaml", "fixed.yaml", "gone.yaml", "ds_config.yaml")
    assert ran.returncode == 3
    lines = ran.stderr.decode().splitlines()
    assert [line.split()[2] for line in lines] == ["broken.yaml", "fixed.yaml", "gone.yaml"]
    assert "cannot be read as a whole" in lines[0]
    assert "dsec lint broken.yaml" in lines[0]
    assert "read-only" in lines[1]
    assert file.read_bytes() == TIDY
    assert (tmp_path / "broken.yaml").read_bytes() == b"a: [1\n"
    assert (tmp_path / "fixed.yaml").read_bytes() == UNTIDY


def test_a_folder_without_contracts(ds: Ds) -> None:
    ran = ds("dsec", "fmt")
    assert ran.returncode == 3
    assert ran.stdout == b""
    assert ran.stderr.count(b"\n") == 1


@pytest.mark.battery
def test_what_init_writes_is_in_its_usual_form_and_lints_clean(ds: Ds) -> None:
    assert ds("dsec", "init").returncode == 0
    assert ds("dsec", "fmt", "--check").returncode == 0
    ran = ds("dsec", "lint", "--fail-on", "info")
    assert ran.returncode == 0, ran.stdout.decode()


@pytest.mark.battery
def test_our_own_contracts_are_in_their_usual_form(ds: Ds) -> None:
    for path in sorted((ROOT / "examples").glob("**/*.yaml")):
        ran = ds("dsec", "fmt", "--diff", os.fspath(path))
        assert (ran.returncode, ran.stdout.decode()) == (0, ""), path


def test_the_hint_for_standard_input_can_be_typed(ds: Ds) -> None:
    ran = ds("dsec", "fmt", "-", stdin=b"a: [")
    assert (ran.returncode, ran.stdout) == (3, b"")
    assert b"dsec lint -)" in ran.stderr


def test_the_command_that_is_proposed_can_be_pasted(ds: Callable[..., Ran], tmp_path: Path) -> None:
    (tmp_path / "b d.yaml").write_text("a: [\n")
    assert b"dsec lint 'b d.yaml')" in ds("dsec", "fmt", "b d.yaml").stderr
