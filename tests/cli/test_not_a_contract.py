"""A file of another kind is named as what it is, by every command that wants a contract."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import Ran

INVENTORY = "machines:\n  - {name: left, cpu: 8, memory: 64Gi}\n"


@pytest.mark.parametrize("words", [("ds-contract-lint",), ("dsec", "dag"), ("dsec", "plan")])
def test_an_inventory_is_no_contract(ds: Callable[..., Ran], tmp_path: Path, words: tuple[str, ...]) -> None:
    (tmp_path / "box.yaml").write_text(INVENTORY)
    ran = ds(*words, "box.yaml")
    assert ran.returncode == 1
    told = b" ".join((ran.stdout + ran.stderr).split())
    assert told.count(b"error[") == 1
    assert b"this looks like an inventory" in told
    assert b"dsec plan --inventory box.yaml" in told


BROKEN = "{name: x, baseline: {cpu: 1}\n"
"""So broken that no document of it is left."""


@pytest.mark.parametrize("words", [("lint",), ("run",), ("plan",), ("dag",), ("simulate",)])
def test_a_text_that_cannot_be_read_is_told_with_its_place(
    ds: Callable[..., Ran], tmp_path: Path, words: tuple[str, ...]
) -> None:
    (tmp_path / "br.yaml").write_text(BROKEN)
    ran = ds("dsec", *words, "br.yaml")
    told = ran.stdout + ran.stderr
    assert ran.returncode == 1
    assert b"br.yaml:1:1: error[DS002] this `{` mapping is not closed" in told
    assert told.count(b"error[") == 1
    assert not (tmp_path / ".dsec").exists()


def test_an_empty_file_is_told_alike_by_all(ds: Callable[..., Ran], tmp_path: Path) -> None:
    (tmp_path / "none.yaml").write_text("")
    for word in ("lint", "run"):
        ran = ds("dsec", word, "none.yaml")
        assert (ran.returncode, (ran.stdout + ran.stderr).count(b"the document is empty")) == (1, 1)


CUT, OTHER_FORMAT, KEY_ADDED = "cut", "other format", "key added"


@pytest.mark.battery
@pytest.mark.parametrize(
    ("damage", "what"),
    [
        (CUT, b"plan.json is no JSON document: "),
        (OTHER_FORMAT, b"plan.json is no plan: its format is 'x.plan/1'"),
        (KEY_ADDED, b"plan.json.steps[1] has the unknown key 'run'"),
    ],
)
def test_a_damaged_plan_is_told_as_one(
    ds: Callable[..., Ran], tmp_path: Path, damage: str, what: bytes
) -> None:
    assert ds("dsec", "init").returncode == 0
    assert ds("dsec", "plan", "-o", "plan.json").returncode == 0
    file = tmp_path / "plan.json"
    whole = file.read_bytes()
    file.write_bytes(
        {
            CUT: whole[:500],
            OTHER_FORMAT: whole.replace(b'"dsec.plan/1"', b'"x.plan/1"'),
            KEY_ADDED: whole.replace(b'"id":"train"', b'"id":"train","run":"x"'),
        }[damage]
    )
    for word in ("run", "simulate"):
        ran = ds("dsec", word, "plan.json")
        assert ran.returncode == 3
        assert ran.stderr.startswith(b"dsec: error: " + what)
        assert b"a plan is not edited by hand" in ran.stderr
    if damage != CUT:
        assert b"this looks like a plan, not like a contract" in ds("dsec", "lint", "plan.json").stdout


def test_a_file_with_a_space_is_quoted_in_what_is_proposed(ds: Callable[..., Ran], tmp_path: Path) -> None:
    (tmp_path / "my box.yaml").write_text(INVENTORY)
    assert b"dsec inventory --inventory 'my box.yaml'" in b" ".join(
        ds("ds-contract-lint", "my box.yaml").stdout.split()
    )
