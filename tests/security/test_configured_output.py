"""A repository's configuration: what it may have written, and where; a link with the name of a contract."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from .conftest import Commands

CONTRACT = "version: '1.0.0'\nname: x\n$(touch ~/RAN): 1\n"
OUTSIDE = [
    "../up.txt",
    "sub/../../up.txt",
    "{home}/up.txt",
    "{home}/clone/../up.txt",
    "linked.txt",
    "folder/up.txt",
    "folder/sub/../up.txt",
    "twice.txt",
]


@pytest.fixture
def hostile(clone: Path) -> Path:
    """The clone with a contract, and with links to a file and a folder of the user."""
    (clone / "dsandbox.yaml").write_text(CONTRACT)
    (clone.parent / "up.txt").write_text("mine\n")
    (clone / "sub").mkdir()
    (clone / "linked.txt").symlink_to("../up.txt")
    (clone / "twice.txt").symlink_to("linked.txt")
    (clone / "folder").symlink_to("..")
    return clone


@pytest.mark.parametrize("name", OUTSIDE)
@pytest.mark.parametrize(("file", "head"), [(".dsec.toml", "lint"), ("pyproject.toml", "tool.dsec.lint")])
def test_it_writes_nothing_outside(dsec: Commands, hostile: Path, name: str, file: str, head: str) -> None:
    named = name.format(home=hostile.parent)
    (hostile / file).write_text(f'[{head}]\noutput = ["text", "concise:{named}"]\n')
    ran = dsec("lint")
    assert ran.code in (2, 3)
    assert f"{file}:2: " in ran.err
    assert (hostile.parent / "up.txt").read_text() == "mine\n"


@pytest.mark.parametrize(
    "name",
    [
        ".bashrc",
        ".git/config",
        ".git/hooks/x.txt",
        "sub/.envrc",
        ".",
        "run.sh",
        "conftest.py",
        "Makefile",
        "a.pth",
    ],
)
def test_it_writes_no_file_that_something_runs_or_reads(dsec: Commands, hostile: Path, name: str) -> None:
    (hostile / ".dsec.toml").write_text(f'[lint]\noutput = ["concise:{name}"]\n')
    ran = dsec("lint")
    assert ran.code == 2
    assert ".dsec.toml:2: output" in ran.err
    assert not (hostile / name).is_file()


def test_a_pipe_or_a_folder_is_no_report(dsec: Commands, hostile: Path) -> None:
    os.mkfifo(hostile / "p.txt")
    (hostile / "d.txt").mkdir()
    for name in ("p.txt", "d.txt"):
        (hostile / ".dsec.toml").write_text(f'[lint]\noutput = ["concise:{name}"]\n')
        ran = dsec("lint")
        assert (ran.code, "it is no ordinary file" in ran.err) == (3, True)


def test_a_hard_link_keeps_its_content(dsec: Commands, hostile: Path) -> None:
    os.link(hostile.parent / "up.txt", hostile / "hard.txt")
    (hostile / ".dsec.toml").write_text('[lint]\noutput = ["concise:hard.txt"]\n')
    assert dsec("lint").code == 1
    assert (hostile.parent / "up.txt").read_text() == "mine\n"
    assert "DS101" in (hostile / "hard.txt").read_text()


def test_it_writes_within_its_folder(dsec: Commands, hostile: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (hostile / "sub" / "dsandbox.yaml").write_text(CONTRACT)
    (hostile / "sub" / "old.json").write_text("{}")
    (hostile / "sub" / "old.json").chmod(0o4640)
    (hostile / ".dsec.toml").write_text('[lint]\noutput = ["concise:sub/../new.txt", "json:sub/old.json"]\n')
    monkeypatch.chdir(hostile / "sub")
    assert dsec("lint").code == 1
    assert "DS101" in (hostile / "new.txt").read_text()
    assert "DS101" in (hostile / "sub" / "old.json").read_text()
    assert stat.S_IMODE((hostile / "sub" / "old.json").stat().st_mode) == 0o640
    assert sorted(path.name for path in (hostile / "sub").iterdir()) == ["dsandbox.yaml", "old.json"]


def test_the_command_line_may_write_anywhere(dsec: Commands, hostile: Path) -> None:
    (hostile / ".dsec.toml").write_text('[lint]\noutput = ["concise:../up.txt"]\n')
    assert dsec("lint", "-f", "concise", "-o", "../up.txt").code == 1
    assert "DS101" in (hostile.parent / "up.txt").read_text()


FORMATTED = "version: '1.0.0'\nname:   x\n"


@pytest.mark.parametrize("words", [("fmt",), ("fmt", "dsandbox.yaml"), ("lint", "--fix", "-q")])
def test_a_link_out_of_the_clone_is_not_written_through(
    dsec: Commands, clone: Path, words: tuple[str, ...]
) -> None:
    mine = clone.parent / "mine.yaml"
    mine.write_text("Version: '1.0.0'\nname:   x\n")
    (clone / "dsandbox.yaml").symlink_to("../mine.yaml")
    ran = dsec(*words)
    assert ran.code == 3
    assert f"leads out of its project, to {mine}" in ran.err
    assert mine.read_text() == "Version: '1.0.0'\nname:   x\n"


@pytest.mark.parametrize(
    "words", [("lint", "-o"), ("dag", "-o"), ("plan", "-o"), ("lint", "--write-baseline")]
)
def test_an_output_is_not_written_through_one_either(
    dsec: Commands, clone: Path, words: tuple[str, ...]
) -> None:
    mine = clone.parent / ".bashrc"
    mine.write_text("mine\n")
    (clone / "dsandbox.yaml").write_text(
        (Path(__file__).parents[2] / "examples/bad/dsandbox.yaml").read_text()
    )
    (clone / "report.txt").symlink_to("../.bashrc")
    ran = dsec(*words, "report.txt")
    assert mine.read_text() == "mine\n"
    assert ran.code in (1, 3)


def test_a_link_within_the_clone_stays_one(dsec: Commands, clone: Path) -> None:
    (clone / "jobs").mkdir()
    (clone / "base.yaml").write_text(FORMATTED)
    (clone / "jobs" / "dsandbox.yaml").symlink_to("../base.yaml")
    assert dsec("fmt", "jobs/dsandbox.yaml").code == 0
    assert (clone / "jobs" / "dsandbox.yaml").is_symlink()
    assert (clone / "base.yaml").read_text() != FORMATTED


def test_a_part_that_somebody_put_there_is_not_followed(dsec: Commands, clone: Path) -> None:
    mine = clone.parent / "mine.txt"
    mine.write_text("mine\n")
    (clone / "dsandbox.yaml").write_text(CONTRACT)
    for number in (os.getpid(),):
        (clone / f"out.txt.{number}.part").symlink_to(mine)
        (clone / f"base.json.{number}.tmp").symlink_to(mine)
    assert dsec("lint", "-o", "out.txt").code == 1
    assert mine.read_text() == "mine\n"
    assert "DS101" in (clone / "out.txt").read_text()
