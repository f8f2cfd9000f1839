"""The table on a terminal."""

from __future__ import annotations

import pytest

from dsec_cli.report.live import shortened


@pytest.mark.parametrize(
    ("name", "room", "shown"),
    [
        ("S1", 34, "S1"),
        ("a-rather-long-name-07", 21, "a-rather-long-name-07"),
        ("a-rather-long-name-07", 10, "a-ra…me-07"),
        ("a-rather-long-name-07", 0, "a-…-07"),
    ],
)
def test_a_long_name_keeps_its_begin_and_its_end(name: str, room: int, shown: str) -> None:
    assert shortened(name, room) == shown
