"""Files with secrets and without lie beside each other; what is written is one tree all the same."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dsec.store import Damaged, Entry, Store
from dsec_cli.snapshot.redaction import MARK, Redactor
from dsec_cli.snapshot.restoring import restore
from dsec_cli.snapshot.section import Wanted
from dsec_cli.snapshot.shelf import SnapshotProblem
from dsec_cli.snapshot.takingout import take_out

from .kit import KEY, repository, scene, take, write

SECRET = f'api_key = "{"k3J9xQ27LmZp" + "8Rt5VwYb1NcA"}"\n'


def tree_of(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): path.read_text() if path.is_file() else ""
        for path in sorted(folder.rglob("*"))
        if ".git" not in path.parts
    }


@pytest.mark.parametrize(
    "files",
    [
        {"d/a.py": "lr = 1\n", "d/b.py": SECRET},
        {"d/a.py": SECRET, "d/b.py": "lr = 1\n"},
        {"d/e/f/a.py": SECRET, "d/e/b.py": "", "d/c.py": SECRET, "top.py": ""},
        {"a.py": SECRET, "b.py": ""},
        {"d/a.py": SECRET},
        {"d/a": SECRET, "d-b/a": "", "d.b/a": SECRET, "d0/a": ""},
        {"d/x/a": SECRET, "d/x-y": "", "d/x.z/a": SECRET},
        {"naïve/ö.py": SECRET, "naïve/u.py": "x = 1\n"},
        {"a b/c.py": SECRET, "a b/d.py": ""},
        {f"d/{number}.py": SECRET if number % 3 else "x = 1\n" for number in range(20)},
    ],
)
def test_both_come_back(files: dict[str, str], tmp_path: Path, store: Store, state: Path) -> None:
    folder = repository(tmp_path / "p", files)
    view = take(scene(folder, store, state), "v1")
    made = restore(view, str(tmp_path / "out"), live=str(folder), redactor=Redactor(KEY))
    assert tree_of(tmp_path / "out") == tree_of(folder)
    assert made.files == len(files)
    assert sorted(made.filled) == sorted(name for name, text in files.items() if text == SECRET)
    lost = restore(view, str(tmp_path / "bare"), live=str(tmp_path), redactor=Redactor(KEY))
    assert {name for name, _ in lost.missing} == set(made.filled)
    for name in made.filled:
        assert MARK in (tmp_path / "bare" / name).read_text()
    part = restore(
        view, str(tmp_path / "part"), live=str(folder), redactor=Redactor(KEY), only=sorted(files)[0]
    )
    assert part.files == 1


def test_modes_and_links_of_a_mixed_folder(tmp_path: Path, store: Store, state: Path) -> None:
    folder = repository(tmp_path / "p", {"d/a.sh": SECRET, "d/b.sh": "x\n", "only/c.sh": SECRET})
    (folder / "d/link").symlink_to("a.sh")
    (folder / "d/a.sh").chmod(0o555)
    (folder / "d").chmod(0o555)
    (folder / "only").chmod(0o500)
    view = take(scene(folder, store, state), "v1")
    made = restore(view, str(tmp_path / "out"), live=str(folder), redactor=Redactor(KEY))
    out = tmp_path / "out"
    assert sorted(made.filled) == ["d/a.sh", "only/c.sh"]
    assert (out / "d/a.sh").read_text() == SECRET
    assert os.readlink(out / "d/link") == "a.sh"
    found = {name: (out / name).stat().st_mode & 0o777 for name in ("d", "only", "d/a.sh")}
    for one in (folder / "d", folder / "only", out / "d", out / "only"):
        one.chmod(0o755)
    assert found == {"d": 0o555, "only": 0o500, "d/a.sh": 0o555}


@pytest.mark.parametrize(
    "named", [("data", "data/a.bin"), ("data/a.bin", "data/b.bin"), ("data/s", "data"), ("data", "data")]
)
def test_data_that_is_named_twice(named: tuple[str, ...], tmp_path: Path, store: Store, state: Path) -> None:
    folder = repository(tmp_path / "p", {"train.py": ""})
    write(folder, {"data/a.bin": "a", "data/b.bin": "b", "data/s/c.bin": "c"})
    wanted = Wanted(data=tuple(f"{one}:content" for one in named))
    view = take(scene(folder, store, state, wanted=wanted), "v1")
    take_out(view, "data", str(tmp_path / "out"))
    assert (tmp_path / "out/data/a.bin").read_text() == "a"
    take_out(view, "data", str(tmp_path / "part"), only="data/a.bin")
    assert [path.name for path in (tmp_path / "part/data").iterdir()] == ["a.bin"]
    with pytest.raises(SnapshotProblem, match="nothing at 'data/none'"):
        take_out(view, "data", str(tmp_path / "none"), only="data/none")


def test_one_path_that_is_two_things(tmp_path: Path, store: Store) -> None:
    for name, text in (("one", "1"), ("two", "2")):
        write(tmp_path / name, {"d/a": text})
    write(tmp_path / "three", {"d/a/b": ""})
    trees = [store.put_tree(os.fsencode(tmp_path / name), [Entry(b"d/a")]).id for name in ("one", "two")] + [
        store.put_folder(os.fsencode(tmp_path / "three")).id
    ]
    for number, pair in enumerate(((0, 1), (0, 2), (2, 0))):
        with pytest.raises(Damaged, match="d/a is two different things"):
            store.checkout_all([(b"", trees[one]) for one in pair], os.fsencode(tmp_path / f"out{number}"))
    store.checkout_all([(b"", trees[0]), (b"d/e", trees[1])], os.fsencode(tmp_path / "out"))
    assert (tmp_path / "out/d/e/d/a").read_text() == "2"
