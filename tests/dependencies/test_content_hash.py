"""What a content hash covers, and what it does not."""

from __future__ import annotations

import hashlib
import os
import random
import shutil
from pathlib import Path

import pytest
from blake3 import blake3
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dsec.contenthash import content_hash
from dsec.errors import FileProblem

PART = st.sampled_from(["a", "b", "B", "a-", "a.b", "é", "z z", ".hidden", "a\n"])
NAME = st.lists(PART, min_size=1, max_size=3).map("/".join)
ENTRY = st.tuples(st.sampled_from("fxl"), st.binary(max_size=6).filter(lambda data: b"\0" not in data))
TREE = st.dictionaries(NAME, ENTRY, max_size=5).filter(
    lambda tree: not any(f"{name}/" == other[: len(name) + 1] for name in tree for other in tree)
)


def plant(root: Path, tree: dict[str, tuple[str, bytes]], *, order: int = 0) -> Path:
    """Write a tree, its files in an order of their own."""
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir(parents=True)
    names = sorted(tree)
    random.Random(order).shuffle(names)
    for name in names:
        kind, data = tree[name]
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if kind == "l":
            path.symlink_to("to-" + data.hex())
        else:
            path.write_bytes(data)
            path.chmod(0o755 if kind == "x" else 0o644)
    return root


def defined(tree: dict[str, tuple[str, bytes]]) -> str:
    """The hash as its definition in the documentation says, in a few other lines."""
    fields = [b"dsec.tree/1"]
    for name, (kind, data) in sorted((name.encode(), entry) for name, entry in tree.items()):
        value = b"to-" + data.hex().encode() if kind == "l" else hashlib.sha256(data).digest()
        fields += [kind.encode(), name, value]
    return hashlib.sha256(b"".join(len(f).to_bytes(8, "little") + f for f in fields)).hexdigest()


@settings(max_examples=40, deadline=None)
@given(TREE, st.integers())
def test_a_folder_has_the_documented_hash_in_any_order_of_writing(
    tmp_path_factory: pytest.TempPathFactory, tree: dict[str, tuple[str, bytes]], order: int
) -> None:
    root = plant(tmp_path_factory.getbasetemp() / "defined", tree, order=order)
    assert content_hash(str(root), "sha256") == f"sha256:{defined(tree)}"


@pytest.mark.battery
@settings(max_examples=40, deadline=None)
@given(TREE, TREE)
def test_two_trees_have_one_hash_only_if_they_are_the_same(
    tmp_path_factory: pytest.TempPathFactory,
    one: dict[str, tuple[str, bytes]],
    other: dict[str, tuple[str, bytes]],
) -> None:
    base = tmp_path_factory.getbasetemp()
    first = content_hash(str(plant(base / "one", one)), "blake3")
    second = content_hash(str(plant(base / "other", other)), "blake3")
    assert (first == second) is (one == other)


CHANGES = {
    "content": lambda tree, name: tree | {name: (tree[name][0], tree[name][1] + b"!")},
    "name": lambda tree, name: {f"{n}0" if n == name else n: entry for n, entry in tree.items()},
    "mode": lambda tree, name: tree | {name: ("x" if tree[name][0] == "f" else "f", tree[name][1])},
    "gone": lambda tree, name: {n: entry for n, entry in tree.items() if n != name},
}


@pytest.mark.parametrize("change", sorted(CHANGES))
@settings(max_examples=40, deadline=None)
@given(TREE, st.data())
def test_every_change_changes_it(
    tmp_path_factory: pytest.TempPathFactory,
    change: str,
    tree: dict[str, tuple[str, bytes]],
    data: st.DataObject,
) -> None:
    assume(tree)
    changed = CHANGES[change](tree, data.draw(st.sampled_from(sorted(tree))))
    base = tmp_path_factory.getbasetemp()
    before = content_hash(str(plant(base / "before", tree)), "sha256")
    assert content_hash(str(plant(base / "after", changed)), "sha256") != before


def test_times_owners_rights_and_empty_folders_do_not_count(tmp_path: Path) -> None:
    root = plant(tmp_path / "d", {"a/b": ("f", b"1"), "c": ("x", b"2")})
    before = content_hash(str(root), "blake3")
    os.utime(root / "a" / "b", (1, 1))
    (root / "a" / "b").chmod(0o600)
    (root / "a").chmod(0o700)
    (root / "empty" / "too").mkdir(parents=True)
    assert content_hash(str(root), "blake3") == before
    assert content_hash(f"{root}/", "blake3") == before


def test_a_file_has_the_hash_of_its_bytes(tmp_path: Path) -> None:
    data = os.urandom(3_000_000)
    (tmp_path / "f").write_bytes(data)
    (tmp_path / "link").symlink_to("f")
    for name in ("f", "link"):
        assert content_hash(str(tmp_path / name), "sha256") == f"sha256:{hashlib.sha256(data).hexdigest()}"
        assert content_hash(str(tmp_path / name), "blake3") == f"blake3:{blake3(data).hexdigest()}"


def test_names_that_are_no_text_are_hashed(tmp_path: Path) -> None:
    with open(os.fsencode(tmp_path) + b"/\xff", "wb"):
        pass
    assert content_hash(str(tmp_path), "blake3").startswith("blake3:")


@pytest.mark.parametrize("target", ["../secret", "/etc/passwd", "in/../../secret", "deep/up/x"])
def test_a_link_that_leads_out_is_refused(tmp_path: Path, target: str) -> None:
    root = tmp_path / "d"
    (root / "in").mkdir(parents=True)
    (root / "deep").mkdir()
    (root / "deep" / "up").symlink_to("../in/..")
    if target == "deep/up/x":
        (root / "x").symlink_to("..")
    (tmp_path / "secret").write_text("s")
    (root / "out").symlink_to(target)
    with pytest.raises(FileProblem, match="leads out of the folder"):
        content_hash(str(root), "blake3")


def test_a_link_that_stays_inside_counts_by_where_it_leads(tmp_path: Path) -> None:
    root = plant(tmp_path / "d", {"a": ("f", b"1"), "b": ("f", b"1")})
    (root / "l").symlink_to("a")
    before = content_hash(str(root), "blake3")
    (root / "l").unlink()
    (root / "l").symlink_to("b")
    assert content_hash(str(root), "blake3") != before


def test_what_is_no_file_is_refused_without_waiting_for_it(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(FileProblem, match="neither a file nor a folder"):
        content_hash(str(tmp_path), "blake3")
    with pytest.raises(FileProblem, match="neither a file nor a folder"):
        content_hash(str(tmp_path / "pipe"), "blake3")
    with pytest.raises(FileProblem, match="No such file"):
        content_hash(str(tmp_path / "none"), "blake3")


def test_a_file_that_changes_while_it_is_read_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"x" * 10)
    read = os.read

    def meddling(fd: int, size: int) -> bytes:
        with open(path, "ab") as file:
            file.write(b"y")
        monkeypatch.setattr(os, "read", read)
        return read(fd, size)

    monkeypatch.setattr(os, "read", meddling)
    with pytest.raises(FileProblem, match="changed while it was read"):
        content_hash(str(path), "blake3")
