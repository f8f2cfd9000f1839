"""State that somebody else made, or can change, in a folder that is found by looking."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from dsec import ownership

from .conftest import CONTRACT, Commands

NOBODY = 65534
LOOKING = [
    ("resume",), ("cancel",), ("status",), ("logs",), ("report",), ("top", "--once"),
    ("resume", "evil"), ("cancel", "evil"), ("status", "evil"), ("logs", "evil"), ("report", "evil"),
    ("dag", "--job-id", "evil"), ("snapshot", "list"), ("snapshot", "create"),
    ("run", "dsandbox.yaml"), ("doctor",),
]  # fmt: skip


def given_away(path: Path) -> None:
    """The folder and all in it belong to somebody else from now on."""
    for folder, _, names in os.walk(path):
        for name in (".", *names):
            os.chown(os.path.join(folder, name), NOBODY, NOBODY)


needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")


@needs_root
@pytest.mark.parametrize("words", LOOKING, ids=" ".join)
def test_what_somebody_else_planted_is_refused(
    dsec: Commands, shared: Path, run: Path, words: tuple[str, ...]
) -> None:
    given_away(shared / ".dsec")
    if words[0] in ("run", "doctor"):
        os.chdir(shared)
    ran = dsec(*words)
    assert (ran.code, "not taken" in ran.err, "belongs to nobody" in ran.err) == (3, True, True), ran
    assert f"dsctl config set safe-directory {shared}" in ran.err
    assert not (shared / "ran-as").exists()


@needs_root
def test_a_plan_takes_nothing_of_what_somebody_else_planted(dsec: Commands, shared: Path, run: Path) -> None:
    os.chdir(shared)
    (shared / ".dsec" / "durations.json").unlink(missing_ok=True)
    clean = dsec("plan", "dsandbox.yaml", "--json")
    (shared / ".dsec" / "durations.json").write_text('{"version": 3, "contracts": 5}')
    given_away(shared / ".dsec")
    ran = dsec("plan", "dsandbox.yaml", "--json")
    assert (ran.code, ran.out) == (0, clean.out)
    assert "belongs to nobody" in ran.err
    assert f"dsctl config set safe-directory {shared}" in ran.err


def opened(shared: Path) -> None:
    (shared / ".dsec").chmod(0o777)


def opened_runs(shared: Path) -> None:
    (shared / ".dsec" / "runs").chmod(0o757)


def opened_plan(shared: Path) -> None:
    (shared / ".dsec" / "runs" / "evil" / "plan.json").chmod(0o666)


def opened_folder_above(shared: Path) -> None:
    shared.chmod(0o777)


def given_folder_above(shared: Path) -> None:
    os.chown(shared, NOBODY, NOBODY)


def linked_to_an_open_one(shared: Path) -> None:
    (shared / ".dsec").rename(shared / "else")
    (shared / "else").chmod(0o777)
    (shared / ".dsec").symlink_to("else")


def given_journal(shared: Path) -> None:
    os.chown(shared / ".dsec" / "runs" / "evil" / "journal", NOBODY, NOBODY)


def given_run(shared: Path) -> None:
    given_away(shared / ".dsec" / "runs" / "evil")


WAYS = [opened, opened_runs, opened_plan, opened_folder_above, linked_to_an_open_one]
WAYS_OF_ROOT = [given_folder_above, given_journal, given_run]


@pytest.mark.parametrize("way", [*WAYS, *(pytest.param(one, marks=needs_root) for one in WAYS_OF_ROOT)])
def test_what_somebody_else_can_change_is_refused(
    dsec: Commands, shared: Path, run: Path, way: Callable[[Path], None]
) -> None:
    way(shared)
    for words in (("resume",), ("status",)):
        ran = dsec(*words)
        assert (ran.code, "not taken" in ran.err) == (3, True), ran
    assert not (shared / "ran-as").exists()


def test_our_own_is_taken(dsec: Commands, shared: Path, run: Path) -> None:
    assert dsec("status").code == 0
    assert dsec("resume").code == 1
    assert (shared / "ran-as").exists()


@pytest.mark.parametrize("how", ["variable", "setting", "everything"])
def test_it_may_be_allowed(
    dsec: Commands, shared: Path, run: Path, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened(shared)
    if how == "setting":
        assert dsec("config", "set", "safe-directory", f"/nowhere:{shared}").code == 0
    else:
        monkeypatch.setenv(ownership.ALLOWED, "*" if how == "everything" else f"/nowhere:{shared}/")
    assert dsec("status").code == 0
    monkeypatch.setenv(ownership.ALLOWED, f"{shared}/mine:{shared}x")
    assert dsec("status").code == 3


def test_a_configuration_cannot_allow_it(dsec: Commands, shared: Path, run: Path) -> None:
    opened(shared)
    (shared / ".dsec.toml").write_text('[lint]\nsafe-directory = "/"\n')
    assert dsec("status").code == 3


def test_a_run_that_was_sent_is_looked_at_but_not_carried_out(
    dsec: Commands, shared: Path, run: Path
) -> None:
    sent = shutil.copytree(run, shared / "sent")
    sent.chmod(0o777)
    assert dsec("status", str(sent)).code == 0
    assert dsec("report", str(sent)).code == 0
    assert dsec("resume", str(sent)).code == 3
    assert dsec("cancel", str(sent)).code == 3


@needs_root
def test_a_planted_configuration_is_not_read(dsec: Commands, shared: Path) -> None:
    (shared / "mine" / "dsandbox.yaml").write_text(CONTRACT)
    (shared / ".dsec.toml").write_text('[lint]\nignore = ["DS"]\n')
    assert dsec("lint", "--show-config").code == 0
    os.chown(shared / ".dsec.toml", NOBODY, NOBODY)
    ran = dsec("lint")
    assert (ran.code, ".dsec.toml belongs to nobody" in ran.err) == (3, True), ran
    assert dsec("lint", "--isolated").code in (0, 1)
    # A checkout that another user made, as CI systems do, configures its own check.
    os.chown(shared / "mine", NOBODY, NOBODY)
    assert dsec("lint", "--show-config").code == 0


@needs_root
def test_a_project_is_not_found_in_a_shared_folder(dsec: Commands, shared: Path) -> None:
    (shared / "dsandbox.yaml").write_text(CONTRACT)
    os.chown(shared / "dsandbox.yaml", NOBODY, NOBODY)
    ran = dsec("snapshot", "create")
    assert (ran.code, "not taken" in ran.err) == (3, True), ran


@needs_root
def test_who_became_root_by_sudo_keeps_his_runs(
    dsec: Commands, shared: Path, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given_away(shared / ".dsec")
    monkeypatch.setenv("SUDO_UID", str(NOBODY))
    assert dsec("status").code == 0


def test_a_group_of_its_own_is_no_group_of_others(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    (tmp_path / "x").chmod(0o775)
    if os.geteuid() == 0:
        assert ownership.foreign(str(tmp_path / "x"), {}) == ""
        os.chown(tmp_path / "x", 0, 100)
        (tmp_path / "x").chmod(0o775)
        assert "a group of others" in ownership.foreign(str(tmp_path / "x"), {})
