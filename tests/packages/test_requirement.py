"""Requirements are read as the packaging library reads them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.requirements import InvalidRequirement
from packaging.requirements import Requirement as Theirs
from packaging.utils import canonicalize_name

from dsec_cli.packages.ranges import holds, of
from dsec_cli.packages.requirement import normalised, read, split_extras

TEXTS = [
    "transformers>=4.31.0",
    "torch (==2.3.0)",
    'numpy <2.0.0, >=1.18.2 ; platform_system != "Darwin"',
    "Flash_Attn[cuda,x.y] ~=2.5",
    "requests",
    'triton==2.3.0; platform_system == "Linux" and python_version < "3.12"',
]


@pytest.mark.parametrize("text", TEXTS)
def test_read_as_packaging_reads(text: str) -> None:
    mine, theirs = read(text), Theirs(text)
    assert mine is not None
    assert mine.name == canonicalize_name(theirs.name)
    assert mine.extras == {canonicalize_name(extra) for extra in theirs.extras}
    assert bool(mine.marker) is (theirs.marker is not None)
    for version in ("1.20", "2.3.0", "2.5.1", "4.31", "5"):
        assert holds(of(mine.wanted), version) is theirs.specifier.contains(version)


@given(st.text("ab1[],(); @<>=!~.-x", max_size=25))
def test_what_is_read_is_a_requirement(text: str) -> None:
    found = read(text)
    if found is None or ";" in text or "@" in text:
        return
    try:
        theirs = Theirs(text)
    except InvalidRequirement:
        return
    assert found.name == canonicalize_name(theirs.name)


def test_a_direct_reference_says_nothing_about_versions() -> None:
    found = read("xformers @ https://example.org/x.whl ; sys_platform == 'linux'")
    assert found is not None
    assert (found.url, found.wanted, found.name) == ("https://example.org/x.whl", "", "xformers")


@pytest.mark.parametrize("text", ["", ">=1", "a b", "a>=", "a==1 extra", "-a", "a" * 5000])
def test_what_is_none(text: str) -> None:
    assert read(text) is None


def test_names() -> None:
    assert normalised("Typing.Extensions") == normalised("typing__extensions") == "typing-extensions"
    assert split_extras("vllm[ray, Flash_Attn]") == ("vllm", frozenset({"ray", "flash-attn"}))
