"""What a snapshot holds, what it does not, and why."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from dsec.errors import DSecError, StoredFormError
from dsec.store import NameTaken, Store
from dsec_cli.snapshot.capture import capture, parts, refuse_root
from dsec_cli.snapshot.manifest import FORMAT, encode, parse
from dsec_cli.snapshot.section import Wanted
from dsec_cli.snapshot.sections.code import TooLarge
from dsec_cli.snapshot.shelf import SnapshotProblem, find, listed
from dsec_cli.snapshot.views.inspecting import document, render

from .kit import git, repository, scene, site, take, write


def test_every_section_is_there_or_says_why(tmp_path: Path, store: Store, state: Path) -> None:
    view = take(scene(repository(tmp_path / "p", {"a.py": "1"}), store, state), "one")
    assert [one.name for one in view.manifest.sections] == [part.name for part in parts()]
    for one in view.manifest.sections:
        assert one.status in ("present", "partial", "absent")
        assert bool(one.reason) == (one.status != "present")
        assert bool(one.document) == (one.status != "absent")


def test_a_fat_git_folder_is_not_in_it(tmp_path: Path, store: Store, state: Path) -> None:
    folder = repository(tmp_path / "p", {"a.py": "x" * 1000})
    (folder / "big.bin").write_bytes(os.urandom(3 << 20))
    git(folder, "add", "big.bin")
    git(folder, "commit", "-qm", "big")
    git(folder, "rm", "-q", "big.bin")
    git(folder, "commit", "-qm", "gone")
    size = sum(path.stat().st_size for path in (folder / ".git").rglob("*") if path.is_file())
    assert size > 3 << 20
    take(scene(folder, store, state), "one")
    assert store.usage().stored_bytes < 100_000


def test_the_same_state_has_the_same_id_wherever_and_whenever(
    tmp_path: Path, store: Store, state: Path
) -> None:
    folder = repository(tmp_path / "p", {"a.py": "1"})
    first = take(scene(folder, store, state), "one")
    os.utime(folder / "a.py", (1, 1))
    second = take(scene(folder, store, state), "two")
    assert first.manifest.id == second.manifest.id


def test_a_name_is_taken_once(tmp_path: Path, store: Store, state: Path) -> None:
    folder = repository(tmp_path / "p", {"a.py": "1"})
    take(scene(folder, store, state), "one")
    with pytest.raises(NameTaken):
        take(scene(folder, store, state), "one")


def test_found_by_name_by_id_and_as_the_newest(tmp_path: Path, store: Store, state: Path) -> None:
    folder = repository(tmp_path / "p", {"a.py": "1"})
    one = take(scene(folder, store, state), "one").manifest
    write(folder, {"a.py": "2"})
    two = take(scene(folder, store, state), "two").manifest
    assert [each.name for each in listed(store)] == ["one", "two"]
    assert find(store, "one") == one
    assert find(store, two.id[:8]) == two
    assert find(store, "@latest") == two
    with pytest.raises(SnapshotProblem, match="no snapshot"):
        find(store, "three")
    with pytest.raises(SnapshotProblem):
        find(store, "../../etc/passwd")


def test_a_budget_names_the_largest(tmp_path: Path, store: Store, state: Path) -> None:
    folder = repository(tmp_path / "p", {"a.py": "1", "big.txt": "x" * 5000, "small.txt": "y" * 500})
    with pytest.raises(TooLarge) as told:
        take(scene(folder, store, state, wanted=Wanted(budget=3000)), "one")
    assert told.value.largest[0] == (5000, "big.txt")
    assert "--budget" in told.value.hint
    assert listed(store) == []


@pytest.mark.parametrize("folder", ["/", "~", "~/.."])
def test_a_home_folder_is_no_project(folder: str, tmp_path: Path) -> None:
    home = tmp_path / "above" / "home"
    home.mkdir(parents=True)
    with pytest.raises(DSecError):
        refuse_root(folder.replace("~", str(home)), str(home))
    (home / "project").mkdir()
    refuse_root(str(home / "project"), str(home))


def test_packages_as_they_are_found(tmp_path: Path, store: Store, state: Path) -> None:
    folder = repository(tmp_path / "p", {"a.py": ""})
    source = repository(tmp_path / "src", {"lib.py": "1"})
    place = site(tmp_path / "site", {"plain": "1.0", "Odd_Name": "2.0"})
    info = place / "edit-1.0.dist-info"
    info.mkdir()
    (info / "RECORD").write_text("__editable__.edit.pth,sha256=x,1\n")
    (info / "direct_url.json").write_text(
        json.dumps({"url": f"file://{source}", "dir_info": {"editable": True}})
    )
    vcs = place / "vcs-1.0.dist-info"
    vcs.mkdir()
    url = "https://tok3n:x@host/r.git"
    (vcs / "direct_url.json").write_text(
        json.dumps({"url": url, "vcs_info": {"vcs": "git", "commit_id": "abc"}})
    )
    (place / "legacy.egg-info").write_text("Name: legacy\nVersion: 0.1\n\nText\n")
    (place / "gone.egg-link").write_text("/nowhere\n.")
    (place / "bad-1.0.dist-info").mkdir()
    (place / "bad-1.0.dist-info" / "direct_url.json").write_text("{")
    hidden = site(tmp_path / "below", {"plain": "9.9"})
    view = take(scene(folder, store, state, sites=[place, hidden]), "one")
    rows = {one["name"]: one for one in view.side("dependencies").data["packages"]}
    assert set(rows) == {"plain", "odd-name", "edit", "vcs", "legacy", "gone", "bad"}
    assert rows["plain"]["version"] == "1.0"
    assert rows["plain"]["record"]
    assert rows["edit"]["editable"]["commit"] == git(source, "rev-parse", "HEAD")
    assert rows["edit"]["editable"]["dirty"] is False
    assert rows["vcs"]["source"] == "https://host/r.git"
    assert rows["vcs"]["commit"] == "abc"
    section = view.manifest.section("dependencies")
    assert section is not None
    assert section.status == "partial"
    assert "the source of gone is not there" in section.reason
    assert dict(section.trees)["source-edit"] == rows["edit"]["editable"]["tree"]


def test_a_manifest_comes_back(tmp_path: Path, store: Store, state: Path) -> None:
    manifest = take(scene(repository(tmp_path / "p", {"a.py": ""}), store, state), "one").manifest
    assert parse(encode(manifest), "one") == manifest


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda text: text.replace(FORMAT, "dsec.snapshot/2"), "has the form"),
        (lambda text: text[:-1], "damaged"),
        (lambda text: text.replace('"status":"present"', '"status":"absent"', 1), "id does not belong"),
        (lambda text: text.replace('"kind":', '"kind":"x","kind":'), "twice"),
        (lambda text: text.replace('"created_ms":', '"created_ms":1.5,"x":'), "whole number"),
        (lambda text: text.replace('"created_ms":', '"created_ms":NaN,"x":'), "whole number"),
        (lambda text: "[]", "no object"),
        (lambda text: "", "damaged"),
        (lambda text: "[" * 100_000, "damaged"),
        (lambda text: text.replace('"job":""', '"job":"","more":1'), "unknown key"),
    ],
)
def test_a_manifest_that_is_not_ours(change, says: str, tmp_path: Path, store: Store, state: Path) -> None:
    manifest = take(scene(repository(tmp_path / "p", {"a.py": ""}), store, state), "one").manifest
    with pytest.raises(StoredFormError) as told:
        parse(change(encode(manifest).decode()).encode(), "one")
    assert says in str(told.value)


def test_a_section_of_a_later_version_is_kept_and_shown(tmp_path: Path, store: Store, state: Path) -> None:
    from dsec_cli.snapshot.manifest import Section, identity
    from dsec_cli.snapshot.shelf import View

    manifest = take(scene(repository(tmp_path / "p", {"a.py": ""}), store, state), "one").manifest
    later = (*manifest.sections, Section("quantum", "present", "", store.put_bytes(b'{"q":1}'), 7, (), ()))
    manifest = manifest._replace(sections=later, id=identity(later))
    view = View(parse(encode(manifest), "one"), store)
    assert "quantum" in render(view, paint=lambda text, _: text)
    assert document(view, 3)["sections"]["quantum"]["data"] == {"q": 1}


def test_the_page_names_what_takes_the_space(tmp_path: Path, store: Store, state: Path) -> None:
    folder = repository(tmp_path / "p", {"a.py": "1", "large.txt": "x" * 9000, ".gitignore": "out/\n"})
    write(folder, {"out/x": "1"})
    text = render(take(scene(folder, store, state), "one"), paint=lambda text, _: text, top=1)
    assert "8.8 KiB  large.txt" in text
    assert "out/  .gitignore" in text
    assert "a.py" not in text


def test_the_clock_may_go_backwards(
    tmp_path: Path, store: Store, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = repository(tmp_path / "p", {"a.py": ""})
    take(scene(folder, store, state), "one")
    monkeypatch.setattr("time.time_ns", lambda: 5)
    take(scene(folder, store, state), "two")
    assert {one.name for one in listed(store)} == {"one", "two"}


def test_nothing_of_the_run_is_there_without_one(tmp_path: Path, store: Store, state: Path) -> None:
    manifest = capture(scene(repository(tmp_path / "p", {"a.py": ""}), store, state), "one")
    section = manifest.section("run")
    assert section is not None
    assert (section.status, section.reason) == ("absent", "there is no run here")


def test_lines_of_a_package_that_is_installed_in_place(tmp_path: Path, store: Store, state: Path) -> None:
    from dsec_cli.snapshot.diff import compare

    folder = repository(tmp_path / "p", {"a.py": ""})
    source = repository(tmp_path / "src", {"lib.py": "def f():\n    return 1\n", "tests/t.py": "1\n"})
    info = tmp_path / "site" / "edit-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "direct_url.json").write_text(
        json.dumps({"url": f"file://{source}", "dir_info": {"editable": True}})
    )
    one = take(scene(folder, store, state, sites=[info.parent]), "one")
    write(source, {"tests/t.py": "2\n"})
    same = take(scene(folder, store, state, sites=[info.parent]), "same")
    assert compare(one, same) == ()  # no import reaches it
    write(source, {"lib.py": "def f():\n    return 2\n"})
    two = take(scene(folder, store, state, sites=[info.parent]), "two")
    found = {each.subject: each for each in compare(one, two)}
    assert set(found) == {"edit", "edit: lib.py"}
    assert found["edit: lib.py"].hunks[0].where == "f"


def test_the_page_has_every_section() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "reference" / "snapshots.md").read_text()
    assert [line.split("`")[1] for line in page.splitlines() if line.startswith("| `")] == [
        part.name for part in parts()
    ]


def test_a_snapshot_of_a_later_version_does_not_hide_the_others(
    tmp_path: Path, store: Store, state: Path
) -> None:
    from dsec_cli.snapshot.shelf import unread
    from dsec_cli.snapshot.views.listing import render as table

    one = take(scene(repository(tmp_path / "p", {"a.py": ""}), store, state), "one").manifest
    later = encode(one).replace(FORMAT.encode(), b"dsec.snapshot/9")
    store.put_record("later", later, trees=[], contents=[])
    store.put_record("notes", b"{}", trees=[], contents=[])
    assert [each.name for each in listed(store)] == ["one"]
    assert [name for name, _ in unread(store)] == ["later"]
    assert "unreadable: snapshot later has the form" in table(listed(store), unread(store), store.usage())
    with pytest.raises(StoredFormError):
        find(store, "later")
