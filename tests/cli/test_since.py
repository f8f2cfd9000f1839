"""`--since REF`: only what is new, or what was touched, in a real git repository."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import ROOT, Ran, command

pytestmark = pytest.mark.skipif(not shutil.which("git"), reason="git is not installed")
Ds = Callable[..., Ran]
BAD = (ROOT / "examples" / "bad" / "dsandbox.yaml").read_text("utf-8")


def git(folder: Path, *words: str) -> None:
    environment = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    person = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@example.org"}
    person |= {"GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@example.org"}
    config = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    subprocess.run(
        ["git", *words], cwd=folder, check=True, capture_output=True, env=environment | person | config
    )


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository whose only commit has a contract with six findings."""
    (tmp_path / "dsandbox.yaml").write_text(BAD)
    git(tmp_path, "init", "-q", "-b", "main")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "first")
    return tmp_path


def codes(ran: Ran) -> list[str]:
    assert ran.returncode in (0, 1), ran.stderr
    return [one["code"] for one in json.loads(ran.stdout)["diagnostics"]]


def since(ds: Ds, *words: str, ref: str = "HEAD") -> list[str]:
    return codes(ds("ds-contract-lint", "--since", ref, "-f", "json", *words))


def test_an_unchanged_file_has_nothing_new(ds: Ds, repository: Path) -> None:
    ran = ds("ds-contract-lint", "--since", "main")
    assert ran.returncode == 0
    assert ran.stdout == (
        b"note: 6 findings are older than main and not shown\n1 file checked, nothing found\n"
    )


def test_what_is_new_is_shown(ds: Ds, repository: Path) -> None:
    (repository / "dsandbox.yaml").write_text("vresion: 1\n" + BAD)
    assert since(ds) == ["DS101"]


def test_moved_and_reformatted_lines_are_not_new(ds: Ds, repository: Path) -> None:
    lines = BAD.splitlines(keepends=True)
    start = next(at for at, line in enumerate(lines) if line.startswith("elasticity:"))
    end = next(at for at in range(start + 1, len(lines)) if not lines[at].startswith((" ", "#", "\n")))
    moved = lines[:start] + lines[end:] + lines[start:end]
    text = "# a new head\n\n" + "".join(moved).replace("max_cuont: 4", "max_cuont:    4")
    (repository / "dsandbox.yaml").write_text(text)
    assert since(ds) == []


def test_a_touched_line_is_shown_again(ds: Ds, repository: Path) -> None:
    (repository / "dsandbox.yaml").write_text(BAD.replace("max_cuont: 4", "max_cuont: 5"))
    assert since(ds) == ["DS101"]


def test_a_finding_that_a_change_elsewhere_brings_is_new(ds: Ds, repository: Path) -> None:
    good = (ROOT / "examples" / "hello" / "dsandbox.yaml").read_text("utf-8")
    (repository / "other.yaml").write_text(good)
    git(repository, "add", ".")
    git(repository, "commit", "-q", "-m", "second")
    assert "needs: [" in good
    needed = good.partition("needs: [")[2].split("]")[0].split(",")[0]
    (repository / "other.yaml").write_text(
        good.replace(f"id: {needed},", "id: renamed,").replace(f"id: {needed}\n", "id: renamed\n")
    )
    assert "DS501" in since(ds, "other.yaml")


def test_a_new_file_is_new_as_a_whole(ds: Ds, repository: Path) -> None:
    (repository / "new.yaml").write_text(BAD)
    assert len(since(ds, "new.yaml")) == 6


def test_a_renamed_file_is_not_new(ds: Ds, repository: Path) -> None:
    git(repository, "mv", "dsandbox.yaml", "renamed.yaml")
    (repository / "renamed.yaml").write_text(BAD + "vresion: 1\n")
    assert since(ds, "renamed.yaml") == ["DS101"]


def test_a_suppression_that_was_removed_shows_its_finding(ds: Ds, repository: Path) -> None:
    (repository / "dsandbox.yaml").write_text("# dsec: ignore-file[DS503] later\n" + BAD)
    git(repository, "commit", "-q", "-am", "second")
    (repository / "dsandbox.yaml").write_text("\n" + BAD)
    assert since(ds) == ["DS503"]


def test_standard_input_is_compared_under_its_name(ds: Ds, repository: Path) -> None:
    text = (BAD + "vresion: 1\n").encode()
    words = ("--since", "HEAD", "-f", "json", "-", "--stdin-name", "dsandbox.yaml")
    assert codes(ds("ds-contract-lint", *words, stdin=text)) == ["DS101"]


def test_it_works_below_the_top_and_for_odd_names(ds: Ds, repository: Path) -> None:
    sub = repository / "a b" / "合"
    sub.mkdir(parents=True)
    (sub / "x\ny.yaml").write_text(BAD)
    git(repository, "add", ".")
    git(repository, "commit", "-q", "-m", "second")
    (sub / "x\ny.yaml").write_text(BAD + "vresion: 1\n")
    words = command("ds-contract-lint", "--since", "HEAD", "-f", "json", "x\ny.yaml")
    done = subprocess.run(words, cwd=sub, capture_output=True, timeout=60)
    assert codes(done) == ["DS101"]


@pytest.mark.parametrize("ref", ["no-such", "--all", "-x", "HEAD^{tree}", "HEAD; true"])
def test_a_commit_that_git_does_not_know(ds: Ds, repository: Path, ref: str) -> None:
    ran = ds("ds-contract-lint", f"--since={ref}")
    assert (ran.returncode, ran.stdout) == (2, b"")
    assert ran.stderr.count(b"\n") == 1
    assert b"git knows no commit" in ran.stderr
    assert b"(hint: " in ran.stderr


def test_no_repository(ds: Ds, tmp_path: Path) -> None:
    (tmp_path / "dsandbox.yaml").write_text(BAD)
    ran = ds("ds-contract-lint", "--since", "HEAD", GIT_CEILING_DIRECTORIES=str(tmp_path.parent))
    assert (ran.returncode, ran.stdout) == (3, b"")
    assert ran.stderr.count(b"\n") == 1
    assert b"not a git repository" in ran.stderr


def test_no_git(ds: Ds, repository: Path) -> None:
    ran = ds("ds-contract-lint", "--since", "HEAD", PATH=str(repository))
    assert (ran.returncode, ran.stdout) == (3, b"")
    assert b"git is not installed" in ran.stderr


def test_a_file_of_another_place(ds: Ds, repository: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    other = tmp_path_factory.mktemp("other") / "x.yaml"
    other.write_text(BAD)
    ran = ds("ds-contract-lint", "--since", "HEAD", str(other))
    assert ran.returncode == 3
    assert b"is not in the repository" in ran.stderr


def test_with_a_baseline(ds: Ds, repository: Path) -> None:
    ds("ds-contract-lint", "--write-baseline", "base.json")
    (repository / "dsandbox.yaml").write_text(BAD + "vresion: 1\n")
    ran = ds("ds-contract-lint", "--since", "HEAD", "--baseline", "base.json", "-f", "json")
    document = json.loads(ran.stdout)
    assert document["summary"] == {"error": 1, "warning": 0, "info": 0, "silenced": 0}
    assert not [note for note in document["notes"] if "no longer" in note]


@pytest.mark.battery
def test_a_submodule_is_compared_with_the_commit_that_was_recorded(
    ds: Ds, repository: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    inner = tmp_path_factory.mktemp("inner")
    (inner / "deep").mkdir()
    (inner / "deep" / "c.yaml").write_text(BAD)
    git(inner, "init", "-q", "-b", "main")
    git(inner, "add", ".")
    git(inner, "commit", "-q", "-m", "first")
    git(
        repository,
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "--quiet",
        "add",
        str(inner),
        "jobs/s u b",
    )
    git(repository, "commit", "-q", "-m", "with it")
    file = repository / "jobs" / "s u b" / "deep" / "c.yaml"
    assert since(ds, str(file)) == []
    file.write_text("vresion: 1\n" + BAD)
    assert since(ds, str(file)) == ["DS101"]
    git(file.parent, "commit", "-q", "-a", "-m", "second")  # in the submodule: the outer commit does not know
    assert since(ds, str(file)) == ["DS101"]
    (file.parent / "new.yaml").write_text(BAD)
    assert len(since(ds, str(file.parent / "new.yaml"))) == 6


def test_a_submodule_without_its_old_commit_is_said(
    ds: Ds, repository: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    inner = repository / "sub"
    inner.mkdir()
    (inner / "c.yaml").write_text(BAD)
    git(inner, "init", "-q", "-b", "main")
    git(inner, "add", ".")
    git(inner, "commit", "-q", "-m", "first")
    git(repository, "add", "sub")  # an entry of a submodule, without a file that says where it comes from
    git(repository, "commit", "-q", "-m", "with it")
    shutil.rmtree(inner / ".git")
    git(inner, "init", "-q", "-b", "main")
    git(inner, "add", ".")
    git(inner, "commit", "-q", "-m", "another first", "--date", "2001-01-01T00:00:00")
    (inner / "c.yaml").write_text("# x\n" + BAD)
    ran = ds("ds-contract-lint", "--since", "main", "sub/c.yaml")
    assert ran.returncode == 3
    assert b"the submodule sub has not the commit of then, " in ran.stderr
    assert b"(hint: fetch it: git -C " in ran.stderr
