"""Quantities: every unit of every kind, exactness, order, and what is said of wrong spellings."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsec.units import (
    KINDS,
    BitsPerSecond,
    Bytes,
    BytesPerSecond,
    Duration,
    FlopsPerSecond,
    MilliCelsius,
    Quantity,
    RequestsPerDay,
    UnitProblem,
    parse,
)

kinds = st.sampled_from(KINDS)
units = kinds.flatmap(lambda kind: st.tuples(st.just(kind), st.sampled_from(sorted(kind.units))))


@pytest.mark.parametrize(
    ("kind", "text", "amount"),
    [
        (Bytes, "24Gi", 24 * 2**30),
        (Bytes, "24GiB", 24 * 2**30),
        (Bytes, "24GB", 24 * 10**9),
        (Bytes, "1Ki", 1024),
        (Bytes, "1kB", 1000),
        (Bytes, "1.5Ki", 1536),
        (Bytes, "0B", 0),
        (BitsPerSecond, "5Gbps", 5 * 10**9),
        (BitsPerSecond, "128MB/s", 1024 * 10**6),
        (BitsPerSecond, "1 Gbit/s", 10**9),
        (BytesPerSecond, "3.2 TB/s", 3_200_000_000_000),
        (FlopsPerSecond, "2000 TFLOPS", 2 * 10**15),
        (Duration, "30s", 30 * 10**9),
        (Duration, "1h30m", 5400 * 10**9),
        (Duration, "1h30m15s", 5415 * 10**9),
        (Duration, "1.5ms", 1_500_000),
        (Duration, "5µs", 5000),
        (MilliCelsius, "85℃", 85_000),
        (MilliCelsius, "-5C", -5_000),
        (RequestsPerDay, "100req/min", 144_000),
        (RequestsPerDay, "1req/s", 86_400),
    ],
)
def test_spellings_and_amounts(kind: type[Quantity], text: str, amount: int) -> None:
    assert parse(kind, text) == amount
    assert type(parse(kind, f"  {text} ")) is kind


@pytest.mark.parametrize(
    ("kind", "text", "nearest"),
    [
        (Bytes, "24", "24Gi"),
        (Bytes, "24G", "24Gi"),
        (Bytes, "24gib", "24GiB"),
        (Bytes, "512M", "512Mi"),
        (Bytes, "24Gbit", "24GB"),
        (Bytes, "24Gig", "24Gi"),
        (BitsPerSecond, "5", "5Gbps"),
        (BitsPerSecond, "5gbps", "5Gbps"),
        (BitsPerSecond, "5GBps", "5GB/s"),
        (Duration, "300", "300s"),
        (Duration, "5minutes", "5m"),
        (Duration, "30 seconds", "30s"),
        (Duration, "1hour", "1h"),
        (Duration, "30S", "30s"),
        (FlopsPerSecond, "2000 TFLOP/s", "2000TFLOPS"),
        (MilliCelsius, "85 celsius", "85C"),
        (RequestsPerDay, "100/min", "100req/min"),
        (RequestsPerDay, "10rps", "10req/s"),
        (RequestsPerDay, "100 requests/min", "100req/min"),
    ],
)
def test_wrong_spellings_name_the_nearest(kind: type[Quantity], text: str, nearest: str) -> None:
    with pytest.raises(UnitProblem) as caught:
        parse(kind, text)
    assert caught.value.nearest == nearest
    assert parse(kind, nearest) >= 0


@pytest.mark.parametrize(("kind", "text"), [(BitsPerSecond, "5Gbs"), (Bytes, "5furlong"), (Duration, "1h5x")])
def test_nothing_is_proposed_where_units_of_other_amounts_are_as_near(
    kind: type[Quantity], text: str
) -> None:
    with pytest.raises(UnitProblem) as caught:
        parse(kind, text)
    assert caught.value.nearest == ""


@pytest.mark.parametrize(
    ("kind", "text", "reason"),
    [
        (Bytes, "", "empty"),
        (Bytes, "many", "does not start with a number"),
        (Bytes, "-1Gi", "negative"),
        (Bytes, "0.3B", "finer than one B"),
        (Bytes, "1..5Gi", "not a decimal number"),
        (Bytes, "9" * 40 + "B", "not a decimal number"),
        (Bytes, "9999999PiB", "larger than any machine has"),
        (Bytes, "x" * 100, "too long"),
        (Duration, "30s extra", "not a unit of duration"),
        (Duration, "1h-5m", "not a unit of duration"),
    ],
)
def test_refusals_give_the_reason(kind: type[Quantity], text: str, reason: str) -> None:
    with pytest.raises(UnitProblem, match=reason):
        parse(kind, text)


@given(kinds, st.integers(0, 2**62))
def test_canonical_text_reads_back(kind: type[Quantity], amount: int) -> None:
    quantity = kind(amount)
    assert parse(kind, str(quantity)) == quantity


@given(units, st.integers(0, 2000))
def test_every_unit_is_its_factor(pair: tuple[type[Quantity], str], number: int) -> None:
    kind, unit = pair
    amount = number * kind.units[unit]
    if amount < 2**63:
        assert parse(kind, f"{number}{unit}") == parse(kind, f"{number} {unit}") == amount


@given(units, st.integers(0, 500), st.integers(0, 500))
def test_order_is_that_of_amounts(pair: tuple[type[Quantity], str], left: int, right: int) -> None:
    kind, unit = pair
    if max(left, right) * kind.units[unit] < 2**63:
        assert (parse(kind, f"{left}{unit}") < parse(kind, f"{right}{unit}")) == (left < right)


near_misses = st.builds(
    lambda number, unit, end: number + unit + end,
    st.sampled_from(("", "1", "24", "1.5", ".5", "-3", "1e3", "٣", "1 ")),
    st.text("bBkKmMgGtTpPiIsShHdDuµnrFLOPSeq/minoc°C ", max_size=8),
    st.sampled_from(("", " ", "5", "5s")),
)


@given(kinds, st.text(max_size=80) | near_misses)
def test_any_text_is_a_quantity_or_a_unit_problem(kind: type[Quantity], text: str) -> None:
    try:
        assert -(2**63) < parse(kind, text) < 2**63
        return
    except UnitProblem as problem:
        reason, nearest = problem.reason, problem.nearest
    assert reason
    if nearest:
        assert -(2**63) < parse(kind, nearest) < 2**63


@pytest.mark.parametrize("kind", KINDS)
def test_tables_are_whole(kind: type[Quantity]) -> None:
    assert set(kind.show) <= set(kind.units)
    assert kind.units[kind.base] == 1
    assert parse(kind, kind.example) > 0
    assert kind.show[-1] == kind.base


def test_durations_as_other_numbers() -> None:
    assert parse(Duration, "1.5s").seconds == 1.5
    assert parse(Duration, "1500us").ms == 2, "rounded up: a timeout is never shorter than stated"


def test_equal_amounts_are_equal_values() -> None:
    assert parse(Bytes, "1Ki") == parse(Bytes, "1024B")
    assert repr(parse(Bytes, "1024Mi")) == "Bytes('1Gi')"
