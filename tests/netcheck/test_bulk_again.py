"""A way that is slower once or twice was a busy host; one that always is, is slower."""

from __future__ import annotations

import pytest

from dsec_cli.netcheck.probe import find_probes
from dsec_cli.netcheck.probes import bulk
from dsec_cli.netcheck.readings import Bulk, uneven

ONE = Bulk(100, 0, 10, 5, 5, "network", 1, 1, 100, 0, 1, 1)


@pytest.mark.parametrize(
    ("tries", "wanted", "asked"),
    [
        ([(100, 100)], (100, 100), 1),
        ([(100, 30), (90, 95)], (100, 95), 2),
        ([(30, 100), (80, 90)], (80, 100), 2),
        ([(30, 100), (31, 99), (90, 30)], (90, 100), 3),
        ([(30, 100), (31, 99), (32, 101), (90, 90)], (32, 101), 3),
    ],
)
def test_a_moment_does_not_count(tries: list[tuple[int, int]], wanted: tuple[int, int], asked: int) -> None:
    left = [ONE._replace(forward_bps=there, back_bps=back) for there, back in tries]
    found = bulk.repeated(lambda: left.pop(0))
    assert (found.forward_bps, found.back_bps) == wanted
    assert len(tries) - len(left) == asked


def test_what_was_not_measured_is_not_uneven() -> None:
    assert not uneven(ONE._replace(back_bps=None))
    assert "bulk" in {probe.name for probe in find_probes()}
