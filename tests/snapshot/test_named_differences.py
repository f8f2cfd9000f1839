"""What differs is named: files of data, ends of lines, pointers of LFS, pipes; and whose record it is."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dsec.errors import StoredFormError
from dsec.store import Store, records
from dsec_cli.snapshot.diff import compare
from dsec_cli.snapshot.section import Wanted
from dsec_cli.snapshot.shelf import find

from .kit import git, repository, scene, take, write
from .shell import Shell


def pointer(digit: str, size: int) -> str:
    return f"version https://git-lfs.github.com/spec/v1\noid sha256:{digit * 64}\nsize {size}\n"


@pytest.mark.parametrize("how", ["hash", "content"])
def test_the_file_of_a_data_folder(how: str, tmp_path: Path, store: Store, state: Path) -> None:
    folder = repository(tmp_path / "p", {"train.py": "", ".gitignore": "data/\n"})
    write(folder, {"data/a/x": "1", "data/y": "2", "data/gone": "3"})
    wanted = Wanted(data=(f"data:{how}",))
    one = take(scene(folder, store, state, wanted=wanted), "one")
    write(folder, {"data/a/x": "other", "data/new": "4"})
    (folder / "data/gone").unlink()
    two = take(scene(folder, store, state, wanted=wanted), "two")
    found = {(each.kind, each.subject) for each in compare(one, two) if each.section == "data"}
    assert found == {
        ("changed", "data"), ("changed", "data/a/x"), ("added", "data/new"), ("removed", "data/gone"),
    }  # fmt: skip
    assert not [each for each in compare(two, two) if each.section == "data"]


@pytest.mark.parametrize("how", ["hash", "content"])
def test_what_could_not_be_hashed_is_not_called_equal(
    how: str, tmp_path: Path, store: Store, state: Path
) -> None:
    """One pipe among the files, or a link that leads out, and nothing was known of the others."""
    folder = repository(tmp_path / "p", {"train.py": "", ".gitignore": "data/\n"})
    write(folder, {"data/a": "1"})
    os.mkfifo(folder / "data" / "pipe")
    wanted = Wanted(data=(f"data:{how}",))
    one = take(scene(folder, store, state, wanted=wanted), "one")
    write(folder, {"data/a": "2"})
    two = take(scene(folder, store, state, wanted=wanted), "two")
    found = {(each.kind, each.subject) for each in compare(one, two) if each.section == "data"}
    assert ("unknown", "data") in found
    assert (("changed", "data/a") in found) == (how == "content")
    assert "neither a file nor a folder" in two.side("data").reason


def test_a_link_that_became_a_file(tmp_path: Path, store: Store, state: Path) -> None:
    folder = repository(tmp_path / "p", {"a": "1"})
    (folder / "l").symlink_to("a")
    one = take(scene(folder, store, state), "one")
    (folder / "l").unlink()
    write(folder, {"l": "1\n"})
    (found,) = compare(one, take(scene(folder, store, state), "two"))
    assert (found.subject, found.before, found.after) == ("l", "a link to a", "2 bytes")


def test_many_files_are_counted(tmp_path: Path, store: Store, state: Path) -> None:
    folder = repository(tmp_path / "p", {"train.py": "", ".gitignore": "data/\n"})
    write(folder, {f"data/{number}": "1" for number in range(30)})
    one = take(scene(folder, store, state, wanted=Wanted(data=("data",))), "one")
    write(folder, {f"data/{number}": "2" for number in range(30)})
    two = take(scene(folder, store, state, wanted=Wanted(data=("data",))), "two")
    found = [each for each in compare(one, two) if each.section == "data"]
    assert len(found) == 22
    assert "and 10 more files" in {each.after for each in found}


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ("a\nb\n", "a\r\nb\r\n", ("lines end with LF", "lines end with CRLF")),
        ("a\r\nb\n", "a\nb\n", ("lines end with CRLF and LF", "lines end with LF")),
        ("a\nb\n", "a\nb", ("lines end with LF", "lines end with LF, the last one not ended")),
        (pointer("1", 5), "\0\1\2", ("a pointer of Git LFS to 5 bytes, sha256 111111111111", "3 bytes")),
        (
            "/annex/objects/SHA256E-s5--ab.bin\n",
            "\0\1\2",
            ("a pointer of git-annex to SHA256E-s5--ab.bin", "3 bytes"),
        ),
        ("\0\1", pointer("2", 7), ("2 bytes", "a pointer of Git LFS to 7 bytes, sha256 222222222222")),
    ],
)
def test_what_is_no_line(
    before: str, after: str, told: tuple[str, str], tmp_path: Path, store: Store, state: Path
) -> None:
    folder = repository(tmp_path / "p", {"a.txt": ""})
    views = []
    for name, text in (("one", before), ("two", after)):
        (folder / "a.txt").write_bytes(text.encode())
        views.append(take(scene(folder, store, state), name))
    (found,) = [each for each in compare(*views) if each.section == "code"]
    assert (found.before, found.after) == told


def test_pipes_and_sockets_are_named(tmp_path: Path, store: Store, state: Path) -> None:
    folder = repository(tmp_path / "p", {"a.py": "", "d/b.py": ""})
    os.mkfifo(folder / "pipe")
    os.mkfifo(folder / "d/pipe")
    view = take(scene(folder, store, state), "one")
    left = {one["path"]: one["why"] for one in view.side("code").data["left_out"]}
    assert left == dict.fromkeys(("pipe", "d/pipe"), "it is no file, folder or link")


def test_records_that_were_exchanged_or_removed(tmp_path: Path, store: Store, state: Path) -> None:
    folder = repository(tmp_path / "p", {"a.py": "1"})
    for name in ("one", "two", "three"):
        write(folder, {"a.py": name})
        take(scene(folder, store, state), name)
    where = state / "store" / "records"
    one, two = (where / "one").read_bytes(), (where / "two").read_bytes()
    assert store.verify().damage == ()
    (where / "one").write_bytes(two)
    (where / "two").write_bytes(one)
    assert [each.file for each in store.verify().damage] == ["records/one", "records/two"]
    with pytest.raises(StoredFormError, match="its record is that of two"):
        find(store, "one")
    (where / "one").write_bytes(one)
    (where / "two").unlink()
    found = store.verify()
    assert [(each.file, each.records) for each in found.damage] == [("records/two", ("two",))]
    assert found.records == 2
    store.delete_record("three")
    store.delete_record("one")
    assert [each.file for each in store.verify().damage] == ["records/two"]


def test_a_torn_ledger_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    (tmp_path / "records").mkdir()
    (tmp_path / "records.written").write_bytes(
        b"+ a " + b"1" * 64 + b"\n+ b 12\nx\n\xff\xff\n- a -\n+ c " + b"2" * 64
    )
    assert records.expected(str(tmp_path / "records")) == {"c": "2" * 64}


def test_from_a_folder_within_all_of_the_repository_is_taken(shell: Shell, tmp_path: Path) -> None:
    folder = repository(tmp_path / "other", {"top.py": "", "sub/deep/x.py": ""})
    shell.project = folder / "sub" / "deep"
    assert "2 files" in shell.ok("snapshot create --include-code")
    assert (folder / ".dsec").is_dir()
    assert git(folder, "status", "--short") == ""
