"""What pages that are followed one after the other, or twice, ask for."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.test_commands import PAGES, ROOT, commands

IN_ONE_FOLDER = ("README.md", "docs/tutorial.md", "docs/how-to/resume.md")
"""Pages whose runs lie in `examples/grpo-addition`."""


def runs(page: str) -> set[str]:
    text = "\n".join(one.text for one in commands((ROOT / page).read_text(encoding="utf-8")))
    return set(re.findall(r"dsec run [^\n]*--job-id (\S+)", text))


def test_no_two_pages_name_a_run_alike() -> None:
    named = [job for page in IN_ONE_FOLDER for job in runs(page)]
    assert {"tour", "tutorial", "night"} <= set(named)
    assert len(named) == len(set(named))


@pytest.mark.parametrize("page", PAGES)
def test_whoever_waits_for_a_job_sees_it_end(page: str) -> None:
    """A job that is refused never writes the line that is waited for."""
    for one in commands(Path(ROOT, page).read_text(encoding="utf-8")):
        if "until grep" in one.text:
            assert "|| ! kill -0 $!" in one.text, f"{page}:{one.line}"
