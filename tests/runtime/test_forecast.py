"""Forecasts of memory: ramps are told before the limit, plateaus and saw-teeth never."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsec.core.forecast import LEAST, MOST, Forecast, Series, Stated, offender, over_baseline, slope_of

MB = 1 << 20
GB = 1 << 30


def first_warning(values: Iterable[int], limit: int) -> tuple[int, Forecast] | None:
    series = Series()
    for x, y in enumerate(values):
        series.add(x, y)
        if (found := series.warn(limit)) is not None:
            return x, found
    return None


def test_a_creep_to_40_gib_is_told_long_before() -> None:
    """36 GiB at the start, full after some six hundred executions: the report behind this module."""
    found = first_warning((36 * GB + x * 4 * GB // 620 for x in range(620)), 40 * GB)
    assert found is not None
    x, forecast = found
    assert x < 300
    assert abs(x + forecast.ahead - 620) <= 2
    assert abs(forecast.slope - 4 * GB * 1000 // 620) < MB


@given(
    start=st.integers(0, 20 * GB),
    slope=st.integers(20 * MB, 2 * GB),
    noise=st.lists(st.integers(-100, 100), min_size=1, max_size=97),
)
def test_every_ramp_is_told_before_the_limit(start: int, slope: int, noise: list[int]) -> None:
    limit = start + slope * 120
    jitter = slope // 4
    values = [start + x * slope + noise[x % len(noise)] * jitter // 100 for x in range(120)]
    found = first_warning(values, limit)
    assert found is not None
    x, forecast = found
    assert x < 110
    assert 90 <= x + forecast.ahead <= 150


@pytest.mark.battery
@given(
    level=st.integers(MB, 38 * GB),
    noise=st.lists(st.integers(-1000, 1000), min_size=300, max_size=300),
    warm_up=st.integers(0, 5),
)
def test_a_plateau_is_never_told_not_even_with_noise_and_a_warm_up(
    level: int, noise: list[int], warm_up: int
) -> None:
    values = [level * min(x + 1, warm_up + 1) // (warm_up + 1) for x in range(300)]
    noisy = [value + value * one // 50_000 for value, one in zip(values, noise, strict=True)]
    assert first_warning(noisy, 40 * GB) is None


@given(low=st.integers(1 * GB, 9 * GB), high=st.integers(10 * GB, 39 * GB), period=st.integers(2, 60))
def test_a_saw_tooth_is_never_told_once_it_fell(low: int, high: int, period: int) -> None:
    values = [low + (high - low) * (x % period) // period for x in range(600)]
    series = Series()
    for x, y in enumerate(values):
        series.add(x, y)
        if x > period:
            assert series.warn(40 * GB) is None


@pytest.mark.battery
@given(period=st.integers(2, 100), high=st.integers(2 * GB, 12 * GB))
def test_a_saw_tooth_of_less_than_a_third_of_the_limit_is_not_told_at_all(period: int, high: int) -> None:
    values = [high * (x % period) // period for x in range(600)]
    assert first_warning(values, 40 * GB) is None


def test_a_saw_tooth_that_climbs_is_told_when_it_passes_where_it_fell() -> None:
    values = [10 * GB + x * 50 * MB + (x % 5) * 100 * MB for x in range(600)]
    found = first_warning(values, 40 * GB)
    assert found is not None
    assert found[0] < 500


def test_one_climb_is_told_once_and_a_second_one_again() -> None:
    series = Series()
    told = 0
    for turn in range(2):
        for x in range(60):
            series.add(turn * 60 + x, GB + x * GB // 2 + turn * x * GB // 3)
            told += series.warn(40 * GB) is not None
    assert told == 2


def test_a_series_that_must_be_seen_longer_tells_nothing_of_a_model_being_loaded() -> None:
    series = Series(least=24)
    for x in range(400):
        series.add(x, 36 * GB * min(x + 1, 20) // 20)
        assert series.warn(40 * GB) is None


def test_steps_outliers_and_few_points_tell_nothing() -> None:
    assert first_warning([x * GB for x in range(LEAST - 1)], 12 * GB) is None
    assert first_warning([4 * GB] * 50 + [20 * GB] * 50, 40 * GB) is None
    spikes = [(4 if x % 17 else 30) * GB for x in range(300)]
    assert first_warning(spikes, 40 * GB) is None
    assert first_warning([GB + x for x in range(300)], 40 * GB) is None


def test_what_is_not_limited_has_no_forecast() -> None:
    series = Series()
    for x in range(40):
        series.add(x, x * GB)
    assert series.warn(None) is None
    assert series.warn(0) is None
    assert series.forecast(30 * GB) == Forecast(30 * GB, 39 * GB, GB * 1000, 0)


@given(st.lists(st.integers(0, 40 * GB), max_size=400))
def test_any_series_is_kept_small_and_never_told_far_ahead(values: list[int]) -> None:
    series = Series()
    for x, y in enumerate(values):
        series.add(x, y)
        assert len(series._points) <= MOST
        found = series.forecast(40 * GB)
        if found is not None:
            assert found.ahead <= 2 * x
            assert found.slope > 0


def test_the_slope_is_not_moved_by_outliers() -> None:
    points = [(x, 10 * x) for x in range(30)]
    points[7], points[20] = (7, 10**9), (20, 0)
    assert abs(slope_of(points) - 10_000) <= 1
    assert slope_of([(1, 5), (1, 9)]) == 0


def test_who_exceeds_its_own_statement_by_most_is_the_offender_never_the_neighbour() -> None:
    big = Stated("big", 0, "critical", 100 * GB, 99 * GB)
    silent = Stated("silent", 0, "discardable", 0, 50 * GB)
    some = Stated("some", 3, "pauseable", 2 * GB, 3 * GB)
    leak = Stated("leak", 1, "pauseable", 1 * GB, 9 * GB)
    assert offender([big, silent, some, leak]) == leak
    assert offender([big, silent]) is None
    assert offender([]) is None


@given(st.lists(st.tuples(st.integers(0, 99), st.integers(0, 99)), max_size=20))
def test_nobody_who_keeps_to_its_statement_is_ever_chosen(pairs: list[tuple[int, int]]) -> None:
    steps = [Stated(str(at), 0, "pauseable", *pair) for at, pair in enumerate(pairs)]
    found = offender(steps)
    if found is None:
        assert all(not one.stated_bytes or one.held_bytes <= one.stated_bytes for one in steps)
    else:
        assert found.held_bytes > found.stated_bytes > 0


@pytest.mark.parametrize(
    ("held", "stated", "granted", "said"),
    [
        (None, GB, 1, False),
        (3 * GB, 2 * GB, 1, False),
        (3 * GB + 1, 2 * GB, 1, True),
        (3 * GB + 1, 2 * GB, 2, False),
        (9 * GB, 0, 1, False),
    ],
)
def test_half_as_much_again_as_stated_is_too_much_unless_it_grew(
    held: int | None, stated: int, granted: int, said: bool
) -> None:
    assert over_baseline(held, stated, granted=granted, baseline=1) == said
