"""Taking in goes down by open folders: nothing that is put in a folder's place meanwhile leads outside."""

from __future__ import annotations

import os
import resource

import pytest

from dsec.store import descent, looking, open_store, treewalk


@pytest.fixture
def outside(tmp_path):
    """A folder that nobody asked for."""
    there = tmp_path / "outside"
    there.mkdir()
    (there / "secret.txt").write_bytes(b"not yours")
    return there


def deep(folder, depth):
    """Folders in each other, each with a file; the innermost."""
    for number in range(depth):
        folder = folder / "d"
        folder.mkdir()
        (folder / "file").write_bytes(b"%d" % number)
    return folder


def at_listing_of(monkeypatch, path, act):
    """Do something when the folder at this path has just been listed."""
    real = looking.FolderLook.listing

    def spied(self, found, fd):
        listing = real(self, found, fd)
        if found == path:
            act()
        return listing

    monkeypatch.setattr(looking.FolderLook, "listing", spied)


def test_a_folder_that_becomes_a_link_is_not_followed(place, tmp_path, outside, monkeypatch):
    project = tmp_path / "project"
    project.mkdir()
    deep(project, 1)

    def swap():
        os.rename(project / "d", tmp_path / "away")
        (project / "d").symlink_to(outside)

    at_listing_of(monkeypatch, b"", swap)
    with open_store(str(place)) as store:
        taken = store.put_folder(os.fsencode(project))
        assert [one.path for one in taken.unread] == [b"d"]
        assert [(one.path, one.kind) for one in store.tree(taken.id)] == [(b"d", "dir")]


def test_a_folder_swapped_while_it_is_taken_in_stays_the_one_that_was_opened(
    place, tmp_path, outside, monkeypatch
):
    project = tmp_path / "project"
    project.mkdir()
    deep(project, 2)

    def swap():
        os.rename(project / "d", tmp_path / "away")
        (project / "d").symlink_to(outside)

    at_listing_of(monkeypatch, b"d", swap)
    with open_store(str(place)) as store:
        taken = store.put_folder(os.fsencode(project))
        paths = [one.path for one in store.tree(taken.id)]
    assert taken.unread == ()
    assert paths == [b"d", b"d/d", b"d/d/file", b"d/file"]


def test_deep_trees_need_few_open_files(place, tmp_path):
    project = tmp_path / "project"
    project.mkdir()
    deep(project, 4 * descent.HELD)
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    used = len(os.listdir("/proc/self/fd"))
    resource.setrlimit(resource.RLIMIT_NOFILE, (used + descent.HELD + 12, before[1]))
    try:
        with open_store(str(place)) as store:
            taken = store.put_folder(os.fsencode(project))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    assert (taken.files, taken.folders, taken.unread) == (4 * descent.HELD, 4 * descent.HELD, ())
    assert len(os.listdir("/proc/self/fd")) <= used


def deeper_than_held(tmp_path):
    """A project, and the path of its deepest folder."""
    project = tmp_path / "project"
    project.mkdir()
    deep(project, descent.HELD + 8)
    return project, b"/".join([b"d"] * (descent.HELD + 8))


def test_a_closed_parent_is_found_again_by_its_name_when_what_was_in_it_moved_away(
    place, tmp_path, outside, monkeypatch
):
    """The `..` of a folder in it is another one then: what is there is not taken for what it was."""
    project, path = deeper_than_held(tmp_path)
    at_listing_of(monkeypatch, path, lambda: os.rename(project / "d" / "d", outside / "d"))
    with open_store(str(place)) as store:
        taken = store.put_folder(os.fsencode(project))
        kept = {one.path: b"".join(store.content(one)) for one in store.tree(taken.id) if one.kind == "file"}
    assert taken.unread == ()
    assert kept[b"d/file"] == b"0"
    assert kept[b"d/d/file"] == b"1"
    assert not any(b"secret" in one for one in kept)


def test_a_closed_parent_that_is_another_folder_meanwhile_is_said_to_have_changed(
    place, tmp_path, outside, monkeypatch
):
    """Neither the `..` of what was in it nor its name leads to it."""
    project, path = deeper_than_held(tmp_path)

    def swap():
        os.rename(project / "d" / "d", outside / "d")
        os.rename(project / "d", tmp_path / "away")
        (project / "d").mkdir()
        (project / "d" / "file").write_bytes(b"another")

    at_listing_of(monkeypatch, path, swap)
    with open_store(str(place)) as store:
        taken = store.put_folder(os.fsencode(project))
        kept = {one.path for one in store.tree(taken.id)}
    assert {(one.path, one.reason) for one in taken.unread} == {(b"d/file", "changed while it was read")}
    assert b"d/d/file" in kept
    assert b"d/file" not in kept
    assert not any(b"secret" in one for one in kept)


def test_what_is_deeper_than_can_be_read_back_is_left_out_and_said(place, tmp_path, monkeypatch):
    project = tmp_path / "project"
    project.mkdir()
    deep(project, 12)
    monkeypatch.setattr("dsec.store.intake.DEEPEST", 10)
    monkeypatch.setattr(treewalk, "DEEPEST", 10)
    with open_store(str(place)) as store:
        taken = store.put_folder(os.fsencode(project))
        entries = list(store.tree(taken.id))
    assert [one.path for one in taken.unread] == [b"/".join([b"d"] * 8)]
    assert len(entries) == 9 + 8
