"""Trees that someone else made, to write where they must not."""

from __future__ import annotations

import os

import pytest
from blake3 import blake3

from dsec.store import Damaged, StoreProblem, pieces, trees
from dsec.store.checkout import leads_out
from dsec.store.packform import LIST, TREE
from dsec.store.values import TreeEntry


@pytest.fixture
def forge(store):
    """Puts bytes in as if they were a tree or a list."""

    def put(data, kind=TREE):
        with store._putting():
            name = store._objects.put(data, kind)
        store._put.add(name.hex())
        return name

    return put


def row(name, kind, one, *, mode=0o644, size=0, extra=b""):
    return (name, kind, mode, 0, size, one, extra)


def link(name, target):
    return row(name, trees.LINK, blake3(target).digest(), size=len(target), extra=target)


@pytest.mark.parametrize("name", [b"..", b".", b"a/b", b"/x", b"x\0y", b""])
def test_names_that_lead_out(store, forge, tmp_path, name):
    one = bytes.fromhex(store.put_bytes(b"evil"))
    data = trees.encoded([row(name, trees.FILE, one, size=4)])
    with pytest.raises(Damaged, match="is no tree"):
        store.checkout(forge(data).hex(), os.fsencode(tmp_path / "out"))
    assert sorted(os.listdir(tmp_path)) == ["out", "store"]


def test_a_link_and_a_file_through_it(store, forge, tmp_path):
    """Two entries of one name: refused as a tree. A link that stands there already: not followed."""
    (tmp_path / "outside").mkdir()
    one = bytes.fromhex(store.put_bytes(b"evil"))
    inner = forge(trees.encoded([row(b"file", trees.FILE, one, size=4)]))
    twice = [link(b"d", os.fsencode(tmp_path / "outside")), row(b"d", trees.FOLDER, inner, mode=0o755)]
    with pytest.raises(Damaged):
        store.checkout(forge(trees.encoded(twice)).hex(), os.fsencode(tmp_path / "out"))
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "d").symlink_to(tmp_path / "outside")
    plain = forge(trees.encoded([row(b"d", trees.FOLDER, inner, mode=0o755)]))
    with pytest.raises(StoreProblem, match="File exists"):
        store.checkout(plain.hex(), os.fsencode(tmp_path / "there"))
    assert os.listdir(tmp_path / "outside") == []


def test_a_folder_replaced_by_a_link_meanwhile(store, forge, tmp_path, monkeypatch):
    (tmp_path / "outside").mkdir()
    one = bytes.fromhex(store.put_bytes(b"evil"))
    inner = forge(trees.encoded([row(b"file", trees.FILE, one, size=4)]))
    tree = forge(trees.encoded([row(b"d", trees.FOLDER, inner, mode=0o755)]))
    real = os.mkdir

    def swapping(name, mode=0o777, *, dir_fd=None):
        if dir_fd is None:
            return real(name, mode)
        return os.symlink(tmp_path / "outside", name, dir_fd=dir_fd)

    monkeypatch.setattr("dsec.store.checkout.os.mkdir", swapping)
    (tmp_path / "out").mkdir()
    with pytest.raises(StoreProblem, match="could not be written"):
        store.checkout(tree.hex(), os.fsencode(tmp_path / "out"))
    monkeypatch.setattr("dsec.store.checkout.os.mkdir", real)
    assert os.listdir(tmp_path / "outside") == []


def test_a_tree_that_does_not_end(store, forge):
    inner = forge(trees.encoded([]))
    for _ in range(2100):
        inner = forge(trees.encoded([row(b"d", trees.FOLDER, inner, mode=0o755)]))
    with pytest.raises(Damaged, match="deeper than"):
        list(store.tree(inner.hex()))
    with pytest.raises(Damaged, match="deeper than"):
        list(store.diff(inner.hex(), forge(trees.encoded([])).hex()))


def test_pieces_that_are_not_the_file(store, forge, tmp_path):
    piece = b"x" * 1000
    one = bytes.fromhex(store.put_bytes(piece))
    listed = forge(pieces.encoded([(1000, one)], 1000), LIST)
    for content, size, runs in (
        (blake3(b"other").digest(), 1000, listed),
        (blake3(piece).digest(), 999, listed),
        (blake3(piece).digest(), 1000, forge(pieces.encoded([(999, one), (1, one)], 1000), LIST)),
        (blake3(piece).digest(), 1000, one),
    ):
        tree = forge(trees.encoded([row(b"f", trees.PIECES, content, size=size, extra=runs)]))
        [entry] = store.tree(tree.hex())
        with pytest.raises(Damaged):
            list(store.content(entry))
    tree = forge(trees.encoded([row(b"f", trees.FILE, one, size=5)]))
    with pytest.raises(Damaged, match="does not consist of what"):
        store.checkout(tree.hex(), os.fsencode(tmp_path / "out"))


def test_a_mode_that_runs_as_someone_else_is_not_kept(store, folder, tmp_path):
    (folder / "run.sh").chmod(0o6755)
    tree = store.put_folder(os.fsencode(folder)).id
    store.checkout(tree, os.fsencode(tmp_path / "out"))
    assert (tmp_path / "out" / "run.sh").stat().st_mode & 0o7777 == 0o755


@pytest.mark.parametrize(
    ("path", "target", "out"),
    [
        (b"a", b"b", False), (b"a", b"../b", True), (b"d/a", b"../b", False), (b"d/a", b"../../b", True),
        (b"a", b"/etc", True), (b"a", b"b/../../c", True), (b"a", b"./b/..", False),
        (b"d/a", b"x/../../..", True),
    ],
)  # fmt: skip
def test_links_that_lead_out_are_told(path, target, out):
    assert leads_out(TreeEntry(path, "link", 0o777, 0, len(target), target=target)) is out


def test_a_checkout_tells_of_links_that_lead_out(store, folder, tmp_path):
    (folder / "away").symlink_to("/etc")
    report = store.checkout(store.put_folder(os.fsencode(folder)).id, os.fsencode(tmp_path / "out"))
    assert report.outward == (b"away",)


def test_a_tree_id_that_is_a_file(store):
    with pytest.raises(Damaged, match="is no tree"):
        list(store.tree(store.put_bytes(b"just a file")))
