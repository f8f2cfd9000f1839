"""What was remembered of files and their secrets, where somebody else prepared it: it is as good as none."""

from __future__ import annotations

import json
import os
import re
import time
from typing import TYPE_CHECKING

import pytest

from dsec_cli.snapshot.hashes import Hashes
from dsec_cli.snapshot.redaction import Redactor
from dsec_cli.snapshot.scanned import Scanned

if TYPE_CHECKING:
    from pathlib import Path

    from .conftest import Commands

NOBODY = 65534
TOKEN = "gh" + "p_aB3dE5fGh7Jk9Lm1Np3Qr5St7Uv9Wx1Yz3Ac"


def kept(tmp_path: Path) -> Path:
    """A file that holds a token, and a memory that says it holds none."""
    (tmp_path / "a.py").write_text("")
    seen = (tmp_path / "a.py").stat()
    memory = tmp_path / "scanned.json"
    scanned = looking(tmp_path)
    scanned._latest_ns = time.time_ns() + 10**12
    assert scanned.secrets(b"a.py") is None
    scanned.keep(1)
    head, _, rest = memory.read_text().partition("\n")
    (tmp_path / "a.py").write_text(f'T = "{TOKEN}"\n')
    now = (tmp_path / "a.py").stat()
    stamp = f"{now.st_size}:{now.st_mtime_ns}:{now.st_ctime_ns}:{now.st_ino}"
    assert str(seen.st_ino) in rest
    memory.write_text(f"{head}\n{json.dumps({'a.py': stamp})}")
    return memory


def looking(root: Path) -> Scanned:
    return Scanned(str(root / "scanned.json"), os.fsencode(root), Redactor(b"k" * 32))


def finds(root: Path) -> bool:
    scanned = looking(root)
    scanned._latest_ns = time.time_ns() + 10**12
    return scanned.secrets(b"a.py") is not None


def test_a_memory_that_everybody_can_write_is_not_believed(tmp_path: Path) -> None:
    memory = kept(tmp_path)
    assert not finds(tmp_path)  # our own would be
    memory.chmod(0o666)
    assert finds(tmp_path)


@pytest.mark.parametrize("mode", [0o777, 0o757])
def test_nor_one_in_a_folder_that_everybody_can_write(tmp_path: Path, mode: int) -> None:
    kept(tmp_path)
    tmp_path.chmod(mode)
    assert finds(tmp_path)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
@pytest.mark.parametrize("what", ["folder", "file"])
def test_nor_what_a_group_can_write(tmp_path: Path, what: str) -> None:
    memory = kept(tmp_path)
    path = tmp_path if what == "folder" else memory
    os.chown(path, -1, NOBODY)
    path.chmod(0o775 if what == "folder" else 0o664)
    assert finds(tmp_path)


def test_nor_one_behind_a_link(tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    kept(tmp_path / "own")
    (tmp_path / "cache").symlink_to("own")
    scanned = Scanned(
        str(tmp_path / "cache" / "scanned.json"), os.fsencode(tmp_path / "own"), Redactor(b"k" * 32)
    )
    scanned._latest_ns = time.time_ns() + 10**12
    assert scanned.secrets(b"a.py") is not None


@pytest.mark.parametrize("name", ["store", "cache", "cache/kernels", "accepted.json", "restored"])
@pytest.mark.parametrize("how", ["link", "open"])
def test_a_part_of_the_state_that_is_not_ours_alone_is_refused(
    dsec: Commands, clone: Path, tmp_path: Path, name: str, how: str
) -> None:
    """Nothing is written where a link of a clone leads."""
    path = clone / ".dsec" / name
    path.parent.mkdir(parents=True)
    own = tmp_path / "own"
    own.mkdir()
    (own / "scanned.json").write_text("mine")
    path.symlink_to(own) if how == "link" else path.mkdir()
    if how == "open":
        path.chmod(0o777)
    ran = dsec("snapshot", "create")
    said = "it is a symbolic link" if how == "link" else f"everybody can write to {path}"
    assert (ran.code, f"{path} is not taken: {said}" in ran.err) == (3, True), ran
    assert f"dsctl config set safe-directory {clone}" in ran.err
    assert [one.name for one in own.iterdir()] == ["scanned.json"]
    assert (own / "scanned.json").read_text() == "mine"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_nor_is_one_of_another_user(dsec: Commands, clone: Path) -> None:
    (clone / ".dsec" / "cache").mkdir(parents=True)
    os.chown(clone / ".dsec" / "cache", NOBODY, NOBODY)
    ran = dsec("snapshot", "create")
    assert (ran.code, "belongs to nobody" in ran.err) == (3, True), ran


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_nor_one_of_another_user(tmp_path: Path) -> None:
    os.chown(kept(tmp_path), NOBODY, NOBODY)
    assert finds(tmp_path)


@pytest.mark.parametrize("head", ["[" * 200_000, "endless", "[1]", '"a"', "\xff"])
def test_a_document_that_is_not_ours_is_as_good_as_none(tmp_path: Path, head: str) -> None:
    memory = kept(tmp_path)
    text = memory.read_text()
    wrong = re.sub(r'"redacted":\[[^]]*\]', '"redacted":["","",1e999]', text) if head == "endless" else head
    assert wrong != text
    memory.write_text(wrong, "latin-1")
    looking(tmp_path)
    assert Hashes(str(memory)).known(os.stat(tmp_path)) is None


def test_nor_are_files_without_secrets_told_by_such_a_one(tmp_path: Path) -> None:
    memory = kept(tmp_path)
    memory.write_text(memory.read_text().partition("\n")[0] + "\n" + "[" * 200_000)
    assert finds(tmp_path)


@pytest.mark.parametrize("kind", ["pipe", "link", "folder", "large"])
def test_what_is_no_file_or_too_large_is_not_read(tmp_path: Path, kind: str) -> None:
    memory = tmp_path / "scanned.json"
    if kind == "pipe":
        os.mkfifo(memory)
    elif kind == "link":
        memory.symlink_to("/dev/zero")
    elif kind == "folder":
        memory.mkdir()
    else:
        memory.touch()
        os.truncate(memory, 1 << 40)
    looking(tmp_path)
    assert Hashes(str(memory)).known(os.stat(tmp_path)) is None
