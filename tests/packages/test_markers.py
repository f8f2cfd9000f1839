"""Markers are judged as the packaging library judges them, and what is not known stays unknown."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.markers import Marker

from dsec_cli.packages.markers import environment, judge

FULL = {
    **environment("3.9.7", machine="x86_64"),
    "platform_release": "6.1",
    "platform_version": "#1",
    "extra": "",
}
COMPARISON = st.one_of(
    st.tuples(
        st.sampled_from(["python_version", "python_full_version"]),
        st.sampled_from([" < ", ">=", "==", " != ", "<=", ">", "~="]),
        st.sampled_from(["'3.9'", '"3.10"', "'3.9.7'", "'3.13'"]),
    ).map("".join),
    st.tuples(
        st.sampled_from(["'3.9'", '"3.10"']),
        st.sampled_from([" < ", ">=", "==", " != ", "<=", ">"]),
        st.just("python_version"),
    ).map("".join),
    st.tuples(
        st.sampled_from(["sys_platform", "platform_machine", "os_name", "platform_system"]),
        st.sampled_from([" == ", " != ", " in ", " not in "]),
        st.sampled_from(["'linux'", "'win32 linux'", "'x86_64'", "'Linux'"]),
    ).map("".join),
)
MARKER = st.recursive(
    COMPARISON,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from([" and ", " or "]), inner).map("".join),
        inner.map(lambda text: f"({text})"),
    ),
    max_leaves=5,
)


@given(MARKER)
def test_markers_mean_what_packaging_says(marker: str) -> None:
    assert judge(marker, FULL) is Marker(marker).evaluate(FULL)


@given(MARKER)
def test_knowing_less_never_turns_an_answer(marker: str) -> None:
    less = judge(marker, environment())
    assert less is None or less is judge(marker, FULL)


@given(st.text("()andorp'\" <>=!~_3.in", max_size=40))
def test_any_text_gets_an_answer(text: str) -> None:
    assert judge(text, FULL) in (True, False, None)


@pytest.mark.parametrize(
    ("marker", "extras", "answer"),
    [
        ("", frozenset(), True),
        ("extra == 'ray'", frozenset(), False),
        ("extra == 'ray'", frozenset({"ray"}), True),
        ("extra == 'Flash_Attn'", frozenset({"flash-attn"}), True),
        ("extra == 'ray' and python_version < '3.9'", frozenset({"ray"}), None),
        ("sys_platform == 'win32' and python_version < '3.9'", frozenset(), False),
        ("python_version < '3.9'", frozenset(), None),
        ("platform_machine == 'x86_64' or sys_platform == 'linux'", frozenset(), True),
        ("python_version <", frozenset(), None),
        ("(" * 5000, frozenset(), None),
        ("os.name == 'posix'", frozenset(), True),
    ],
)
def test_judged(marker: str, extras: frozenset[str], answer: bool | None) -> None:
    assert judge(marker, environment(), extras=extras) is answer
