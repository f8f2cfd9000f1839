"""Which tests are taken: `--part 3/12` takes a twelfth of the battery, `--seconds 900` starts none later.

A test belongs to one part by the hash of its name, so that all parts together are the whole battery.
Without the battery its tests are not even made: with their parameters they are nearly half of all, and each
worker would make them, to leave them out.
"""

from __future__ import annotations

import hashlib
import os
import time

import pytest

ALWAYS = (
    "tests/docs/test_commands.py::test_the_commands_of_a_page_do_what_it_shows[README.md]",
    "tests/docs/test_commands.py::test_the_commands_of_a_page_do_what_it_shows[docs/tutorial.md]",
    "tests/house/test_wheel.py::",
)
"""Tests of every part: what a new user meets first."""
FIRST = ("tests/house/test_architecture.py::", "tests/languages/test_catalogue.py::")
"""Tests that read the syntax of all modules: beside each other, one worker reads it for all."""
_UNTIL = "DSEC_TEST_UNTIL"
_OVER = pytest.StashKey[float]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Take the two options."""
    parser.addoption("--part", metavar="K/N", help="take part K (from 0) of N of the tests")
    parser.addoption("--seconds", type=float, help="start no test later than this; the rest is left out")


def pytest_configure(config: pytest.Config) -> None:
    """Fix the end once: workers of xdist inherit it."""
    if seconds := config.getoption("--seconds"):
        os.environ.setdefault(_UNTIL, str(time.time() + seconds))
        config.stash[_OVER] = float(os.environ[_UNTIL])


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makeitem(
    collector: pytest.Module | pytest.Class, name: str, obj: object
) -> list[pytest.Item] | None:
    """Make no test of the battery where it is not asked for."""
    if collector.config.option.markexpr != "not battery" or not name.startswith("test"):
        return None
    marks = [*collector.iter_markers("battery"), *getattr(obj, "pytestmark", ())]
    return [] if any(mark.name == "battery" for mark in marks) else None


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the part's tests, those of every part first."""
    items.sort(key=lambda item: not item.nodeid.startswith(FIRST))
    if not (part := config.getoption("--part")):
        return
    at, of = map(int, part.split("/"))
    first = [item for item in items if item.nodeid.startswith(ALWAYS)]
    rest = [item for item in items if not item.nodeid.startswith(ALWAYS)]
    taken = [item for item in rest if _hashed(item.nodeid) % of == at]
    config.hook.pytest_deselected(items=[item for item in rest if _hashed(item.nodeid) % of != at])
    items[:] = [*first, *taken]


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Leave out what would start too late."""
    if time.time() > item.config.stash.get(_OVER, float("inf")):
        pytest.skip("left out: the time for this part of the battery is over")


def _hashed(name: str) -> int:
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "big")
