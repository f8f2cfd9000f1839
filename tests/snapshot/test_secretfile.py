"""Keys are made once, whole, and what a killed process left of one is no obstacle."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from dsec_cli.snapshot import secretfile
from dsec_cli.snapshot.package.keys import own_identity, signing_seed
from dsec_cli.snapshot.redactionkey import redaction_key
from dsec_cli.snapshot.secretfile import made_once


def test_only_the_first_counts(tmp_path: Path) -> None:
    path = tmp_path / "keys" / "signing"
    assert made_once(str(path), b"one")
    assert not made_once(str(path), b"two")
    assert path.read_bytes() == b"one"
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert [one.name for one in path.parent.iterdir()] == ["signing"]


def test_what_a_killed_process_left_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a container the next process may well have the same number."""
    keys = tmp_path / ".ds" / "keys"
    keys.mkdir(parents=True)
    for name in ("redaction", "signing", "identity"):
        (keys / f"{name}.{os.getpid()}.tmp").write_bytes(b"half")
        (keys / f"{name}.abc.tmp").write_bytes(b"half")
    environ = {"HOME": str(tmp_path)}
    redaction_key(environ)
    signing_seed(environ)
    pytest.importorskip("cryptography", reason="keys need cryptography")
    own_identity(environ)
    assert sorted(one.name for one in keys.iterdir()) == ["identity", "redaction", "signing"]


def test_many_at_once_have_one_key(tmp_path: Path) -> None:
    found: list[bytes] = []
    start = threading.Barrier(8)

    def make() -> None:
        start.wait()
        found.append(redaction_key({"HOME": str(tmp_path)}))

    threads = [threading.Thread(target=make) for _ in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert len(set(found)) == 1
    assert len(found) == 8


def test_one_whose_half_file_was_removed_by_the_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.fsync

    def other_first(fd: int) -> None:
        real(fd)
        monkeypatch.setattr(secretfile.os, "fsync", real)
        assert made_once(str(tmp_path / "key"), b"first")

    monkeypatch.setattr(secretfile.os, "fsync", other_first)
    assert not made_once(str(tmp_path / "key"), b"second")
    assert (tmp_path / "key").read_bytes() == b"first"
