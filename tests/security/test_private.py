"""What others on the machine may read, and what a page in a browser may ask for."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from dsec.exporter import is_meant
from dsec.wholefile import create, write_whole
from dsec_cli.report.crash import write_crash

from .conftest import Commands


@pytest.mark.parametrize("mask", [0o000, 0o002, 0o022, 0o077])
def test_nobody_else_reads_a_run(dsec: Commands, clone: Path, mask: int) -> None:
    (clone / "dsandbox.yaml").write_text(
        "version: '1.0.0'\nname: x\nbaseline: {cpu: 1, memory: 256MiB}\n"
        "elasticity: {gpu: {min_count: 0, max_count: 0}}\ndependencies: []\n"
        "fault_tolerance: {level: pauseable, checkpoint_grace_period: 1s}\n"
        "steps:\n  - {id: a, run: [echo, secret-word], timeout: 5s}\n"
    )
    before = os.umask(mask)
    try:
        assert dsec("run", "--job-id", "j").code == 0
        assert dsec("status", "j").code == 0
    finally:
        os.umask(before)
    for folder in (".dsec", ".dsec/runs", ".dsec/runs/j"):
        assert stat.S_IMODE((clone / folder).stat().st_mode) == 0o700, folder


def test_a_crash_file_is_private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DSEC_HOME", str(tmp_path / "state"))
    try:
        raise RuntimeError
    except RuntimeError:
        path = write_crash(["dsec", "--token", "x"])
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600


def test_a_new_file_goes_through_no_link(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine")
    (tmp_path / "new").symlink_to("mine")
    os.close(create(str(tmp_path / "new")))
    assert not (tmp_path / "new").is_symlink()
    (tmp_path / f"x.{os.getpid()}.tmp").symlink_to("mine")
    write_whole(str(tmp_path / "x"), [b"x"])
    assert (tmp_path / "mine").read_text() == "mine"


@pytest.mark.parametrize(
    ("host", "bound", "meant"),
    [
        ("localhost:9464", "127.0.0.1", True),
        ("LOCALHOST.", "127.0.0.1", True), ("127.0.0.1:9464", "127.0.0.1", True),
        ("[::1]:9464", "::1", True), ("127.1.2.3", "127.0.0.1", True), (None, "127.0.0.1", True),
        ("evil.example", "127.0.0.1", False), ("evil.example:9464", "127.0.0.1", False),
        ("", "127.0.0.1", False),
        ("127.0.0.1.evil.example", "127.0.0.1", False), ("localhost.evil.example", "::1", False),
        ("10.0.0.7:9464", "127.0.0.1", False), ("[::ffff:10.0.0.7]", "127.0.0.1", False),
        ("node-1:9464", "0.0.0.0", True), ("node-1.cluster.local", "10.0.0.7", True),
    ],
)  # fmt: skip
def test_which_hosts_are_answered(host: str | None, bound: str, meant: bool) -> None:
    assert is_meant(host, bound) is meant
