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
