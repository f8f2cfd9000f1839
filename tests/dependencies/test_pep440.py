"""Ranges hold what the packaging library says they hold."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from packaging.specifiers import SpecifierSet
from packaging.version import InvalidVersion
from packaging.version import Version as Theirs

from dsec.core.pep440 import _key, parse, satisfies

TABLE = [
    ("", "0.0.1", True),
    (">=4.40.0,<4.42.0", "4.40.0", True),
    (">=4.40.0,<4.42.0", "4.41.9", True),
    (">=4.40.0,<4.42.0", "4.42.0", False),
    (">=4.40.0,<4.42.0", "4.42.0rc1", False),
    (">=4.40.0,<4.42.0", "4.40.0rc1", False),
    (">=4.40.0,<4.42.0", "4.41.0rc1", True),
    ("4.12.0", "4.12", True),
    ("4.12.0", "4.12.1", False),
    ("==4.12.0", "4.12.0+cu121", True),
    ("==4.12.0+cu118", "4.12.0+cu121", False),
    ("==2.*", "2.0.0.dev1", True),
    ("!=2.*", "2.1", False),
    ("~=2.2", "2.9", True),
    ("~=2.2", "3.0", False),
    ("~=2.2.0", "2.3", False),
    (">1.0", "1.0.post1", False),
    (">1.0", "1.0+local", False),
    (">=1.0", "1!0.1", True),
    ("===1.0", "1.0.0", False),
    ("===weird", "Weird", True),
    (">=1", "weird", False),
    (">=1", "1" * 5000, False),
]


@pytest.mark.parametrize(("wanted", "version", "holds"), TABLE)
def test_ranges(wanted: str, version: str, holds: bool) -> None:
    assert satisfies(wanted, version) is holds


NUMBER = st.integers(0, 3).map(str)
RELEASE = st.lists(NUMBER, min_size=1, max_size=3).map(".".join)
PRE = st.sampled_from(["", "", "a1", ".b.2", "rc", "-preview_1", "c0", "alpha3"])
POST = st.sampled_from(["", "", ".post1", "-2", "_rev", "r0", ".post"])
DEV = st.sampled_from(["", "", ".dev1", "dev", "_dev_2"])
LOCAL = st.sampled_from(["", "", "+cu121", "+1.a", "+a-1", "+10", "+2"])
EPOCH = st.sampled_from(["", "", "", "1!", "0!"])
PUBLIC = st.tuples(st.sampled_from(["", "v"]), EPOCH, RELEASE, PRE, POST, DEV).map("".join)
ANY = st.tuples(PUBLIC, LOCAL).map("".join)
CLAUSE = st.one_of(
    st.tuples(st.sampled_from(["<", "<=", ">", ">="]), PUBLIC).map("".join),
    st.tuples(st.sampled_from(["==", "!="]), ANY).map("".join),
    st.tuples(st.sampled_from(["==", "!="]), EPOCH, RELEASE, st.just(".*")).map("".join),
    st.tuples(st.just("~="), EPOCH, RELEASE, st.just(".1"), PRE, POST, DEV).map("".join),
    st.tuples(st.just("==="), ANY).map("".join),
)


@given(st.lists(CLAUSE, min_size=1, max_size=3).map(", ".join), ANY)
@example("<1.0.post1", "1.0")
@example("<1.0.post1", "1.0.dev1")
@example("<1.0.post1", "1.0.post1.dev1")
@example("<1.0.dev2", "1.0.dev1")
@example(">1.0.post1", "1.0.post2")
@example(">1.0.dev1", "1.0.post1.dev0")
@example(">1.0.post1", "1.0.post1+local")
@example("<=1.0", "1.0+local")
@example("~=1.0.1rc1.post1.dev2", "1.0.1")
@example("==1.0.0.*", "1.0rc1")
def test_a_range_holds_what_packaging_says(wanted: str, version: str) -> None:
    assert satisfies(wanted, version) is SpecifierSet(wanted).contains(version, prereleases=True)


@given(ANY, ANY)
def test_versions_come_in_the_order_of_packaging(one: str, other: str) -> None:
    mine, others = parse(one), parse(other)
    assert mine is not None
    assert others is not None
    assert (_key(mine) < _key(others)) is (Theirs(one) < Theirs(other))
    assert (_key(mine) == _key(others)) is (Theirs(one) == Theirs(other))


@given(st.text("0123456789.v!+-_abcrdepost ", max_size=14))
def test_the_same_texts_are_versions(text: str) -> None:
    try:
        Theirs(text)
    except InvalidVersion:
        assert parse(text) is None
    else:
        assert parse(text) is not None
