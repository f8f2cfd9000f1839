"""Each project of the corpus against what it is known to need."""

from __future__ import annotations

import difflib
import os
from pathlib import Path

import pytest

from dsec_cli.code.analyse import analyse
from dsec_cli.code.knowledge import lookup
from dsec_cli.commands.knowing import shipped

HERE = Path(__file__).parent
NAMES = sorted(path.name for path in (HERE / "projects").iterdir() if path.is_dir())


@pytest.mark.parametrize("name", NAMES)
def test_golden(name: str, reading) -> None:
    golden, got = HERE / "golden" / f"{name}.json", reading.shown(analyse(reading.stored(name)))
    if os.environ.get("DSEC_BLESS") == "1":
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(got, "utf-8")
    want = golden.read_text("utf-8") if golden.exists() else ""
    if got != want:
        lines = difflib.unified_diff(want.splitlines(), got.splitlines(), "expected", "found", lineterm="")
        pytest.fail(f"{name}: needs differ (DSEC_BLESS=1 rewrites)\n" + "\n".join(lines))


def test_each_golden_has_a_project() -> None:
    assert sorted(path.stem for path in (HERE / "golden").glob("*.json")) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_the_same_files_give_the_same_needs(name: str, reading) -> None:
    project = reading.stored(name)
    again = project._replace(files=dict(reversed(list(project.files.items()))))
    assert analyse(project) == analyse(again)


def test_what_client_libraries_need_is_looked_up(reading) -> None:
    known = shipped()
    needs = analyse(reading.stored("langchain-rag"), lookup=lambda name: lookup(known, name))
    by = {(one.name, one.by) for one in needs.environment}
    assert ("OPENAI_API_KEY", "langchain_openai.ChatOpenAI") in by
    # Its address is given, and is this machine: the provider's own is not called.
    hosts = {one.host for one in needs.egress if one.by == "langchain_openai.ChatOpenAI"}
    assert hosts == {"localhost"}
