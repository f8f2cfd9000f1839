"""Where a received snapshot wants its files: never where git would take them for a repository of its own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dsec.codec import canonical
from dsec.errors import StoredFormError
from dsec.store import Store
from dsec_cli.snapshot import manifest, restoring, shapes, takingout
from dsec_cli.snapshot.section import Wanted
from dsec_cli.snapshot.shelf import View
from dsec_cli.snapshot.spelling import is_repository

from .kit import repository, scene, take, write

NAMED = ("data:content", "one.bin:content")


@pytest.fixture
def view(tmp_path: Path, store: Store, state: Path) -> View:
    """A snapshot with a folder and a file of data."""
    folder = repository(tmp_path / "p", {"train.py": "", ".gitignore": "data/\n"})
    write(folder, {"data/hooks/post-checkout": "touch owned\n", "one.bin": "x"})
    return take(scene(folder, store, state, wanted=Wanted(data=NAMED)), "v1")


def placed(view: View, *paths: str) -> View:
    """The snapshot as somebody else made it: its data belongs elsewhere."""
    sections = []
    for section in view.manifest.sections:
        if section.name == "data":
            document = json.loads(view.store.get_bytes(section.document))
            for row, path in zip(document["named"], paths, strict=False):
                row["path"] = path
            section = section._replace(document=view.store.put_bytes(canonical(document)))
        sections.append(section)
    found = view.manifest._replace(sections=tuple(sections), id=manifest.identity(tuple(sections)))
    return View(found, view.store)


@pytest.mark.parametrize(
    "path",
    [".git", ".git/", "sub/.git", ".GIT/hooks", "git~1", ".g\u200cit", "./.git", "a/../.git", ".git\\x"],
)
@pytest.mark.parametrize("number", [0, 1])
def test_data_is_put_into_no_repository(view: View, tmp_path: Path, path: str, number: int) -> None:
    paths = [path, "one.bin"] if number == 0 else ["data", f"{path.rstrip('/')}/config"]
    takingout.take_out(placed(view, *paths), "data", str(tmp_path / "out"))
    written = [one for one in (tmp_path / "out").rglob("*") if one.is_file()]
    assert len(written) == 2
    assert not [one for one in (tmp_path / "out").rglob("*") if is_repository(one.name.encode())]


def trees(store: Store, tmp_path: Path, *several: dict[str, str]) -> list[str]:
    found = []
    for number, files in enumerate(several):
        write(tmp_path / f"t{number}", files)
        found.append(store.put_folder(str(tmp_path / f"t{number}").encode()).id)
    return found


PARTS = (
    [(b"", {"HEAD": "", "objects/x": ""}), (b"", {"refs/x": ""})],
    [(b"", {"head": "", "Objects/x": ""}), (b"REFS", {"x": ""})],
    [(b"a", {"HEAD": ""}), (b"a/objects/b", {"x": ""}), (b"a/refs", {"x": ""})],
)


@pytest.mark.parametrize("parts", PARTS)
def test_trees_make_no_repository_together(
    view: View, store: Store, tmp_path: Path, parts: list[tuple[bytes, dict[str, str]]]
) -> None:
    ids = trees(store, tmp_path, *(files for _, files in parts))
    places = [(place, tree) for (place, _), tree in zip(parts, ids, strict=True)]
    (tmp_path / "in").mkdir()
    with pytest.raises(StoredFormError, match="git would take it"):
        restoring.write_all(view, places, str(tmp_path / "in"), "")
    assert not list((tmp_path / "in").iterdir())


def test_our_own_may_hold_one(view: View, store: Store, tmp_path: Path) -> None:
    """A project has one among its tests, and a file of it holds a secret."""
    bare = {"x.git/HEAD": "", "x.git/objects/a": "", "x.git/refs/a": ""}
    whole, redacted = trees(store, tmp_path, bare, {"x.git/refs/b": ""})
    (tmp_path / "in").mkdir()
    restoring.write_all(view, [(b"", whole), (b"", redacted)], str(tmp_path / "in"), "")
    assert (tmp_path / "in/x.git/refs/b").exists()


@pytest.mark.parametrize("path", ["a\0b", 3, None])
def test_a_path_that_is_none(view: View, path: str) -> None:
    with pytest.raises(StoredFormError, match=r"data\.named\[0\]\.path is not what it must be"):
        placed(view, path).side("data")
    assert shapes.wrong("environment", {"values": {}, "hidden": {}}) == ""
