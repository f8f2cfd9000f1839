"""Data and files of a run come back as they were: two names of one file, attributes of the user's own."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dsec.errors import DSecError
from dsec.store import Store
from dsec_cli.snapshot import inodes
from dsec_cli.snapshot.restoring import restore
from dsec_cli.snapshot.section import Wanted
from dsec_cli.snapshot.takingout import take_out

from .kit import repository, scene, take, write
from .shell import Shell

TOKEN = "ghp_aB1cD2eF3gH4iJ5kL6mN7oP8qR9sT0uV1wX2"


@pytest.fixture
def attributes(tmp_path: Path) -> None:
    try:
        os.setxattr(tmp_path, "user.test", b"1")
    except OSError:
        pytest.skip("this file system has no attributes of users")
    os.removexattr(tmp_path, "user.test")


def linked(folder: Path) -> Path:
    write(folder, {"data/a/one.bin": "x" * 5000, "data/b/lone.bin": "y"})
    for name in ("data/b/two.bin", "data/three.bin"):
        os.link(folder / "data/a/one.bin", folder / name)
    (folder / "data" / "a").chmod(0o555)
    return folder


def inode(path: Path) -> int:
    return path.stat().st_ino


def test_two_names_of_one_file(tmp_path: Path, store: Store, state: Path) -> None:
    folder = linked(repository(tmp_path / "p", {"train.py": ""}))
    view = take(scene(folder, store, state, wanted=Wanted(data=("data:content",))), "v1")
    assert view.side("data").status == "present"
    made = take_out(view, "data", str(tmp_path / "out"))
    out = tmp_path / "out" / "data"
    (folder / "data" / "a").chmod(0o755)
    assert (made.files, made.lost) == (4, ())
    assert inode(out / "a/one.bin") == inode(out / "b/two.bin") == inode(out / "three.bin")
    assert (out / "b/lone.bin").stat().st_nlink == 1
    assert (out / "a").stat().st_mode & 0o777 == 0o555
    assert (out / "b").stat().st_mtime_ns == (folder / "data/b").stat().st_mtime_ns
    (out / "a").chmod(0o755)
    take_out(view, "data", str(tmp_path / "part"), only="data/b")
    assert sorted(path.name for path in (tmp_path / "part/data/b").iterdir()) == ["lone.bin", "two.bin"]


def test_attributes(tmp_path: Path, store: Store, state: Path, attributes: None) -> None:
    folder = repository(tmp_path / "p", {"train.py": "", "data/a.bin": "x", "data/s/b": "", "one.bin": "z"})
    os.setxattr(folder / "data/s", "user.origin", b"made up")
    os.setxattr(folder / "data/a.bin", "user.hash", bytes(range(256)))
    os.setxattr(folder / "data/a.bin", "user.from", f"https://h/x?token={TOKEN}".encode())
    (folder / "data/a.bin").chmod(0o444)
    view = take(scene(folder, store, state, wanted=Wanted(data=("data:content", "one.bin:content"))), "v1")
    side = view.side("data")
    assert side.status == "partial"
    assert "attribute user.from, which holds a secret, not kept: a.bin" in side.reason
    assert TOKEN not in str(side.data)
    take_out(view, "data", str(tmp_path / "out"))
    out = tmp_path / "out"
    assert os.getxattr(out / "data/s", "user.origin") == b"made up"
    assert os.getxattr(out / "data/a.bin", "user.hash") == bytes(range(256))
    assert (out / "data/a.bin").stat().st_mode & 0o777 == 0o444
    assert os.listxattr(out / "data/a.bin") == ["user.hash"]
    assert (out / "one.bin").read_text() == "z"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may set such attributes")
def test_attributes_of_the_system_are_told(tmp_path: Path, store: Store, state: Path) -> None:
    folder = repository(tmp_path / "p", {"train.py": "", "data/a.bin": "x"})
    try:
        os.setxattr(folder / "data/a.bin", "trusted.thing", b"1")
    except OSError:
        pytest.skip("this file system has no such attributes")
    view = take(scene(folder, store, state, wanted=Wanted(data=("data:content",))), "v1")
    assert view.side("data").reason == "attribute trusted.thing not kept: a.bin"


def test_what_was_not_read_is_told(tmp_path: Path, store: Store, state: Path) -> None:
    folder = repository(tmp_path / "p", {"train.py": "", "data/a.bin": "x"})
    view = take(scene(folder, store, state, wanted=Wanted(data=("data:content",))), "v1")
    assert view.side("data").status == "present"
    os.mkfifo(folder / "data" / "pipe")
    view = take(scene(folder, store, state, wanted=Wanted(data=("data:content",))), "v2")
    assert "pipe" in view.side("data").reason


@pytest.mark.parametrize(
    "document",
    [
        {"links": [["a", "b"]]},  # of other content: they stay two
        {"links": [["../evil", "a"], ["a", "../../evil"], ["/etc/passwd", "b"], [], ["a"], ["d", "a"]]},
        {"attributes": {"../evil": {"user.x": "eA=="}, "a": {"security.capability": "eA==", "user.y": "!"}}},
    ],
)
def test_a_section_of_somebody_else(document: dict, tmp_path: Path, store: Store) -> None:
    write(tmp_path / "p", {"a": "1", "b": "2", "d/c": "3"})
    tree = store.put_folder(os.fsencode(tmp_path / "p")).id
    report = store.checkout(tree, os.fsencode(tmp_path / "out"), beside=inodes.beside(document))
    assert report.lost == ()
    assert [(tmp_path / "out" / name).read_text() for name in ("a", "b", "d/c")] == ["1", "2", "3"]
    assert all((tmp_path / "out" / name).stat().st_nlink == 1 for name in ("a", "b"))
    assert os.listxattr(tmp_path / "out" / "a") == []
    assert sorted(os.listdir(tmp_path)) == ["out", "p", "store"] or "state" in os.listdir(tmp_path)


def test_where_names_cannot_be_shared(tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "p", {"a": "1"})
    os.link(tmp_path / "p/a", tmp_path / "p/b")
    tree = store.put_folder(os.fsencode(tmp_path / "p")).id

    def refused(*_: object, **__: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr("dsec.store.checkout.os.link", refused)
    report = store.checkout(
        tree, os.fsencode(tmp_path / "out"), beside=inodes.beside({"links": [["a", "b"]]})
    )
    assert (tmp_path / "out" / "b").read_text() == "1"
    assert [path for path, _ in report.lost] == [b"b"]


def test_no_files_no_restore(tmp_path: Path, store: Store, state: Path) -> None:
    folder = repository(tmp_path / "p", {"train.py": "", "data": "x"})
    view = take(scene(folder, store, state, wanted=Wanted(data=("data",))), "v1")
    with pytest.raises(DSecError, match="no data to write: it took down hashes") as told:
        take_out(view, "data", str(tmp_path / "out"))
    assert "content" in told.value.hint
    with pytest.raises(DSecError, match="no state to write: not asked for"):
        take_out(view, "state", str(tmp_path / "out"))
    assert not (tmp_path / "out").exists()


def test_a_restore_that_fails_leaves_nothing(tmp_path: Path, store: Store, state: Path) -> None:
    folder = linked(repository(tmp_path / "p", {"train.py": ""}))
    view = take(scene(folder, store, state, wanted=Wanted(data=("data:content",))), "v1")
    with pytest.raises(DSecError, match="has nothing at 'data/none'"):
        take_out(view, "data", str(tmp_path / "out"), only="data/none")
    (tmp_path / "file").write_text("")
    with pytest.raises(DSecError, match="could not be written"):
        restore(
            view,
            str(tmp_path / "file" / "x"),
            live=str(folder),
            redactor=scene(folder, store, state).redactor,
        )
    (folder / "data" / "a").chmod(0o755)
    assert not [name for name in os.listdir(tmp_path) if name.startswith((".dsec", "out"))]


@pytest.mark.battery
def test_the_files_of_a_run_come_back(shell: Shell) -> None:
    shell.ok("run -q --job-id first")
    shell.ok("snapshot create --name v1 --full-state")
    work = shell.project / ".dsec" / "runs" / "first" / "work"
    before = (work / "policy").read_bytes()
    (work / "policy").write_bytes(b"lost")
    shell.ok("snapshot restore v1 policy --section state --to back")
    assert (shell.project / "back" / "policy").read_bytes() == before
    text = shell.ok("snapshot restore v1 nothing --section state --to none", 3)
    assert "has nothing at 'nothing'" in text
