"""A user's file gets new content as a whole or stays as it was, whatever happens meanwhile."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dsec.errors import FileProblem
from dsec_cli.commands.rewriting import difference, rewrite
from dsec_cli.source.text import SourceText

from .conftest import ROOT

OLD, NEW = b"a: 1\n", b"a: 2\nb: " + b"x" * 4000 + b"\n"
NOBODY = 65534


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "job.yaml"
    path.write_bytes(OLD)
    return path


def alone(file: Path) -> bool:
    """Whether nothing lies beside the file."""
    return [path.name for path in file.parent.iterdir()] == [file.name]


def test_the_content_is_replaced(file: Path) -> None:
    rewrite(str(file), old=OLD, new=NEW)
    assert file.read_bytes() == NEW
    assert alone(file)


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o640, 0o755, 0o666])
def test_the_mode_is_kept(file: Path, mode: int) -> None:
    file.chmod(mode)
    mask = os.umask(0o077)
    try:
        rewrite(str(file), old=OLD, new=NEW)
    finally:
        os.umask(mask)
    assert stat.S_IMODE(file.stat().st_mode) == mode


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_the_owner_is_kept(file: Path) -> None:
    os.chown(file, NOBODY, NOBODY)
    file.chmod(0o640)
    rewrite(str(file), old=OLD, new=NEW)
    state = file.stat()
    assert (state.st_uid, state.st_gid, stat.S_IMODE(state.st_mode)) == (NOBODY, NOBODY, 0o640)


def test_a_link_stays_one(file: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    link = tmp_path / "other" / "link.yaml"
    link.symlink_to("../job.yaml")
    rewrite(str(link), old=OLD, new=NEW)
    assert link.is_symlink()
    assert file.read_bytes() == NEW
    assert [path.name for path in link.parent.iterdir()] == ["link.yaml"]


def refused(file: Path, said: str) -> None:
    before = file.read_bytes()
    with pytest.raises(FileProblem) as problem:
        rewrite(str(file), old=OLD, new=NEW)
    assert said in problem.value.what
    assert problem.value.hint
    assert file.read_bytes() == before
    assert alone(file)


def test_a_file_that_somebody_changed_is_left_alone(file: Path) -> None:
    file.write_bytes(b"a: 3\n")
    refused(file, "has changed since it was read")
    file.write_bytes(OLD + b"more: 1\n")
    refused(file, "has changed since it was read")


def test_a_file_that_changes_during_the_write_is_left_alone(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sync = os.fsync

    def somebody_saves(descriptor: int) -> None:
        file.write_bytes(b"a: theirs\n")
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", somebody_saves)
    with pytest.raises(FileProblem, match="has changed"):
        rewrite(str(file), old=OLD, new=NEW)
    assert file.read_bytes() == b"a: theirs\n"
    assert alone(file)


def test_a_read_only_file_is_left_alone(file: Path) -> None:
    file.chmod(0o444)
    refused(file, "is read-only")


def test_a_file_that_is_gone(tmp_path: Path) -> None:
    with pytest.raises(FileProblem, match="could not be written: No such file"):
        rewrite(str(tmp_path / "gone.yaml"), old=OLD, new=NEW)


def test_what_is_no_file_is_left_alone() -> None:
    with pytest.raises(FileProblem, match="no ordinary file"):
        rewrite("/dev/null", old=b"", new=NEW)


PROGRAM = """
import sys
sys.path[:0] = {paths!r}
import os, signal
from dsec.errors import FileProblem
from dsec_cli.commands.rewriting import rewrite
{before}
try:
    rewrite({file!r}, old={old!r}, new={new!r})
except FileProblem as problem:
    print(problem.what)
    sys.exit(3)
"""


def run(
    file: Path, *, before: str = "", limit: Callable[[], None] | None = None
) -> subprocess.CompletedProcess[str]:
    paths = [str(ROOT), str(ROOT / "runtime")]
    program = PROGRAM.format(paths=paths, file=str(file), old=OLD, new=NEW, before=before)
    return subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        preexec_fn=limit,
        timeout=60,
    )


def _one_kilobyte() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024))


def test_a_full_disk_leaves_the_file_as_it_was(file: Path) -> None:
    done = run(file, limit=_one_kilobyte)
    assert (done.returncode, done.stderr) == (3, "")
    assert "could not be written: File too large" in done.stdout
    assert file.read_bytes() == OLD
    assert alone(file)


@pytest.fixture
def small_disk() -> Iterator[Path]:
    """A file system of 16 KiB; only root can make one."""
    if os.geteuid() != 0:
        pytest.skip("only root can mount a small disk")
    folder = Path(tempfile.mkdtemp())
    mount = ["mount", "-t", "tmpfs", "-o", "size=16k", "dsec-test", str(folder)]
    if subprocess.run(mount, capture_output=True).returncode:
        folder.rmdir()
        pytest.skip("mounting is not allowed here")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)
    folder.rmdir()


def test_a_small_disk_leaves_the_file_as_it_was(small_disk: Path) -> None:
    file = small_disk / "job.yaml"
    file.write_bytes(OLD)
    (small_disk / "filling").write_bytes(b"x" * 12288)
    done = run(file)
    assert (done.returncode, done.stderr) == (3, "")
    assert "could not be written: No space left on device" in done.stdout
    assert file.read_bytes() == OLD
    assert sorted(path.name for path in small_disk.iterdir()) == ["filling", "job.yaml"]


def test_a_killed_write_leaves_the_file_as_it_was(file: Path) -> None:
    killing = "os.replace = lambda *names: os.kill(os.getpid(), signal.SIGKILL)"
    assert run(file, before=killing).returncode == -signal.SIGKILL
    assert file.read_bytes() == OLD
    left = [path for path in file.parent.iterdir() if path != file]
    assert [path.read_bytes() for path in left] == [NEW]
    # What was left behind, of another process or of one with the same number, is in nobody's way.
    left[0].rename(left[0].with_name(f".dsec-{os.getpid()}.part"))
    rewrite(str(file), old=OLD, new=NEW)
    assert file.read_bytes() == NEW
    assert alone(file)


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that an ordinary user can reach."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    folder.chmod(0o755)
    shutil.rmtree(folder)


def test_a_read_only_folder_is_left_alone(open_folder: Path) -> None:
    file = open_folder / "job.yaml"
    file.write_bytes(OLD)
    file.chmod(0o666)
    open_folder.chmod(0o555)
    done = run(file, before=f"os.setuid({NOBODY})" if os.geteuid() == 0 else "")
    assert (done.returncode, done.stderr) == (3, "")
    assert "could not be written: Permission denied" in done.stdout
    assert file.read_bytes() == OLD


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"a: 1\nb: 2\n", b"a: 1\nb: 3\n"),
        (b"a: 1\r\nb: 2", b"a: 1\r\nb: 2\r\n"),
        ("\ufeffa: 1\n".encode(), b"a: 1\n"),
        ("a: 1 # \u2028\nb: é\x0c\n".encode(), "a: 1 # \nb: é\x0c\n".encode()),
        (b"a\rb\n", b"a\nb\n"),
    ],
)
def test_a_difference_can_be_patched(tmp_path: Path, old: bytes, new: bytes) -> None:
    texts = [SourceText("job.yaml", data) for data in (old, new)]
    diff = difference(*texts)
    assert diff.startswith("--- job.yaml\n+++ job.yaml\n@@ ")
    assert difference(texts[0], texts[0]) == ""
    if not shutil.which("patch"):
        pytest.skip("patch is not installed")
    (tmp_path / "job.yaml").write_bytes(old)
    done = subprocess.run(["patch", "--binary"], input=diff.encode(), cwd=tmp_path, capture_output=True)
    assert done.returncode == 0, done
    assert (tmp_path / "job.yaml").read_bytes() == new
