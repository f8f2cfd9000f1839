"""Folders in, folders out: names, modes, times, links, holes; and what could not be read is said."""

from __future__ import annotations

import os
import socket
import tempfile
from pathlib import Path

import pytest
from blake3 import blake3
from hypothesis import given
from hypothesis import strategies as st

from dsec.store import Entry, Missing, StoreProblem, open_store

from .conftest import OLD_NS, facts


def test_a_folder_comes_back_as_it_was(store, folder, tmp_path):
    taken = store.put_folder(os.fsencode(folder))
    assert (taken.files, taken.folders, taken.links, taken.unread) == (6, 4, 2, ())
    report = store.checkout(taken.id, os.fsencode(tmp_path / "out"))
    assert (report.files, report.folders, report.links) == (6, 4, 2)
    assert facts(tmp_path / "out") == facts(folder)


def test_the_entries_say_what_the_files_are(store, folder):
    found = {entry.path: entry for entry in store.tree(store.put_folder(os.fsencode(folder)).id)}
    whole = (folder / "weights.bin").read_bytes()
    weights = found[b"weights.bin"]
    assert weights.content == blake3(whole).hexdigest()
    assert weights.pieces
    assert weights.size == len(whole)
    assert b"".join(store.content(weights)) == whole
    assert found[b"train.py"].content == blake3((folder / "train.py").read_bytes()).hexdigest()
    assert found[b"run.sh"].mode == 0o750
    assert found[b"train.py"].mtime_ns == OLD_NS
    assert found[b"link"].target == b"src/model.py"
    assert list(found) == sorted(found, key=lambda path: path.split(b"/"))


def test_named_entries_and_nothing_else(store, folder, tmp_path):
    entries = [Entry(b"train.py"), Entry(b"src/deep/er/none"), Entry(b"empty", "dir"), Entry(b"link", "link")]
    taken = store.put_tree(os.fsencode(folder), entries)
    assert [one.path for one in store.tree(taken.id)] == [
        b"empty", b"link", b"src", b"src/deep", b"src/deep/er", b"src/deep/er/none", b"train.py",
    ]  # fmt: skip
    store.checkout(taken.id, os.fsencode(tmp_path / "out"))
    assert (tmp_path / "out" / "train.py").read_bytes() == (folder / "train.py").read_bytes()


def test_the_order_of_entries_does_not_matter(store, folder):
    entries = [
        Entry(b"train.py"),
        Entry(b"src/model.py"),
        Entry(b"src"),
        Entry(b"run.sh"),
        Entry(b"src/model.py"),
    ]
    ids = {store.put_tree(os.fsencode(folder), order).id for order in (entries, entries[::-1])}
    assert len(ids) == 1


@pytest.mark.parametrize("path", [b"", b"/etc/passwd", b"../x", b"a//b", b"./a", b"a/../b", b"a\0b", b"."])
def test_entries_that_lead_elsewhere(store, folder, path):
    with pytest.raises(StoreProblem, match="is no path below"):
        store.put_tree(os.fsencode(folder), [Entry(path)])


def test_a_root_that_is_no_folder(store, folder):
    with pytest.raises(StoreProblem, match="is not a folder"):
        store.put_folder(os.fsencode(folder / "train.py"))
    with pytest.raises(StoreProblem, match="No such file"):
        store.put_tree(os.fsencode(folder / "gone"), [])


def test_without_times_two_checkouts_have_one_id(store, folder, tmp_path):
    one = store.put_folder(os.fsencode(folder), times=False)
    store.checkout(one.id, os.fsencode(tmp_path / "out"))
    two = store.put_folder(os.fsencode(tmp_path / "out"), times=False)
    assert one.id == two.id
    assert one.id != store.put_folder(os.fsencode(folder)).id


def test_what_is_skipped_is_not_there(store, folder):
    taken = store.put_folder(os.fsencode(folder), skip=lambda path, is_dir: is_dir or path.endswith(b".bin"))
    assert taken.folders == 0
    assert {one.path for one in store.tree(taken.id)} >= {b"train.py", b"link"}
    assert b"weights.bin" not in {one.path for one in store.tree(taken.id)}


def test_a_store_within_the_folder_does_not_take_itself_in(folder):
    with open_store(str(folder / "src" / ".store")) as store:
        taken = store.put_folder(os.fsencode(folder))
        assert taken.id == store.put_folder(os.fsencode(folder)).id
        assert not [one for one in store.tree(taken.id) if b".store" in one.path]


def test_pipes_and_sockets_are_named_and_do_not_hold_us_up(store, folder):
    os.mkfifo(folder / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(folder / "socket"))
        for _ in range(2):  # the second time the folder looks as it did
            taken = store.put_folder(os.fsencode(folder))
            assert [(one.path, one.kept) for one in taken.unread] == [(b"pipe", False), (b"socket", False)]
            assert {one.reason for one in taken.unread} == {"not a file, folder or link"}


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_what_may_not_be_read_is_named_every_time(store, folder):
    (folder / "train.py").chmod(0)
    (folder / "src").chmod(0)
    try:
        for _ in range(2):
            unread = store.put_folder(os.fsencode(folder)).unread
            assert [(one.path, one.reason) for one in unread] == [
                (b"src", "Permission denied"), (b"train.py", "Permission denied"),
            ]  # fmt: skip
    finally:
        (folder / "src").chmod(0o700)


def test_an_entry_that_is_gone(store, folder):
    taken = store.put_tree(
        os.fsencode(folder), [Entry(b"train.py"), Entry(b"gone"), Entry(b"train.py/x"), Entry(b"no/x")]
    )
    assert [(one.path, one.reason) for one in taken.unread] == [
        (b"gone", "vanished"), (b"no", "vanished"),
        (b"train.py", "a folder when it was named, now something else"),
    ]  # fmt: skip
    assert [one.path for one in store.tree(taken.id)] == [b"train.py"]


def test_a_file_of_proc_is_longer_than_it_says(store):
    taken = store.put_tree(b"/proc/self", [Entry(b"status"), Entry(b"cmdline")])
    sizes = {one.path: one.size for one in store.tree(taken.id)}
    assert sizes[b"status"] > 100
    assert sizes[b"cmdline"] > 5


@pytest.mark.parametrize("size", [10 << 20, 300_000])
def test_holes_stay_holes(store, tmp_path, size):
    root = tmp_path / "sparse"
    root.mkdir()
    with (root / "image").open("wb") as file:
        file.write(b"begin")
        file.seek(size // 2)
        file.write(b"middle")
        file.truncate(size)
    if (root / "image").stat().st_blocks * 512 >= size:
        pytest.skip("this file system keeps no holes")
    taken = store.put_folder(os.fsencode(root))
    store.checkout(taken.id, os.fsencode(tmp_path / "out"))
    copy = tmp_path / "out" / "image"
    assert copy.read_bytes() == (root / "image").read_bytes()
    assert copy.stat().st_blocks <= (root / "image").stat().st_blocks + 16
    [entry] = store.tree(taken.id)
    assert entry.content == blake3(copy.read_bytes()).hexdigest()
    assert b"".join(store.content(entry)) == copy.read_bytes()


def test_a_change_in_place_costs_its_surroundings_only(store, folder):
    store.put_folder(os.fsencode(folder))
    big = os.urandom(8 << 20)
    (folder / "big").write_bytes(big)
    first = store.put_folder(os.fsencode(folder))
    with (folder / "big").open("r+b") as file:
        file.seek(5 << 20)
        file.write(b"changed")
    second = store.put_folder(os.fsencode(folder))
    assert first.new_bytes >= 8 << 20
    assert second.new_bytes < 1.2 * (1 << 20)


def test_only_a_part_is_written(store, folder, tmp_path):
    taken = store.put_folder(os.fsencode(folder))
    store.checkout(taken.id, os.fsencode(tmp_path / "out"), only=b"src/deep/")
    assert sorted(facts(tmp_path / "out")) == [b"src", b"src/deep", b"src/deep/er", b"src/deep/er/none"]
    store.checkout(taken.id, os.fsencode(tmp_path / "one"), only=b"train.py")
    assert sorted(facts(tmp_path / "one")) == [b"train.py"]
    with pytest.raises(Missing, match="has no train"):
        store.checkout(taken.id, os.fsencode(tmp_path / "none"), only=b"train")


def test_nothing_that_is_there_is_replaced(store, folder, tmp_path):
    taken = store.put_folder(os.fsencode(folder))
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "train.py").write_text("mine")
    with pytest.raises(StoreProblem, match=r"train\.py could not be written: File exists"):
        store.checkout(taken.id, os.fsencode(tmp_path / "out"))
    assert (tmp_path / "out" / "train.py").read_text() == "mine"


@pytest.mark.battery
def test_a_thousand_folders_in_each_other(store, tmp_path):
    here = os.open(tmp_path, os.O_RDONLY)
    for name in ("root", *["d"] * 900):
        os.mkdir(name, dir_fd=here)
        deeper = os.open(name, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = deeper
    os.close(os.open("leaf", os.O_CREAT | os.O_WRONLY, dir_fd=here))
    os.close(here)
    taken = store.put_folder(os.fsencode(tmp_path / "root"))
    assert (taken.folders, taken.files) == (900, 1)
    assert sum(1 for _ in store.tree(taken.id)) == 901
    assert store.checkout(taken.id, os.fsencode(tmp_path / "out")).folders == 900


STRANGE = [
    b"CON", b"trailing.", b"trailing ", b"back\\slash", b"c:drive", "\u00c4".encode(), "A\u0308".encode(),
    b"a", b"A", b"-rf", b"*", b"~", b"%2F", b"\x7f", b"\xff\xfe", b"n" * 255, b"\x1b]0;title\x07",
]  # fmt: skip


def test_names_that_other_systems_refuse(store, tmp_path):
    root = tmp_path / "strange"
    root.mkdir()
    for name in STRANGE:
        with open(os.fsencode(root) + b"/" + name, "wb") as file:
            file.write(name)
    taken = store.put_folder(os.fsencode(root))
    assert [one.path for one in store.tree(taken.id)] == sorted(STRANGE)
    store.checkout(taken.id, os.fsencode(tmp_path / "out"))
    assert facts(tmp_path / "out") == facts(root)


@pytest.mark.parametrize("seconds", [-1000, 0, 1, 4_000_000_000])
def test_times_before_1970_and_after_2100(store, tmp_path, seconds):
    root = tmp_path / "times"
    root.mkdir()
    (root / "file").write_bytes(b"x")
    os.utime(root / "file", ns=(seconds * 10**9 + 5, seconds * 10**9 + 5))
    taken = store.put_folder(os.fsencode(root))
    store.checkout(taken.id, os.fsencode(tmp_path / "out"))
    assert (tmp_path / "out" / "file").stat().st_mtime_ns == seconds * 10**9 + 5


NAMES = st.binary(min_size=1, max_size=12).filter(
    lambda n: b"/" not in n and b"\0" not in n and n not in (b".", b"..")
)
TREES = st.recursive(
    st.binary(max_size=200) | st.just(None),
    lambda inner: st.dictionaries(NAMES, inner, max_size=5),
    max_leaves=15,
).filter(lambda tree: isinstance(tree, dict))


def write(path: bytes, tree) -> None:
    """A folder for a dictionary, a file for bytes, a link for None."""
    if tree is None:
        os.symlink(b"to " + os.path.basename(path), path)
    elif isinstance(tree, bytes):
        with open(path, "wb") as file:
            file.write(tree)
    else:
        os.mkdir(path)
        for name, inner in tree.items():
            write(path + b"/" + name, inner)


@given(TREES, TREES)
def test_any_tree_comes_back_and_differences_are_those_of_the_files(one, two):
    with tempfile.TemporaryDirectory() as top:
        base = Path(top)
        with open_store(str(base / "store")) as store:
            taken = []
            for name, tree in (("one", one), ("two", two)):
                write(os.fsencode(base / name), tree)
                taken.append(store.put_folder(os.fsencode(base / name), times=False).id)
                store.checkout(taken[-1], os.fsencode(base / f"{name}.out"))
                assert facts(base / f"{name}.out", times=False) == facts(base / name, times=False)
            changed = {change.path for change in store.diff(*taken)}
            before, after = (facts(base / name, times=False) for name in ("one", "two"))
            assert changed == {p for p in before.keys() | after.keys() if before.get(p) != after.get(p)}
            assert list(store.diff(taken[0], taken[0])) == []
