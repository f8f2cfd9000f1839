"""A command in one string is split into words as `shlex` does it, in time by its length."""

from __future__ import annotations

import shlex
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsec_cli.contract.words import split

TEXTS = st.text(alphabet="'\"\\ a\n\u00a0", max_size=12)


def answer(splitter: object, text: str) -> object:
    try:
        return list(splitter(text))  # type: ignore[operator]
    except ValueError as problem:
        return str(problem)


@given(TEXTS)
def test_the_words_are_those_of_shlex(text: str) -> None:
    assert answer(split, text) == answer(shlex.split, text)


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            " ",
            "''",
            '""',
            "a''b",
            "'' ''",
            "a\\ b",
            "\\",
            "a\\",
            "'a",
            '"a',
            '"a\\"',
            '"\\',
            "'\\",
            '"\\\\',
            'a"\\',
            '"\\a\\\\\\""',
        ),
        *("a'b c'\"d e\"f", "a\\\nb", "'\\'", "# a 'b'", "a#'b'", "\x00'a'", "é è", '"$(x "y")"'),
    ],
)
def test_the_corners_are_those_of_shlex(text: str) -> None:
    assert answer(split, text) == answer(shlex.split, text)


def calls(text: str) -> int:
    """How often `split` calls something."""
    count = 0

    def note(_frame: object, event: str, _argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        answer(split, text)
    finally:
        sys.setprofile(before)
    return count


@pytest.mark.parametrize(
    "piece", ["'a'", '"a"', "a'b' ", "é", '"\\""', "\\a", " 'a", "'a' \"b\" c\\ d ", '"\\', "\\\\"]
)
def test_the_work_grows_with_the_length(piece: str) -> None:
    split('\'a\' "\\""')
    assert calls(piece * 2000) <= 2.2 * calls(piece * 1000) + 20


def test_one_long_word_is_one_piece_of_work() -> None:
    split("'a'")
    assert calls("'" + "a" * 1_000_000 + "'") < 30
    assert calls('"' + "a" * 1_000_000) < 30
    assert calls("é" * 1_000_000) < 30
