"""Plugins that hide something: each must be seen through, or be said not to be."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.plugins.building import HOSTILE, build, header, scanned

SOURCES = sorted(HOSTILE.glob("*.c"))


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_a_hostile_plugin_is_seen_through(source: Path, tmp_path: Path) -> None:
    wanted = header(source)
    found = scanned(build(source, tmp_path, *wanted.get("flags", [])))
    codes = {one.code for one in found.findings}
    expected = set(wanted.get("codes", []))
    if "any" in wanted:
        assert codes & expected, f"{codes} has none of {expected}"
    else:
        assert expected <= codes, f"{expected - codes} not among {codes}"
    used = {need.permission for need in found.needs if need.tier != "linked"}
    for permission in wanted.get("permissions", []):
        name, _, target = permission.partition("=")
        assert name in used, f"{permission} not among {used}"
        targets = next(need.targets for need in found.needs if need.permission == name)
        assert not target or target in targets
    if expected:
        assert (found.verdict() == "ok") == (wanted.get("verdict") == ["ok"])


def test_there_are_enough_of_them() -> None:
    assert len(SOURCES) >= 25
