"""Intervals hold what the packaging library says ranges hold, and behave as sets."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from packaging.specifiers import SpecifierSet

from dsec_cli.packages.ranges import (
    EVERYTHING,
    NOTHING,
    holds,
    intersect,
    invert,
    names_early,
    of,
    spell,
    unite,
    without,
)

NUMBER = st.integers(0, 3).map(str)
RELEASE = st.lists(NUMBER, min_size=1, max_size=3).map(".".join)
PRE = st.sampled_from(["", "", "a1", ".b.2", "rc", "c0"])
POST = st.sampled_from(["", "", ".post1", "-2", ".post"])
DEV = st.sampled_from(["", "", ".dev1", "dev"])
EPOCH = st.sampled_from(["", "", "", "1!"])
PUBLIC = st.tuples(EPOCH, RELEASE, PRE, POST, DEV).map("".join)
CLAUSE = st.one_of(
    st.tuples(st.sampled_from(["<", "<=", ">", ">=", "==", "!="]), PUBLIC).map("".join),
    st.tuples(st.sampled_from(["==", "!="]), EPOCH, RELEASE, st.just(".*")).map("".join),
    st.tuples(st.just("~="), EPOCH, RELEASE, st.just(".1"), PRE, POST, DEV).map("".join),
)
RANGE = st.lists(CLAUSE, max_size=3).map(", ".join)


@given(RANGE, PUBLIC)
@example(">1.0", "1.0.post1")
@example(">1.0rc1", "1.0rc1.post1")
@example(">1.0.dev1", "1.0.post1")
@example("<1.0.post1", "1.0.post1.dev1")
@example("==1.0.0.*", "1.0rc1")
@example("~=1.0.1rc1.post1.dev2", "1.0.1")
@example("!=1.*", "2.dev0")
def test_intervals_hold_what_packaging_says(wanted: str, version: str) -> None:
    assert holds(of(wanted), version) is SpecifierSet(wanted).contains(version, prereleases=True)


@given(RANGE, RANGE, PUBLIC)
def test_sets_are_sets(one: str, other: str, version: str) -> None:
    a, b = of(one), of(other)
    inside, beside = holds(a, version), holds(b, version)
    assert holds(intersect(a, b), version) is (inside and beside)
    assert holds(unite((a, b)), version) is (inside or beside)
    assert holds(invert(a), version) is (not inside)
    assert holds(without(a, b), version) is (inside and not beside)


@given(RANGE)
def test_inverting_twice_changes_nothing(wanted: str) -> None:
    assert invert(invert(of(wanted))) == of(wanted)


@pytest.mark.parametrize("text", ["", "weird", ">=", ">=1.x", "=1", "===not-a-version", "<2.*", "~=2.*"])
def test_what_is_no_range_is_everything(text: str) -> None:
    assert of(text) == EVERYTHING


def test_a_local_build_is_never_ruled_out() -> None:
    assert holds(of("!=2.3.0+cu121"), "2.3.0")
    assert holds(of("==2.3.0+cu121"), "2.3.0")
    assert names_early("==2.3.0+cu121,<3")
    assert names_early(">=2.0rc1")
    assert not names_early(">=2.0,<3")


def test_disjoint_ranges_meet_nowhere() -> None:
    assert intersect(of(">=4.31.0"), of("==4.20.1")) == NOTHING
    assert intersect(of("<2"), of(">=2")) == NOTHING
    assert intersect(of(">2.0"), of("==2.0.post1")) == NOTHING


def test_ranges_are_spelt() -> None:
    assert spell(["==1", "==1"]) == "==1"
    assert spell(["==1", ""]) == "==1 or any version"
    assert spell("abcde") == "a or b or c or 2 more"
