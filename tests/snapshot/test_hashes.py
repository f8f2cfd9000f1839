"""Hashes of data are remembered by how files look; what may have changed is read again."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from dsec.contenthash import content_hash
from dsec_cli.snapshot.hashes import Hashes

from .kit import write


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Bytes of each read of a file, from now on."""
    sizes: list[int] = []
    real = os.read

    def spied(fd: int, count: int) -> bytes:
        data = real(fd, count)
        sizes.append(len(data))
        return data

    monkeypatch.setattr(os, "read", spied)
    return sizes


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A folder of two files that were written an hour ago, as far as their own times say."""
    write(tmp_path / "data", {"a.bin": "one", "sub/b.bin": "two"})
    return tmp_path / "data"


def later(monkeypatch: pytest.MonkeyPatch, seconds: int) -> None:
    now = (Path("/proc/self").stat().st_mtime_ns) + seconds * 10**9
    monkeypatch.setattr("dsec_cli.snapshot.hashes.time.time_ns", lambda: now)


def asked(memory: Path, data: Path) -> str:
    hashes = Hashes(str(memory))
    found = hashes.of(str(data))
    hashes.keep()
    return found


def test_an_unchanged_file_is_not_read_again(
    tmp_path: Path, data: Path, reads: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    later(monkeypatch, 3600)
    memory = tmp_path / "cache" / "hashes.json"
    first = asked(memory, data)
    reads.clear()
    assert asked(memory, data) == first
    assert sum(reads) == 0
    write(data, {"a.bin": "ONE"})
    assert asked(memory, data) == content_hash(str(data), "blake3") != first


def test_a_fresh_file_is_not_remembered(tmp_path: Path, data: Path) -> None:
    memory = tmp_path / "cache" / "hashes.json"
    first = asked(memory, data)
    assert not memory.exists()
    before = (data / "a.bin").stat()
    (data / "a.bin").write_text("ONE")
    os.utime(data / "a.bin", ns=(before.st_atime_ns, before.st_mtime_ns))
    assert asked(memory, data) != first


@pytest.mark.parametrize(
    "torn", ["", "[]", "{}", '{"format":"dsec.hashes/1","files":{"x":1}}', '{"for', None]
)
def test_a_memory_that_is_torn_is_none(
    torn: str | None, tmp_path: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    later(monkeypatch, 3600)
    memory = tmp_path / "hashes.json"
    first = asked(memory, data)
    if torn is None:  # what was written by hand for these very files, and is no digest
        files = dict.fromkeys(json.loads(memory.read_text())["files"], "00")
        torn = json.dumps({"format": "dsec.hashes/1", "files": files})
    memory.write_text(torn)
    assert asked(memory, data) == first
