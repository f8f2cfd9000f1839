"""Drawn numbers: the same everywhere, near their distribution, and right where they can be checked."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsec_cli.simulation.draws import Draw, Lasts, exp2, exponential, log2

ONE = 2**48


def test_the_same_seed_draws_the_same_numbers():
    assert [Draw(7, "a").word(), Draw(7, "b").word(), Draw(8, "a").word()] == [
        12519786199529071915,
        Draw(7, "b").word(),
        Draw(8, "a").word(),
    ]
    assert len({Draw(7, "a").word(), Draw(7, "b").word(), Draw(8, "a").word()}) == 3


@given(st.integers(1, 10**12), st.integers(1, 10**12))
def test_logarithms_are_right(over, under):
    assert log2(over, under) / ONE == pytest.approx(math.log2(over / under), abs=1e-9)


@given(st.floats(-20, 20))
def test_powers_are_right(power):
    assert exp2(int(power * ONE)) / ONE == pytest.approx(2**power, rel=1e-6)


@pytest.mark.parametrize(
    ("lasts", "low", "middle", "high"),
    [
        (Lasts("fixed", 500), 500, 500, 500),
        (Lasts("uniform", 100, 300), 100, 200, 300),
        (Lasts("exponential", 1000), 1, 693, 20_000),
        (Lasts("lognormal", 1000, spread_permille=2000), 10, 1000, 70_000),
    ],
)
def test_distributions_have_their_middle(lasts, low, middle, high):
    draw = Draw(1, "x")
    drawn = sorted(lasts.draw(draw) for _ in range(2000))
    assert low <= drawn[0] <= drawn[-1] <= high
    assert drawn[1000] == pytest.approx(middle, rel=0.06)


def test_gaps_by_chance_have_their_mean():
    draw = Draw(3, "gaps")
    assert sum(exponential(draw, 1000) for _ in range(4000)) / 4000 == pytest.approx(1000, rel=0.05)
