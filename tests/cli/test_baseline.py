"""Baselines: what was there before does not count, wherever it has moved, and what is new does."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsec_cli.commands import baselining
from dsec_cli.report.fingerprint import fingerprints

from .conftest import ROOT, Ran, command
from .reports import CLEAN, TEXT, everything, found

Ds = Callable[..., Ran]
BAD = (ROOT / "examples" / "bad" / "dsandbox.yaml").read_text("utf-8")


@pytest.fixture
def known(ds: Ds, tmp_path: Path) -> Path:
    """A folder with findings that a baseline knows."""
    (tmp_path / "dsandbox.yaml").write_text(BAD)
    ran = ds("dsec", "lint", "--write-baseline", "base.json")
    assert (ran.returncode, ran.stderr) == (0, b"")
    assert ran.stdout == b"base.json: 6 findings, 6 of them new, 0 dropped\n"
    return tmp_path


def lint(ds: Ds, *words: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(
        ds("ds-contract-lint", "--baseline", "base.json", "-f", "json", *words).stdout
    )
    return document


def entries(folder: Path) -> list[dict[str, str]]:
    whole = json.loads((folder / "base.json").read_text())
    assert whole["format"] == "dsec.baseline/1"
    found_entries: list[dict[str, str]] = whole["findings"]
    return found_entries


def test_what_is_known_does_not_count_and_stays(ds: Ds, known: Path) -> None:
    ran = ds("ds-contract-lint", "--baseline", "base.json")
    assert (ran.returncode, ran.stdout) == (0, b"1 file checked, nothing found, 6 silenced\n")
    document = lint(ds)
    assert [one["silenced"] for one in document["diagnostics"]] == [{"by": "baseline", "reason": ""}] * 6


def test_entries_say_what_they_are(known: Path) -> None:
    first = entries(known)[0]
    assert list(first) == ["fingerprint", "code", "file", "path", "message", "reason"]
    assert (first["code"], first["file"], first["path"]) == (
        "DS101", "dsandbox.yaml", "elasticity.gpu.max_cuont",
    )  # fmt: skip
    assert entries(known) == sorted(entries(known), key=lambda one: (one["file"], one["code"], one["path"]))


def test_moving_and_reformatting_bring_nothing_new(ds: Ds, known: Path) -> None:
    moved = "# moved\n\n" + BAD.replace("max_cuont: 4", "max_cuont:   4").replace("  gpu:", "  # x\n  gpu:")
    (known / "dsandbox.yaml").write_text(moved)
    assert lint(ds)["summary"] == {"error": 0, "warning": 0, "info": 0, "silenced": 6}


def test_what_is_new_counts(ds: Ds, known: Path) -> None:
    (known / "dsandbox.yaml").write_text(BAD + "vresion: 1\n")
    ran = ds("ds-contract-lint", "--baseline", "base.json", "-q")
    assert ran.returncode == 1
    assert ran.stdout.count(b"\n") == 1
    assert b"vresion" in ran.stdout


def test_it_holds_from_any_folder_and_for_any_name(ds: Ds, known: Path) -> None:
    sub = known / "sub"
    sub.mkdir()
    for name in ("../dsandbox.yaml", str(known / "dsandbox.yaml")):
        words = ["--baseline", "../base.json", name]
        done = subprocess.run(command("ds-contract-lint", *words), cwd=sub, capture_output=True, timeout=60)
        assert done.returncode == 0, done.stdout


def test_what_is_gone_is_told_and_dropped(ds: Ds, known: Path) -> None:
    (known / "dsandbox.yaml").write_text(BAD.replace("max_cuont", "max_count"))
    ran = ds("ds-contract-lint", "--baseline", "base.json")
    assert ran.returncode == 0
    assert ran.stdout.decode().splitlines()[0] == (
        "note: base.json: no longer found: DS101 dsandbox.yaml elasticity.gpu.max_cuont "
        "(--write-baseline base.json drops them)"
    )
    ran = ds("ds-contract-lint", "--write-baseline", "base.json")
    assert ran.stdout == b"base.json: 5 findings, 0 of them new, 1 dropped\n"
    assert lint(ds)["notes"] == []


@pytest.mark.battery
def test_a_partial_run_says_and_drops_nothing_about_the_rest(ds: Ds, known: Path) -> None:
    (known / "other.yaml").write_text("steps: []\nvresion: 1\n")
    assert lint(ds, "other.yaml")["notes"] == []
    assert lint(ds, "--select", "DS5")["notes"] == []
    ds("ds-contract-lint", "--write-baseline", "base.json", "other.yaml")
    assert {one["file"] for one in entries(known)} == {"dsandbox.yaml", "other.yaml"}
    ds("ds-contract-lint", "--write-baseline", "base.json", "--select", "DS5")
    assert "DS601" in {one["code"] for one in entries(known)}
    (known / "other.yaml").unlink()
    ds("ds-contract-lint", "--write-baseline", "base.json")
    assert {one["file"] for one in entries(known)} == {"dsandbox.yaml"}


def test_a_renamed_file_is_known_under_its_old_name(ds: Ds, known: Path) -> None:
    (known / "jobs").mkdir()
    (known / "dsandbox.yaml").rename(known / "jobs" / "train.yaml")
    ran = ds("ds-contract-lint", "--baseline", "base.json", "jobs/train.yaml")
    assert ran.returncode == 0, ran.stdout
    assert b"nothing found, 6 silenced" in ran.stdout
    assert b"taken for renamed: dsandbox.yaml -> jobs/train.yaml" in b" ".join(ran.stdout.split())


def test_a_renamed_file_brings_only_what_is_new(ds: Ds, known: Path) -> None:
    (known / "dsandbox.yaml").unlink()
    (known / "train.yaml").write_text(BAD.replace("timeout: 10m", "timeuot: 10m"))
    document = lint(ds, "train.yaml")
    assert {one["code"] for one in document["diagnostics"] if one["silenced"] is None} == {"DS101"}


def test_a_copy_is_no_renamed_file(ds: Ds, known: Path) -> None:
    (known / "copy.yaml").write_text(BAD)
    document = lint(ds, "copy.yaml")
    assert all(one["silenced"] is None for one in document["diagnostics"])


def test_another_file_is_no_renamed_one(ds: Ds, known: Path) -> None:
    (known / "dsandbox.yaml").unlink()
    (known / "other.yaml").write_text("baseline: {cpu: many}\n")
    document = lint(ds, "other.yaml")
    assert all(one["silenced"] is None for one in document["diagnostics"])
    assert document["notes"] == []


def test_renamed_files_keep_their_reasons(ds: Ds, known: Path) -> None:
    whole = json.loads((known / "base.json").read_text())
    for one in whole["findings"]:
        one["reason"] = f"why {one['code']}"
    (known / "base.json").write_text(json.dumps(whole))
    (known / "dsandbox.yaml").rename(known / "train.yaml")
    ran = ds("dsec", "lint", "--write-baseline", "base.json", "train.yaml")
    assert ran.stdout == b"base.json: 6 findings, 0 of them new, 0 dropped\n"
    assert all(one["reason"] == f"why {one['code']}" for one in entries(known))
    assert {one["file"] for one in entries(known)} == {"train.yaml"}


def test_two_renamed_files_are_told_apart(ds: Ds, known: Path) -> None:
    (known / "second.yaml").write_text(BAD.replace("rollout", "gather"))
    ds("dsec", "lint", "--write-baseline", "base.json", "dsandbox.yaml", "second.yaml")
    (known / "dsandbox.yaml").rename(known / "a.yaml")
    (known / "second.yaml").rename(known / "b.yaml")
    document = lint(ds, "a.yaml", "b.yaml")
    assert all(one["silenced"] for one in document["diagnostics"])


def test_reasons_are_kept(ds: Ds, known: Path) -> None:
    whole = json.loads((known / "base.json").read_text())
    whole["findings"][0]["reason"] = "ticket 7 合"
    (known / "base.json").write_text(json.dumps(whole))
    assert {"by": "baseline", "reason": "ticket 7 合"} in [one["silenced"] for one in lint(ds)["diagnostics"]]
    ds("ds-contract-lint", "--write-baseline", "base.json")
    assert entries(known)[0]["reason"] == "ticket 7 合"


def test_writing_twice_gives_the_same_bytes(ds: Ds, known: Path) -> None:
    before = (known / "base.json").read_bytes()
    ran = ds("ds-contract-lint", "--write-baseline", "base.json")
    assert ran.stdout == b"base.json: 6 findings, 0 of them new, 0 dropped\n"
    assert (known / "base.json").read_bytes() == before
    assert not [path for path in known.iterdir() if path.name.endswith(".part")]


def test_no_secret_is_written(known: Path) -> None:
    secret = BAD.partition("value: ")[2].split("}")[0].strip()
    assert len(secret) > 10
    assert secret not in (known / "base.json").read_text()


def test_what_cannot_be_read_as_a_whole_is_never_known(ds: Ds, tmp_path: Path) -> None:
    (tmp_path / "dsandbox.yaml").write_bytes(b"a: [1\n")
    ds("ds-contract-lint", "--write-baseline", "base.json")
    assert "DS002" not in {one["code"] for one in entries(tmp_path)}
    assert ds("ds-contract-lint", "--baseline", "base.json").returncode == 1


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (None, "could not be read: No such file"),
        (b"", "it is no JSON"),
        (b"\xff\xfe", "it is no JSON"),
        (b"[" * 100_000, "it is no JSON"),
        (b"[]", "its format is not dsec.baseline/1"),
        (b'{"format": "dsec.lint/1", "findings": []}', "its format is not dsec.baseline/1"),
        (b'{"format": "dsec.baseline/2", "findings": []}', "newer DSec"),
        (b'{"format": "dsec.baseline/\xc2\xb2", "findings": []}', "its format is not dsec.baseline/1"),
        (b'{"format": "dsec.baseline/' + b"1" * 5000 + b'"}', "its format is not dsec.baseline/1"),
        (b'{"format": "dsec.baseline/1"}', "it has no list of findings"),
        (b'{"format": "dsec.baseline/1", "findings": [{"code": "DS101"}]}', "an entry lacks one of"),
        (b'{"format": "dsec.baseline/1", "findings": [3]}', "an entry lacks one of"),
    ],
)
def test_a_damaged_baseline_is_one_line_and_exit_3(
    ds: Ds, tmp_path: Path, data: bytes | None, what: str
) -> None:
    (tmp_path / "dsandbox.yaml").write_text(BAD)
    if data is not None:
        (tmp_path / "base.json").write_bytes(data)
    ran = ds("ds-contract-lint", "--baseline", "base.json")
    assert (ran.returncode, ran.stdout) == (3, b"")
    text = ran.stderr.decode()
    assert text.count("\n") == 1
    assert what in text
    assert "(hint: " in text


@pytest.mark.parametrize("option", ["--baseline", "--write-baseline"])
def test_a_baseline_without_end_is_not_read_to_it(ds: Ds, tmp_path: Path, option: str) -> None:
    (tmp_path / "dsandbox.yaml").write_text(BAD)
    ran = ds("ds-contract-lint", option, "/dev/zero")
    assert (ran.returncode, ran.stdout) == (3, b"")
    assert ran.stderr == b"dsec: error: /dev/zero is larger than 64 MiB (hint: check the name)\n"


def test_a_baseline_that_cannot_be_written(ds: Ds, tmp_path: Path) -> None:
    (tmp_path / "dsandbox.yaml").write_text(BAD)
    ran = ds("ds-contract-lint", "--write-baseline", "no/such/base.json")
    assert ran.returncode == 3
    assert b"no/such/base.json could not be written" in ran.stderr
    assert ds("ds-contract-lint", "--write-baseline", "b.json", "--since", "HEAD").returncode == 2


def test_a_file_that_could_not_be_read_is_told_when_writing(ds: Ds, known: Path) -> None:
    ran = ds("ds-contract-lint", "--write-baseline", "base.json", "nope.yaml", "dsandbox.yaml")
    assert ran.returncode == 3
    assert len(entries(known)) == 6


@pytest.mark.battery
@given(st.lists(st.sampled_from(["24G", "end", "token"]), max_size=6), st.sets(st.integers(0, 5)))
def test_a_baseline_knows_what_it_was_written_from_and_nothing_else(
    tmp_path_factory: pytest.TempPathFactory, parts: list[str], removed: set[int]
) -> None:
    path = str(tmp_path_factory.mktemp("base") / "base.json")
    texts = {TEXT.name: TEXT, CLEAN.name: CLEAN}
    diagnostics = tuple(found(TEXT, part) for part in parts)
    codes = frozenset(("DS106",))
    baselining.write(path, diagnostics, texts=texts, codes=codes)
    known = baselining.read(path)
    assert len(known) == len(parts)
    kept = [one for at, one in enumerate(known) if at not in removed]
    compared = baselining.compare(path, tuple(kept), diagnostics, texts=texts, codes=codes)
    assert sum(one.silenced is None for one in compared.diagnostics) == len(known) - len(kept)
    assert compared.gone == ()
    assert baselining.compare(path, known, (), texts=texts, codes=codes).gone == known


def test_fingerprints_of_the_current_folder_are_the_usual_ones() -> None:
    shown = everything()
    folder = os.getcwd()
    assert fingerprints(shown.diagnostics, shown.texts) == fingerprints(
        shown.diagnostics, shown.texts, folder=folder
    )
