"""Rates of several connections, and one rate that several processes share: no packet is sent."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsec_cli.netcheck.rate_budget import RateBudget
from dsec_cli.netcheck.rates import UNKNOWN, rates
from dsec_cli.netcheck.readings import union_ns

Trace = tuple[tuple[int, int], ...]
S = 1_000_000_000
TENTH = S // 10


def steady(bytes_per_s: int, begin_s: float, end_s: float) -> Trace:
    """A connection of one rate, counted every 100 ms."""
    first, count = int(begin_s * S), round((end_s - begin_s) * 10)
    return tuple((first + at * TENTH, at * bytes_per_s // 10) for at in range(count + 1))


def test_a_link_that_connections_have_one_after_the_other_is_counted_once() -> None:
    """Each had all of it in a time of its own, which is no reason to have it twice."""
    found = rates((steady(1000, 0, 1), steady(1000, 1, 2)))
    assert found.steady_bps == pytest.approx(8000, rel=0.01)


def test_rates_of_connections_at_a_time_add_up() -> None:
    assert rates((steady(1000, 0, 2), steady(500, 0.1, 1.9))).steady_bps == pytest.approx(12_000, rel=0.01)


def test_too_little_is_unknown_and_not_nothing() -> None:
    assert rates(()) == rates((((5, 10),),)) == rates((((5, 10), (5, 20)),)) == UNKNOWN


def test_a_burst_is_not_what_lasts() -> None:
    burst: Trace = ((0, 0), (TENTH, 1_000_000), *((TENTH * at, 1_000_000 + at * 100) for at in range(2, 21)))
    found = rates((burst,))
    assert found.burst
    assert found.lasting_bps == pytest.approx(8000, rel=0.01)
    even = rates((steady(1000, 0, 2),))
    assert not even.burst
    assert even.lasting_bps == even.steady_bps


@given(
    st.lists(st.tuples(st.integers(0, 20), st.integers(1, 20), st.integers(0, 5000)), min_size=1, max_size=8)
)
def test_never_more_than_came_in_the_busiest_time(rows: list[tuple[int, int, int]]) -> None:
    """However connections begin and end, the rate is not above the sum of those that were ever at a time."""
    traces = [steady(rate, begin / 10, (begin + length) / 10) for begin, length, rate in rows]
    busiest = max(
        sum(rate for begin, length, rate in rows if begin <= at < begin + length) for at in range(40)
    )
    found = rates(tuple(traces))
    assert found.steady_bps is not None
    assert found.steady_bps <= busiest * 8 * 1.02 + 100


def test_spans_are_put_together() -> None:
    assert union_ns([(10, 5), (12, 8)]) == 10
    assert union_ns([(0, 5), (12, 8)]) == 8  # one does not say when it began
    assert union_ns([]) == 0


class Clock:
    """Time that a test moves."""

    def __init__(self) -> None:
        self.now = S

    def __call__(self) -> int:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def budgets(clock: Clock) -> Iterator[tuple[RateBudget, RateBudget]]:
    """The budget of a server, and that of one of its sessions."""
    one = RateBudget(80_000_000, clock=clock)
    two = RateBudget(80_000_000, fd=one.fd, clock=clock)
    yield one, two
    one.close()


def test_two_sessions_have_one_rate(budgets: tuple[RateBudget, RateBudget], clock: Clock) -> None:
    one, two = budgets
    assert one.charge(500_000) == 0.0  # a twentieth of a second is let through at once
    assert two.charge(1_000_000) == pytest.approx(0.1)
    assert one.charge(0) == pytest.approx(0.1)
    clock.now += TENTH
    assert two.charge(0) == 0.0
    clock.now += 100 * S  # what was not used is not saved up
    assert two.charge(10_500_000) == pytest.approx(1.0)


def test_what_is_promised_is_not_promised_again(budgets: tuple[RateBudget, RateBudget]) -> None:
    one, two = budgets
    assert one.promise(50_000_000) == 50_000_000
    assert two.promise(50_000_000) == 30_000_000
    assert one.promise(1) == 0
    two.release(30_000_000)
    assert one.promise(10_000_000) == 10_000_000
    one.forget()
    assert two.promise(80_000_000) == 80_000_000
