"""Statistics of readings."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsec_cli.netcheck.readings import MILLION, at_most_ppm, delays_of, rate_bps


def test_no_loss_is_not_zero() -> None:
    """The rule of three: 0 of n means less than about 3/n."""
    assert 700 < at_most_ppm(0, 4166) < 740
    assert at_most_ppm(0, 10) == 258_866  # 1 - 0.05 ** (1 / 10)
    assert at_most_ppm(5, 5) == at_most_ppm(0, 0) == MILLION


def test_the_bound_is_that_of_the_binomial_distribution() -> None:
    """Published Clopper-Pearson limits, one-sided 95 %: 2 of 100, 10 of 100."""
    assert abs(at_most_ppm(2, 100) - 61_620) < 20
    assert abs(at_most_ppm(10, 100) - 163_717) < 100


@pytest.mark.battery
@given(st.integers(1, 5000), st.data())
def test_the_bound_lies_above_the_share_and_falls_with_more_packets(sent: int, data: st.DataObject) -> None:
    lost = data.draw(st.integers(0, sent))
    bound = at_most_ppm(lost, sent)
    assert lost * MILLION // sent <= bound <= MILLION
    assert at_most_ppm(lost, sent * 2) <= bound


@given(st.lists(st.integers(0, 10**10), min_size=1, max_size=60))
def test_distributions_are_in_order(times: list[int]) -> None:
    found = delays_of(times)
    assert found is not None
    assert found.least_ns <= found.median_ns <= found.p95_ns <= found.p99_ns <= found.most_ns == max(times)
    assert (found.taken, found.least_ns) == (len(times), min(times))
    assert 0 <= found.jitter_ns <= max(times)


def test_nothing_taken_is_nothing_known() -> None:
    assert delays_of([]) is None
    assert rate_bps(10, 0) == 0
    assert rate_bps(125_000_000, 10**9) == 10**9
