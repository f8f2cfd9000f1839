"""Patterns of files: what excludes and per-file ignores mean, and what quoted arguments name."""

from __future__ import annotations

import contextlib
import glob
import json
import os
import re
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsec_cli.commands.globbing import files_like, matches_folders
from dsec_cli.commands.matching import meant

from .conftest import ROOT, Ran

CLEAN = (ROOT / "examples" / "hello" / "dsandbox.yaml").read_bytes()


@pytest.mark.parametrize(
    ("pattern", "path", "means"),
    [
        ("dsandbox.yaml", "dsandbox.yaml", True),
        ("dsandbox.yaml", "a/b/dsandbox.yaml", True),
        ("dsandbox.yaml", "dsandbox.yaml.bak", False),
        ("*.yaml", "a/x.yaml", True),
        ("legacy", "legacy/a/x.yaml", True),
        ("legacy", "jobs/legacy/x.yaml", True),
        ("legacy/", "jobs/legacy/x.yaml", True),
        ("legacy/**", "legacy/a/x.yaml", True),
        ("legacy/**", "jobs/legacy/x.yaml", False),
        ("./legacy/*.yaml", "legacy/x.yaml", True),
        ("legacy/*.yaml", "legacy/a/x.yaml", False),
        ("legacy/*", "legacy/a/x.yaml", True),
        ("jobs/**/x.yaml", "jobs/x.yaml", True),
        ("jobs/**/x.yaml", "jobs/a/b/x.yaml", True),
        ("jobs/**/x.yaml", "jobs/a/b/y.yaml", False),
        ("**/old/*.yaml", "old/x.yaml", True),
        ("**", "anything/at/all", True),
        ("x[0-9].yaml", "x7.yaml", True),
        ("X.yaml", "x.yaml", False),
        ("", "x.yaml", False),
        ("/", "x.yaml", False),
    ],
)
def test_patterns(tmp_path: Path, pattern: str, path: str, means: bool) -> None:
    assert meant(str(tmp_path / path), [pattern], folder=str(tmp_path)) == (pattern if means else "")


def test_nothing_outside_the_folder_is_meant(tmp_path: Path) -> None:
    assert meant(str(tmp_path / "x.yaml"), ["**", "x.yaml"], folder=str(tmp_path / "sub")) == ""


def expression(pattern: str) -> str:
    """The same meaning as a regular expression, by the book and without regard to speed."""
    parts = [part for part in pattern.split("/") if part not in ("", ".")]
    if "/" not in pattern.rstrip("/"):
        parts = ["**", *parts]
    found = ""
    for at, part in enumerate(parts):
        last = at == len(parts) - 1
        if part == "**":
            found += "(?:.*)" if last else "(?:[^/]+/)*"
        else:
            found += (
                "(?=[^/])"
                + re.escape(part).replace(r"\*", "[^/]*").replace(r"\?", "[^/]")
                + ("" if last else "/")
            )
    return f"(?:{found})(?:/.*)?"


PARTS = st.sampled_from(["a", "b", "ab", "*", "a*", "?", "**"])
NAMES = st.sampled_from(["a", "b", "ab", "abc"])


@pytest.mark.battery
@given(st.lists(PARTS, min_size=1, max_size=4), st.lists(NAMES, min_size=1, max_size=4))
def test_patterns_mean_what_the_expression_says(parts: list[str], names: list[str]) -> None:
    pattern, path = "/".join(parts), "/".join(names)
    # `a/**` means the folder a with all that is in it, so the name `a` as well.
    wanted = re.fullmatch(expression(pattern), path) or re.fullmatch(expression(pattern), f"{path}/")
    assert (meant(f"/top/{path}", [pattern], folder="/top") != "") == (wanted is not None)


def test_many_stars_take_no_time() -> None:
    path = "/top/" + "a/" * 200 + "b"
    assert meant(path, ["**/" * 100 + "c"], folder="/top") == ""


def test_quoted_patterns_name_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("b.yaml", "a.yaml", "jobs/x/c.yaml", "jobs/d.yaml", "jobs/.hidden/e.yaml"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    assert files_like("*.yaml") == ("a.yaml", "b.yaml")
    assert files_like("jobs/**/*.yaml") == ("jobs/d.yaml", "jobs/x/c.yaml")
    assert files_like("*") == ("a.yaml", "b.yaml")
    assert files_like("none*") == ()


def test_links_lead_no_pattern_round_in_circles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for link in ("a", "b"):
        (tmp_path / link).symlink_to(".")
    for name in ("x.yaml", "in/y.yaml"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    assert files_like("**/*.yaml") == ("in/y.yaml", "x.yaml")
    assert files_like("a/*.yaml") == ("a/x.yaml",), "a link that is named is followed"
    assert files_like("**/**/*.yaml") == files_like("**/*.yaml")
    assert not matches_folders("**/none*")


ENTRIES = ["a", "b", ".c", "a.yaml", "[1]", "d-e"]
SIGNS = ["*", "**", "a", "?", "[ab]", ".*", "*.yaml", "[[]1]", "d*", "", "."]


@given(
    st.sets(st.lists(st.sampled_from(ENTRIES), min_size=1, max_size=3).map("/".join), max_size=6),
    st.lists(st.sampled_from(SIGNS), min_size=1, max_size=4).map("/".join),
)
def test_patterns_name_what_the_library_finds(files: set[str], pattern: str) -> None:
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for name in sorted(files):
            if not any(os.path.isfile(part) for part in (name, *map(str, Path(name).parents))):
                os.makedirs(os.path.dirname(name) or ".", exist_ok=True)
                with contextlib.suppress(IsADirectoryError):
                    Path(name).touch()
        if pattern.startswith("/"):
            pattern = folder + pattern
        # The library names `a/` for `a/**` where there is no `a`.
        found = {path for path in glob.glob(pattern, recursive=True) if os.path.isfile(path)}
        assert files_like(pattern) == tuple(sorted({os.path.normpath(path) for path in found}))


def test_the_linter_takes_patterns(ds: Callable[..., Ran], tmp_path: Path) -> None:
    for name in ("jobs/a/x.yaml", "jobs/y.yaml", "odd[1].yaml"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(CLEAN)
    ran = ds("ds-contract-lint", "jobs/**/*.yaml", "odd[1].yaml", "-f", "json")
    assert json.loads(ran.stdout)["files"] == ["jobs/a/x.yaml", "jobs/y.yaml", "odd[1].yaml"]
    ran = ds("ds-contract-lint", "none/*.yaml")
    assert ran.returncode == 3
    assert b"none/*.yaml" in ran.stderr
