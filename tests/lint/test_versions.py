"""SemVer and PEP 440, against tables and against the packaging library."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

from dsec.versions import coerced, empty_range, is_semver, range_problem, reads_as_float

SEMVER = [
    "0.0.0",
    "1.3.0",
    "10.20.30",
    "1.0.0-alpha",
    "1.0.0-alpha.1",
    "1.0.0-0.3.7",
    "1.0.0-x-y.z",
    "1.0.0+20130313144700",
    "1.0.0-beta+exp.sha.5114f85",
    "1.0.0+21AF26D3--117B344092BD",
]
NOT_SEMVER = [
    "",
    "1",
    "1.2",
    "v1.2.3",
    "1.2.3.4",
    "01.2.3",
    "1.02.3",
    "1.2.03",
    "1.2.3-",
    "1.2.3+",
    "1.2.3-01",
    "1.2.3-a..b",
    "1.2.3-ü",
    "latest",
    "1.2.x",
    " 1.2.3",
    "1.2.3 ",
    "1.2.3+a+b",
    "-1.2.3",
    "1..3",
]


@pytest.mark.parametrize("text", SEMVER)
def test_semver(text: str) -> None:
    assert is_semver(text)
    assert coerced(text) == text


@pytest.mark.parametrize("text", NOT_SEMVER)
def test_not_semver(text: str) -> None:
    assert not is_semver(text)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("v4.2", "4.2.0"),
        ("V4.2.1", "4.2.1"),
        ("1", "1.0.0"),
        ("1.2", "1.2.0"),
        ("01.2.3", "1.2.3"),
        ("1.2-rc.1", "1.2.0-rc.1"),
        ("1.2.3.4", ""),
        ("latest", ""),
        (">=1.2", ""),
        ("v", ""),
        ("", ""),
        ("1.2.3-", ""),
    ],
)
def test_what_a_near_miss_means(text: str, meant: str) -> None:
    assert coerced(text) == meant


@given(st.text("0123456789.v-+ab", max_size=12))
def test_what_is_coerced_is_semver(text: str) -> None:
    assert coerced(text) == "" or is_semver(coerced(text))


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("1.2", True),
        ("1.10", True),
        ("1e3", True),
        (".5", True),
        ("5.", True),
        ("-1.5e-3", True),
        ("+0.1", True),
        ("1", False),
        ("1.2.3", False),
        ("v1.2", False),
        (".", False),
        ("", False),
        ("e5", False),
        ("1e", False),
    ],
)
def test_what_yaml_reads_as_a_float(text: str, wanted: bool) -> None:
    assert reads_as_float(text) is wanted


def oracle(text: str) -> bool:
    """Whether packaging takes `text` as one version or as a set of specifiers."""
    try:
        Version(text)
    except InvalidVersion:
        try:
            return len(SpecifierSet(text)) > 0
        except InvalidSpecifier:
            return False
    return True


PIECES = st.sampled_from(
    [
        "1",
        "2",
        "10",
        ".",
        ".",
        "*",
        "a",
        "rc",
        "post",
        "dev",
        "!",
        "+",
        "-",
        "_",
        "v",
        ">=",
        "<",
        "==",
        "!=",
        "~=",
        "===",
        ",",
        " ",
        "<=",
        ">",
        "alpha",
        "x",
        "é",
        ".*",
    ]
)


@given(st.lists(PIECES, min_size=1, max_size=9).map("".join))
@example("4.40.0,4.42.0")
@example(">=4.40.0,<4.42.0")
@example("~=1")
@example("~=1.2")
@example("==1.*")
@example("1.*")
@example(">=1.*")
@example(">=1.0+local")
@example("==1.0+local")
@example("===anything")
@example("1!2.0.post1.dev2")
@example("1.0-1")
@example(">=1,")
@example(",>=1")
@example(">=1,,<2")
@example("==1.0.dev1.*")
def test_ranges_are_judged_as_packaging_judges_them(text: str) -> None:
    assert (range_problem(text) == "") == oracle(text)


@pytest.mark.parametrize(
    ("text", "clash"),
    [
        (">=4.42,<4.40", (">=4.42", "<4.40")),
        (">=2,<2", (">=2", "<2")),
        ("==1.0,>1", (">1", "==1.0")),
        (">=2.0,<=2", ("", "")),
        (">=1,<2", ("", "")),
        (">=1", ("", "")),
        ("==1.*,>=2", ("", "")),
        (">=1rc1,<1", ("", "")),
        ("!=1", ("", "")),
    ],
)
def test_ranges_that_nothing_satisfies(text: str, clash: tuple[str, str]) -> None:
    assert empty_range(text) == clash


RELEASE = st.lists(st.integers(0, 3), min_size=1, max_size=3).map(lambda parts: ".".join(map(str, parts)))
CLAUSE = st.tuples(st.sampled_from([">=", "<=", ">", "<", "=="]), RELEASE).map("".join)


@given(st.lists(CLAUSE, min_size=1, max_size=4).map(",".join))
def test_a_range_called_empty_holds_no_release(text: str) -> None:
    if empty_range(text)[0]:
        wanted = SpecifierSet(text)
        parts = range(5)
        assert not any(wanted.contains(f"{a}.{b}.{c}") for a in parts for b in parts for c in parts)
