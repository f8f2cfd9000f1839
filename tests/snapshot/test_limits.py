"""What a package of somebody else's may expand to, and which names it may bring."""

from __future__ import annotations

import os
import signal
import stat
from pathlib import Path

import pytest
from blake3 import blake3

from dsec.errors import DSecError, StoredFormError
from dsec.store import Damaged, Store, trees
from dsec.store.packform import BLOB
from dsec.store.portable import ForeignPack, Writing
from dsec.store.trees import FILE, FOLDER, LINK
from dsec_cli.snapshot.package import limits, reading
from dsec_cli.snapshot.package.writing import write as export
from dsec_cli.snapshot.restoring import _remove
from dsec_cli.snapshot.section import Wanted
from dsec_cli.snapshot.spelling import Repositories, is_repository

from .kit import repository, scene, take, write
from .shell import Shell

GIT = [
    b".git",
    b".GIT",
    b".Git",
    b"git~1",
    b"GIT~1",
    b"git~2",
    b".git.",
    b".git ",
    b".git. .",
    b".git:a",
    b".git::$INDEX_ALLOCATION",
    b"git~1.",
    b"git~1 ",
    ".g\u200cit".encode(),
    ".git\u200d".encode(),
    "\ufeff.git".encode(),
    ".\u202egit".encode(),
    ".gi\u206ft".encode(),
    b"a\\.git\\b",
    b".git\\hooks",
    ".G\u200bIT".encode(),
]
OTHERS = [
    b".gitignore",
    b".github",
    b"git",
    b"x.git",
    b".gitmodules",
    b"git~",
    b"git~one",
    b"agit~1",
    b".gi",
    b"digit~1",
]


Row = tuple[bytes, int, int, int, int, bytes, bytes]


class Made:
    """Trees in memory, by their ids."""

    def __init__(self) -> None:
        self.held: dict[bytes, bytes] = {}

    def tree(self, *rows: Row) -> bytes:
        data = trees.encoded(sorted(rows))
        self.held[blake3(data).digest()] = data
        return blake3(data).digest()

    def check(self, *roots: bytes, size: int = 50_000, most: int | None = None) -> None:
        limits.check(self.held.__getitem__, roots, size=size, most=most)


def file(name: bytes, size: int = 1) -> Row:
    return name, FILE, 0o644, 0, size, bytes(32), b""


def folder(name: bytes, tree: bytes) -> Row:
    return name, FOLDER, 0o755, 0, 0, tree, b""


def link(name: bytes, target: bytes) -> Row:
    return name, LINK, 0o777, 0, len(target), blake3(target).digest(), target


@pytest.mark.parametrize("name", GIT)
def test_what_git_takes_for_a_repository(name: bytes) -> None:
    assert is_repository(name)
    made = Made()
    inner = made.tree(file(b"config"))
    for row in (folder(name, inner), file(name), link(name, b"../x")):
        for root in (made.tree(row), made.tree(folder(b"sub", made.tree(row, file(b"a.py"))))):
            with pytest.raises(StoredFormError, match="git would take it"):
                made.check(root)


@pytest.mark.parametrize("name", OTHERS)
def test_what_git_takes_for_none(name: bytes) -> None:
    assert not is_repository(name)
    made = Made()
    made.check(made.tree(file(name)))


def test_a_bare_repository() -> None:
    made = Made()
    empty = made.tree()
    with pytest.raises(StoredFormError, match="git would take its folder"):
        made.check(made.tree(file(b"HEAD"), folder(b"objects", empty), folder(b"refs", empty)))
    made.check(made.tree(file(b"HEAD"), folder(b"objects", empty)))
    made.check(made.tree(folder(b"head", empty), folder(b"objects", empty), folder(b"refs", empty)))


def twins(made: Made, levels: int, width: int = 2) -> bytes:
    at = made.tree(file(b"a"))
    for _ in range(levels):
        at = made.tree(*[folder(b"%d" % number, at) for number in range(width)])
    return at


@pytest.mark.parametrize(("levels", "width"), [(60, 2), (200, 2), (40, 3), (7, 20), (14, 2), (2, 3000)])
def test_folders_that_are_named_again_and_again(levels: int, width: int) -> None:
    made = Made()
    with pytest.raises(StoredFormError, match="files and folders"):
        made.check(twins(made, levels, width))


def test_twins_of_a_few_are_fine() -> None:
    made = Made()
    made.check(twins(made, 8))
    same = made.tree(*[file(b"%d" % number) for number in range(500)])
    made.check(made.tree(*[folder(b"%d" % number, same) for number in range(15)]))


@pytest.mark.parametrize("depth", [257, 1000, 3000, 20_000])
def test_nested_folders(depth: int) -> None:
    made = Made()
    at = made.tree(file(b"a"))
    for _ in range(depth):
        at = made.tree(folder(b"d", at))
    with pytest.raises(StoredFormError, match="folders deep"):
        made.check(at)


def test_a_chain_that_is_known_in_part() -> None:
    """Each tree alone is not too deep; one in the other is."""
    made = Made()
    at = inner = made.tree(file(b"a"))
    for number in range(400):
        at = made.tree(folder(b"d", at))
        inner = at if number == 199 else inner
    with pytest.raises(StoredFormError, match="folders deep"):
        made.check(inner, at)


def test_long_names_and_paths() -> None:
    made = Made()
    made.check(made.tree(file(b"n" * 255)))
    with pytest.raises(StoredFormError, match="name is 256 bytes long"):
        made.check(made.tree(file(b"n" * 256)))
    at = made.tree(file(b"a"))
    for _ in range(20):
        at = made.tree(folder(b"n" * 250, at))
    with pytest.raises(StoredFormError, match="longest path"):
        made.check(at)


@pytest.mark.parametrize("sizes", [[600 << 20], [1 << 20] * 600, [1 << 60], [257 << 20, 0]])
def test_much_from_little(sizes: list[int]) -> None:
    made = Made()
    root = made.tree(*[file(b"%d" % number, size) for number, size in enumerate(sizes)])
    with pytest.raises(StoredFormError, match="expands to"):
        made.check(root)
    made.check(root, most=sum(sizes))
    made.check(root, size=sum(sizes) // 100 + 1)


def test_one_file_in_many_folders() -> None:
    made = Made()
    large = made.tree(file(b"a", 10 << 20))
    with pytest.raises(StoredFormError, match="expands to"):
        made.check(made.tree(*[folder(b"%d" % number, large) for number in range(100)]))


def pack_of(path: Path, objects: list[tuple[bytes, bytes]]) -> ForeignPack:
    with path.open("wb") as out:
        writing = Writing(out.write)
        for name, data in objects:
            writing.add(name, data, BLOB)
        length = writing.finish()
    return ForeignPack(os.open(path, os.O_RDONLY), 0, length, called="theirs")


def test_an_order_in_which_reading_takes_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dsec.store.portable._FREE_WORK", 0)
    datas = [bytes([number]) * (5 << 20) for number in range(12)]
    names = [blake3(data).digest() for data in datas]
    found = pack_of(tmp_path / "pack", list(zip(names, datas, strict=True)))
    for _ in range(3):
        for name in names:
            found.get(name)
    with pytest.raises(Damaged, match="without end"):
        list(map(found.get, names * 20))


@pytest.fixture
def hostile(tmp_path: Path, store: Store, state: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package in whose data is a repository with a hook."""
    folder = repository(tmp_path / "p", {"train.py": ""})
    write(folder, {"data/.git/hooks/post-checkout": "touch /tmp/owned\n", "data/a.bin": "x"})
    monkeypatch.setattr(Repositories, "skips", lambda *_: False)
    view = take(scene(folder, store, state, wanted=Wanted(data=("data:content",))), "v1")
    export(view, str(tmp_path / "v1.dsnap"), environ={"HOME": str(tmp_path)}, recipients=[], signed=False)
    return tmp_path / "v1.dsnap"


def test_a_package_with_a_repository_leaves_nothing(hostile: Path, shell: Shell) -> None:
    with pytest.raises(DSecError, match="git would take it"), reading.opened(str(hostile)) as package:
        reading.checked(package)
    told = shell.ok(f"snapshot import {hostile} --trust", 3)
    assert "data/.git" not in told
    assert ".git" in told
    assert not (shell.project / ".dsec" / "store" / "records").exists()
    shell.ok("snapshot create --name own")
    assert ".git" in shell.ok(f"snapshot run {hostile} --dry-run", 3)


def test_repositories_in_data_are_left_out(tmp_path: Path, store: Store, state: Path) -> None:
    folder = repository(tmp_path / "p", {"train.py": ""})
    write(folder, {"data/.git/config": "", "data/sub/.git": "gitdir: x", "data/a.bin": "x"})
    for name in ("v1", "v2"):
        view = take(scene(folder, store, state, wanted=Wanted(data=("data:content",))), name)
        side = view.side("data")
        assert [entry.path for entry in store.tree(side.trees["data-0"])] == [b"a.bin", b"sub"]
        assert "not taken: data/.git, data/sub/.git (of git)" in side.reason


@pytest.mark.battery
def test_what_is_taken_away_is_all(tmp_path: Path) -> None:
    """However deep, and whatever may not be written to."""
    room = tmp_path / "room"
    room.mkdir()
    at = os.open(room, os.O_RDONLY)
    for _ in range(1500):
        os.mkdir("d", dir_fd=at)
        os.close(os.open("f", os.O_WRONLY | os.O_CREAT, dir_fd=at))
        inner = os.open("d", os.O_RDONLY, dir_fd=at)
        os.fchmod(at, 0o500)
        os.close(at)
        at = inner
    os.close(at)
    (tmp_path / "kept").mkdir()
    room.chmod(0o700)
    (room / "link").symlink_to(tmp_path / "kept")
    _remove(str(room))
    assert [one.name for one in tmp_path.iterdir()] == ["kept"]


@pytest.mark.battery
def test_term_leaves_nothing(shell: Shell, tmp_path: Path) -> None:
    for number in range(3000):
        (shell.project / f"f{number}.py").write_text(f"x = {number}\n")
    shell.ok("snapshot create --name big")
    running = shell.start("snapshot restore big --to made")
    while running.poll() is None and not any(
        one.name.startswith(".dsec-restore-") for one in shell.project.iterdir()
    ):
        pass
    running.send_signal(signal.SIGTERM)
    running.communicate()
    assert running.returncode in (0, 143, -signal.SIGTERM)  # it may have been done by then
    assert not [one for one in shell.project.iterdir() if one.name.startswith(".dsec-restore-")]
    assert running.returncode != 143 or not (shell.project / "made").exists()
    assert stat.S_ISDIR((shell.project / ".dsec").stat().st_mode)
