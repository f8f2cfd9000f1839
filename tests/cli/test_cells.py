"""Text in terminal cells: widths, folding, cutting, and nothing that a terminal would obey."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsec_cli import cells as module
from dsec_cli.cells import cells, plain, shown, window, wrap

TEXT = st.text(st.characters(codec=None), max_size=80)


@pytest.mark.parametrize(
    ("text", "width"),
    [
        ("", 0),
        ("abc", 3),
        ("智能体", 6),
        ("ａｂ", 4),
        ("é", 1),
        ("e\u0301", 1),
        ("😀", 2),
        ("👩\u200d👩\u200d👧", 2),
        ("ｶﾞ", 2),
        ("한국", 4),
        ("–…", 2),
    ],
)
def test_cells(text: str, width: int) -> None:
    assert cells(text) == width


@given(TEXT)
def test_plain_text_commands_nothing_and_is_as_long(text: str) -> None:
    assert plain(text).isprintable()
    assert len(plain(text)) == len(text)


@given(TEXT)
def test_shown_text_commands_nothing(text: str) -> None:
    for ch in shown(text):
        assert ch in "\u200d\u3000" or unicodedata.category(ch) not in ("Cc", "Cf", "Cs", "Zl", "Zp"), hex(
            ord(ch)
        )


def test_shown_names_what_is_not_seen() -> None:
    assert shown("a\x1b[31mb\tc\u202ed") == "a<U+001B>[31mb    c<U+202E>d"
    assert shown("名前 ok") == "名前 ok"


@given(TEXT, st.integers(10, 60))
def test_wrapped_lines_fit_or_are_one_word(text: str, width: int) -> None:
    text = shown(text)
    lines = wrap(text, width)
    assert lines
    for line in lines:
        assert cells(line) <= width or " " not in line.strip()
    assert "".join("".join(lines).split()) == "".join(text.split())


def test_wide_text_folds_between_characters() -> None:
    assert wrap("检查点宽限期太短了", 8) == ["检查点宽", "限期太短", "了"]
    assert wrap("one two  three", 7) == ["one two", "three"]
    assert wrap("GPU 内存不足", 9) == ["GPU 内存", "不足"]


def test_no_line_begins_with_a_closing_mark_or_ends_with_an_opening_one() -> None:
    assert wrap("显存不足，等待", 8) == ["显存不", "足，等待"]
    assert wrap("端口（--port）在用", 10) == ["端口", "（--port）", "在用"]
    assert wrap("GPU：显存", 6) == ["GPU：", "显存"]
    assert wrap("不是 '分钟'：", 8) == ["不是 '分", "钟'："]
    assert wrap("不是'分'", 5) == ["不是", "'分'"]
    assert wrap("去做(中)", 6) == ["去做", "(中)"]


@given(TEXT, st.integers(0, 80), st.integers(0, 80), st.integers(20, 100))
def test_a_window_fits_and_marks_what_is_in_it(text: str, start: int, length: int, width: int) -> None:
    text = shown(text)
    start = min(start, len(text))
    end = min(start + length, len(text))
    cut, left, right = window(text, start, end, width=width)
    assert cells(cut) <= width
    assert 0 <= left <= right <= width
    if cells(text) <= width:
        assert cut == text
        assert cells(text[:start]) == left


def test_a_window_keeps_the_marked_part() -> None:
    line = "a" * 200 + "WRONG" + "b" * 200
    cut, left, right = window(line, 200, 205, width=40)
    assert cut[left:right] == "WRONG"
    assert cut.startswith("…")
    assert cut.endswith("…")


def test_a_marked_part_that_is_cut_is_the_last_that_is_shown() -> None:
    cut, left, right = window("name: " + "x" * 300, 6, 250, width=40)
    assert cut.count("…") == 1
    assert (cut[left], cut[right - 1]) == ("x", "…")


@given(st.text(st.sampled_from("abc  ")), st.integers(1, 12))
def test_ascii_is_wrapped_like_every_text(text: str, width: int) -> None:
    assert module._wrap_ascii(text, width) == module._wrap_any(text, width)
