"""Repositories as they come: what git says of them, and that nothing in them runs."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from dsec_cli.snapshot.git import GitProblem, dirty_diff, look
from dsec_cli.snapshot.listing import NO_CODE, Listing, list_code

from .kit import PLAIN, git, repository, write

ENVIRON = {**os.environ, **PLAIN}


def names(listing: Listing) -> set[bytes]:
    return {one.path for one in listing.taken}


def test_a_clean_repository(tmp_path: Path) -> None:
    folder = repository(tmp_path / "r", {"a.py": "1", "pkg/b.py": "2"})
    git(folder, "remote", "add", "origin", "https://h/x.git")
    found = look(str(folder), ENVIRON)
    assert found is not None
    assert found.commit == git(folder, "rev-parse", "HEAD")
    assert found.branch == "main"
    assert found.remotes == (("origin", "https://h/x.git"),)
    assert found.states == ()
    assert names(list_code(str(folder), ENVIRON)) == {b"a.py", b"pkg/b.py"}


def test_what_is_not_committed(tmp_path: Path) -> None:
    folder = repository(tmp_path / "r", {"a.py": "1", "b.py": "2", ".gitignore": "*.dat\n"})
    write(folder, {"a.py": "3", "new.py": "4", "sub/x.py": "5", "sub/x.dat": "6", "x.log": "7"})
    (folder / "b.py").unlink()
    listing = list_code(str(folder), ENVIRON)
    assert names(listing) == {b".gitignore", b"a.py", b"new.py", b"sub/x.py"}
    assert dict(listing.states) == {
        b"a.py": "modified", b"b.py": "deleted", b"new.py": "untracked", b"sub/x.py": "untracked",
    }  # fmt: skip
    why = {one.path: one.why for one in listing.left_out}
    assert why[b"sub/x.dat"] == ".gitignore"
    assert b"x.log" in why
    assert b"+3" in dirty_diff(str(folder), ENVIRON)


def test_a_folder_of_a_repository(tmp_path: Path) -> None:
    folder = repository(tmp_path / "r", {"top.py": "0", "job/a.py": "1", "job/b.py": "2"})
    write(folder, {"job/a.py": "3", "top.py": "9"})
    listing = list_code(str(folder / "job"), ENVIRON)
    assert names(listing) == {b"a.py", b"b.py"}
    assert listing.states == ((b"a.py", "modified"),)
    assert listing.repository is not None
    assert listing.repository.prefix == "job/"


def test_a_folder_that_its_repository_ignores(tmp_path: Path) -> None:
    folder = repository(tmp_path / "r", {"top.py": "0", ".gitignore": "job/\n*.tmp.py\n"})
    write(folder, {"job/a.py": "1", "job/.gitignore": "*.dat\n", "job/x.dat": "2"})
    listing = list_code(str(folder / "job"), ENVIRON)
    assert (listing.how, names(listing)) == ("rules", {b".gitignore", b"a.py"})
    assert names(list_code(str(folder), ENVIRON)) == {b".gitignore", b"top.py"}


def test_before_the_first_commit_and_off_a_branch(tmp_path: Path) -> None:
    folder = tmp_path / "r"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    write(folder, {"a.py": "1"})
    git(folder, "add", "a.py")
    first = list_code(str(folder), ENVIRON)
    assert first.repository is not None
    assert first.repository.commit == ""
    assert names(first) == {b"a.py"}
    assert b"+1" in dirty_diff(str(folder), ENVIRON, against_nothing=True)
    git(folder, "commit", "-q", "-m", "x")
    git(folder, "checkout", "-q", "--detach")
    found = look(str(folder), ENVIRON)
    assert found is not None
    assert found.branch == ""
    assert found.commit


def test_in_the_middle_of_a_merge(tmp_path: Path) -> None:
    folder = repository(tmp_path / "r", {"a.py": "1\n"})
    git(folder, "checkout", "-q", "-b", "other")
    write(folder, {"a.py": "2\n"})
    git(folder, "commit", "-qam", "two")
    git(folder, "checkout", "-q", "main")
    write(folder, {"a.py": "3\n"})
    git(folder, "commit", "-qam", "three")
    subprocess.run(["git", "merge", "other"], cwd=folder, env=ENVIRON, capture_output=True, check=False)
    listing = list_code(str(folder), ENVIRON)
    assert listing.repository is not None
    assert listing.repository.busy == "merge"
    assert dict(listing.states) == {b"a.py": "conflict"}
    assert names(listing) == {b"a.py"}


def test_worktree_and_submodule(tmp_path: Path) -> None:
    inner = repository(tmp_path / "inner", {"lib.py": "1"})
    folder = repository(tmp_path / "r", {"a.py": "1"})
    git(folder, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(inner), "ext")
    git(folder, "commit", "-qm", "with it")
    write(folder, {"ext/lib.py": "2"})
    listing = list_code(str(folder), ENVIRON)
    assert names(listing) == {b".gitmodules", b"a.py", b"ext/lib.py"}
    (under,) = listing.under
    assert (under.path, under.dirty, under.commit) == (b"ext", True, under.wanted)
    assert (b"ext/lib.py", "modified") in listing.states
    git(folder, "worktree", "add", "-q", str(tmp_path / "w"))
    other = list_code(str(tmp_path / "w"), ENVIRON)
    assert names(other) == {b".gitmodules", b"a.py"}
    assert other.reasons == ("the submodule ext is not checked out",)


def test_a_repository_that_lies_within(tmp_path: Path) -> None:
    folder = repository(tmp_path / "r", {"a.py": "1"})
    repository(folder / "vendored", {"v.py": "1"})
    listing = list_code(str(folder), ENVIRON)
    assert names(listing) == {b"a.py", b"vendored/v.py"}
    assert [one.path for one in listing.under] == [b"vendored"]


def test_outside_git_its_rules_count_all_the_same(tmp_path: Path) -> None:
    folder = tmp_path / "plain"
    write(
        folder,
        {"a.py": "1", ".gitignore": "*.dat\n/out/\n", "x.dat": "2", "out/y": "3", "sub/.gitignore": "z.py\n"},
    )
    write(
        folder,
        {"sub/z.py": "4", "sub/k.py": "5", "wandb/run": "6", "env/pyvenv.cfg": "", "env/lib/l.py": "7"},
    )
    listing = list_code(str(folder), ENVIRON)
    assert listing.how == "rules"
    assert names(listing) == {b"a.py", b".gitignore", b"sub/.gitignore", b"sub/k.py"}
    assert {one.path: one.why for one in listing.left_out} == {b"wandb/": NO_CODE, b"env/": NO_CODE}
    assert not (folder / ".git").exists()


def test_without_git_at_all(tmp_path: Path) -> None:
    folder = tmp_path / "plain"
    write(folder, {"a.py": "1", ".gitignore": "*.dat\n", "x.dat": "2", "wandb/run": "6"})
    listing = list_code(str(folder), {**ENVIRON, "PATH": str(tmp_path)})
    assert listing.how == "walk"
    assert names(listing) == {b"a.py", b".gitignore", b"x.dat"}
    assert listing.reasons == ("git is not installed: .gitignore files were not obeyed",)


def test_names_that_are_no_text_and_files_that_are_none(tmp_path: Path) -> None:
    folder = repository(tmp_path / "r", {"a.py": "1"})
    odd = os.fsencode(folder) + b"/\xff\n\x1b[31m.py"
    with open(odd, "wb") as file:
        file.write(b"1")
    os.mkfifo(folder / "pipe")
    os.symlink("/etc/passwd", folder / "link")
    listing = list_code(str(folder), ENVIRON)
    assert names(listing) == {b"a.py", b"\xff\n\x1b[31m.py", b"link"}
    assert {one.path: one.link for one in listing.taken}[b"link"]


def test_a_large_file_that_git_does_not_know(tmp_path: Path) -> None:
    folder = repository(tmp_path / "r", {"a.py": "1"})
    with open(folder / "model.bin", "wb") as file:
        file.truncate(33 << 20)
    listing = list_code(str(folder), ENVIRON)
    assert names(listing) == {b"a.py"}
    assert [one.why for one in listing.left_out] == ["not tracked, and larger than 32 MiB"]


HOSTILE = """
[core]
	fsmonitor = {script}
	hooksPath = {hooks}
	pager = {script}
[diff]
	external = {script}
[diff "x"]
	textconv = {script}
	command = {script}
[filter "x"]
	clean = {script}
	smudge = {script}
	process = {script}
	required = true
"""


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """A repository whose settings and hooks would run a script that leaves a mark."""
    folder = repository(tmp_path / "r", {"a.py": "1\n", "b.txt": "1\n"})
    script, hooks = tmp_path / "evil", tmp_path / "hooks"
    script.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\ncat 2>/dev/null\n")
    script.chmod(0o755)
    hooks.mkdir()
    for name in ("post-index-change", "pre-commit", "fsmonitor-watchman"):
        (hooks / name).write_text(script.read_text())
        (hooks / name).chmod(0o755)
    (folder / ".gitattributes").write_text("* diff=x filter=x\n")
    with open(folder / ".git" / "config", "a") as file:
        file.write(HOSTILE.format(script=script, hooks=hooks))
    write(folder, {"a.py": "2\n", "b.txt": "3\n"})
    return folder


def test_a_hostile_repository_runs_nothing(hostile: Path, tmp_path: Path) -> None:
    assert names(list_code(str(hostile), ENVIRON)) == {b".gitattributes", b"a.py", b"b.txt"}
    assert b"+2" in dirty_diff(str(hostile), ENVIRON)
    assert not (tmp_path / "ran").exists()


def test_and_it_would_have(hostile: Path, tmp_path: Path) -> None:
    subprocess.run(["git", "status"], cwd=hostile, env=ENVIRON, capture_output=True, check=False)
    assert (tmp_path / "ran").exists()


def test_a_filter_that_cannot_be_switched_off_is_refused(tmp_path: Path) -> None:
    folder = repository(tmp_path / "r", {"a.py": "1"})
    git(folder, "config", "filter.a=b.clean", "touch ran")
    listing = list_code(str(folder), ENVIRON)
    assert "odd name" in listing.reasons[0]
    assert names(listing) == {b"a.py"}


def test_a_work_tree_elsewhere_is_refused(tmp_path: Path) -> None:
    folder = repository(tmp_path / "r", {"a.py": "1"})
    (tmp_path / "other").mkdir()
    git(folder, "config", "core.worktree", str(tmp_path / "other"))
    with pytest.raises(GitProblem):
        look(str(folder), ENVIRON)
    listing = list_code(str(folder), ENVIRON)
    assert names(listing) == {b"a.py"}
    assert listing.reasons


def test_a_repository_of_somebody_else(tmp_path: Path) -> None:
    folder = repository(tmp_path / "r", {"a.py": "1"})
    listing = list_code(str(folder), {**ENVIRON, "GIT_TEST_ASSUME_DIFFERENT_OWNER": "1"})
    assert names(listing) == {b"a.py"}  # that variable is dropped like all of git's
    if os.geteuid() == 0:
        os.chown(folder, 12345, 12345)
        os.chown(folder / ".git", 12345, 12345)
        listing = list_code(str(folder), ENVIRON)
        assert names(listing) == {b"a.py"}
        assert "ownership" in listing.reasons[0]


def test_git_is_left_as_it_was(tmp_path: Path) -> None:
    folder = repository(tmp_path / "r", {"a.py": "1"})
    os.utime(folder / "a.py")
    before = {path: path.stat().st_mtime_ns for path in (folder / ".git").rglob("*")}
    list_code(str(folder), ENVIRON)
    assert {path: path.stat().st_mtime_ns for path in (folder / ".git").rglob("*")} == before
