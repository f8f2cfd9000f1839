"""What people meet in their first minutes: other kinds of checkouts, read-only places, nothing to run."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from .kit import git, repository, write
from .shell import Shell


def test_git_does_not_see_our_own_folder(shell: Shell) -> None:
    """And the same state has the same id, though there is more in that folder each time."""
    (shell.project / ".gitignore").write_text("")
    first = shell.ok("snapshot create --name a").splitlines()[-1].split()[1]
    second = shell.ok("snapshot create --name b").splitlines()[-1].split()[1]
    assert first == second
    git(shell.project, "add", "-A")
    assert ".dsec" not in git(shell.project, "status", "--short")
    (shell.project / ".dsec" / ".gitignore").write_text("# mine\n")
    shell.ok("snapshot create --name c")
    assert (shell.project / ".dsec" / ".gitignore").read_text() == "# mine\n"


def test_a_folder_of_ours_elsewhere_is_left_alone(shell: Shell, tmp_path: Path) -> None:
    shell.ok("snapshot create --name a", DSEC_HOME=str(tmp_path / "mine"))
    assert not (tmp_path / "mine" / ".gitignore").exists()


def test_nothing_to_run(shell: Shell) -> None:
    (shell.project / "dsandbox.yaml").unlink()
    shell.ok("snapshot create --name v1")
    text = shell.ok("snapshot run v1", 3)
    assert "snapshot v1 has nothing to run: no contract, and no plan" in text
    assert list((shell.project / ".dsec" / "reruns").iterdir()) == []


@pytest.fixture
def rebasing(shell: Shell) -> None:
    git(shell.project, "checkout", "-qb", "other")
    write(shell.project, {"train.sh": "one\n"})
    git(shell.project, "commit", "-qam", "one")
    git(shell.project, "checkout", "-q", "main")
    write(shell.project, {"train.sh": "two\n"})
    git(shell.project, "commit", "-qam", "two")
    with pytest.raises(Exception, match="rebase"):
        git(shell.project, "rebase", "other")


@pytest.mark.battery
@pytest.mark.usefixtures("rebasing")
def test_in_the_middle_of_a_rebase(shell: Shell) -> None:
    shell.ok("snapshot create --name v1")
    page = shell.ok("snapshot inspect v1 --json")
    assert '"busy": "rebase"' in page
    assert '"conflict"' in page
    assert "nothing differs" in shell.ok("snapshot diff v1 .")
    shell.ok("snapshot restore v1 --to out")
    assert "<<<<<<<" in (shell.project / "out" / "train.sh").read_text()


@pytest.mark.battery
def test_shallow_clones_and_worktrees(shell: Shell, tmp_path: Path) -> None:
    origin = shell.project
    git(origin, "commit", "-q", "--allow-empty", "-m", "second")
    git(tmp_path, "clone", "-q", "--depth", "1", origin.as_uri(), "shallow")
    git(origin, "worktree", "add", "-q", str(tmp_path / "tree"))
    for name in ("shallow", "tree"):
        shell.project = tmp_path / name
        text = shell.ok(f"snapshot create --name {name}")
        assert "clean" in text
        assert "partial" not in text
    shell.project = tmp_path / "shallow"
    assert '"shallow": true' in shell.ok("snapshot inspect shallow --json")


def test_a_submodule_that_is_not_checked_out(shell: Shell, tmp_path: Path) -> None:
    inner = repository(tmp_path / "inner", {"x.py": ""})
    git(shell.project, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(inner), "sub")
    git(shell.project, "commit", "-qam", "sub")
    git(tmp_path, "clone", "-q", str(shell.project), "clone")
    shell.project = tmp_path / "clone"
    assert "code          partial: the submodule sub is not checked out" in shell.ok(
        "snapshot create --name v1"
    )


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_store_that_may_only_be_read(shell: Shell, tmp_path: Path) -> None:
    shell.ok("snapshot create --name v1")
    folders = [shell.project, *(path for path in (shell.project / ".dsec").rglob("*") if path.is_dir())]
    folders.append(shell.project / ".dsec")
    for one in folders:
        one.chmod(0o500)
    try:
        for line in ("list", "inspect v1", "verify", "diff v1 v1", f"restore v1 --to {tmp_path}/out"):
            shell.ok(f"snapshot {line}")
        shell.ok(f"snapshot export v1 -o {tmp_path}/v1.dsnap")
        shell.ok("snapshot diff v1 .", 0)
        for line in ("create --name v2", f"import {tmp_path}/v1.dsnap --name v3", "run v1"):
            text = shell.ok(f"snapshot {line}", 3)
            assert "Permission denied" in text
    finally:
        for one in reversed(folders):
            one.chmod(0o700)


@pytest.mark.battery
def test_as_wide_as_the_terminal_and_piped(shell: Shell) -> None:
    """No colour in a pipe, no line that breaks up a table of 80 columns, no escape sequences of names."""
    odd = shell.project / "odd\x1b[31m name\n.py"
    odd.write_text("x = 1\n")
    shell.ok("snapshot create --name v1")
    for line in ("list", "inspect v1 --files", "diff v1 .", "verify"):
        text = shell.ok(f"snapshot {line}", FORCE_COLOR="")
        assert "\x1b" not in text
    assert max(map(len, shell.ok("snapshot list").splitlines())) <= 80
    odd.unlink()
    text = shell.ok("snapshot diff v1 .", 1)
    assert "\x1b" not in text
    shutil.rmtree(shell.project / ".dsec")


def test_what_was_restored_is_no_part_of_the_project(shell: Shell) -> None:
    shell.ok("snapshot create --name v1")
    assert "/.dsec/restored/v1: 3 files" in shell.ok("snapshot restore v1")
    assert "nothing differs" in shell.ok("snapshot diff v1 .")
    assert "note: it lies within the project" in shell.ok("snapshot restore v1 --to old")
    shell.ok("snapshot diff v1 .", 1)


def test_a_plan_of_an_earlier_contract_is_carried_out_with_a_warning(shell: Shell) -> None:
    shell.ok("plan dsandbox.yaml -o plan.json")
    assert "has changed" not in shell.ok("run plan.json -q --job-id one")
    with (shell.project / "dsandbox.yaml").open("a") as file:
        file.write("# a remark\n")
    told = shell.ok("run plan.json -q --job-id two")
    assert "dsandbox.yaml has changed since plan.json was made" in told
    assert "dsec plan dsandbox.yaml -o plan.json" in told
