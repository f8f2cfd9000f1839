"""Decoding, lines, and the units of a place."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsec_cli.source import sizes
from dsec_cli.source.text import Position, SourceText, Span


def _text(data: bytes) -> SourceText:
    return SourceText.from_bytes("a.yaml", data)


@pytest.mark.parametrize(
    ("data", "text", "encoding"),
    [
        (b"a: 1", "a: 1", "utf-8"),
        (b"\xef\xbb\xbfa: 1", "a: 1", "utf-8"),
        (b"\xef\xbb\xbf\xef\xbb\xbfa", "a", "utf-8"),
        (b"\xff\xfea\0:\0", "a:", "utf-16-le"),
        (b"\xfe\xff\0a\0:", "a:", "utf-16-be"),
        (b"\xff\xfe\0\0a\0\0\0", "a", "utf-32-le"),
        (b"\0\0\xfe\xff\0\0\0a", "a", "utf-32-be"),
        (b"", "", "utf-8"),
    ],
)
def test_encodings(data: bytes, text: str, encoding: str) -> None:
    source = _text(data)
    assert (source.text, source.encoding, source.undecodable) == (text, encoding, None)


@pytest.mark.parametrize(
    ("data", "text", "span"),
    [
        (b"a: \xff\xfeb", "a: \ufffd\ufffdb", Span(3, 5)),
        (b"\xe4\xb8", "\ufffd\ufffd", Span(0, 2)),
        (b"\xff\xfea\0b", "a", Span(1, 1)),
        (b"\xff\xfe\0\xd8a\0", "\ufffda", Span(0, 1)),
        (b"\0\0\xfe\xff\0\x11\0\0\0\0\0a", "\ufffda", Span(0, 1)),
    ],
)
def test_undecodable_bytes_are_told_and_the_rest_is_read(data: bytes, text: str, span: Span) -> None:
    source = _text(data)
    assert source.text == text
    assert source.undecodable is not None
    assert source.undecodable[0] == span


def test_undecodable_bytes_behind_a_second_mark_are_where_they_are_shown() -> None:
    source = SourceText.from_bytes("x", b"\xef\xbb\xbf\xef\xbb\xbf\x80")
    assert source.text == "\ufffd"
    assert source.undecodable is not None
    assert source.undecodable[0] == Span(0, 1)


def test_byte_offsets_behind_undecodable_bytes_stay_right() -> None:
    data = b"\xef\xbb\xbfa\xff\xc3\xa9b"
    source = _text(data)
    assert source.text == "a\ufffd\xe9b"
    assert data[source.byte_offset(3) :] == b"b"


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("a\nb", ["a", "b"]),
        ("a\r\nb\rc\n", ["a", "b", "c", ""]),
        ("a\u0085b\u2028c\u2029d\x0be", ["a\u0085b\u2028c\u2029d\x0be"]),
        ("", [""]),
        ("\r\r\n\n", ["", "", "", ""]),
    ],
)
def test_lines_end_where_editors_end_them(text: str, lines: list[str]) -> None:
    source = _text(text.encode())
    assert [source.line_text(n + 1) for n in range(source.line_count)] == lines
    assert source.line_text(0) == source.line_text(source.line_count + 1) == ""


def test_columns_count_code_points_and_utf16_units() -> None:
    source = _text("x\n中\U0001f600: e\u0301 v".encode())
    at = source.text.index("v")
    assert source.position(at) == Position(2, 8)
    assert source.utf16_column(at) == 9
    assert source.byte_offset(at) == len("x\n中\U0001f600: e\u0301 ".encode())


def test_offsets_outside_are_the_ends() -> None:
    source = _text(b"ab\nc")
    assert source.position(-5) == Position(1, 1)
    assert source.position(99) == Position(2, 2)


def test_what_is_before_the_text_is_the_mark() -> None:
    source = SourceText("a.yaml", "\ufeffa: 1\n".encode())
    assert (source.byte_offset(-1), source.byte_offset(0)) == (0, 3)


@given(st.text(), st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-32"]))
def test_places_agree_with_counting(text: str, encoding: str) -> None:
    text = text.lstrip("\ufeff\0")  # a NUL behind a UTF-16 mark makes it a UTF-32 mark
    data = text.encode(encoding, "replace")
    source = _text(data)
    text = source.text
    for offset in range(len(text) + 1):
        line, column = source.position(offset)
        start = source.line_start(line)
        assert start + column - 1 == offset
        before = text[:offset].replace("\r\n", "\n").replace("\r", "\n")
        split = text[offset - 1 : offset + 1] == "\r\n"
        assert line == before.count("\n") + 1 - split
        assert data[source.byte_offset(offset) :].decode(source.encoding) == text[offset:]


@given(st.text(st.sampled_from("a\r\n")))
def test_places_near_the_beginning_of_a_long_text_are_the_same(text: str) -> None:
    known = _text(text.encode())
    known.line_starts()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dsec_cli.source.text._LONG", -1)
        found = [_text(text.encode()).position(offset) for offset in range(len(text) + 1)]
    assert found == [known.position(offset) for offset in range(len(text) + 1)]


@given(st.text(), st.integers(1, 7), st.integers(0, 40), st.sampled_from(["utf-8", "utf-16-le"]))
def test_sizes_are_those_of_what_is_in_front(text: str, piece: int, at: int, encoding: str) -> None:
    text = text.encode("utf-16", "replace").decode("utf-16")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sizes, "_PIECE", piece)
        assert sizes.Sizes(text, encoding, "strict").before(at) == len(text[:at].encode(encoding))


@given(st.text(st.sampled_from("a中😀\n")), st.integers(0, 40))
def test_columns_in_bytes_count_from_the_start_of_the_line(text: str, at: int) -> None:
    source = _text(text.encode())
    line = text[:at].split("\n")[-1]
    assert source.utf8_column(at) == len(line.encode()) + 1
    assert source.utf16_column(at) == len(line.encode("utf-16-le")) // 2 + 1
    number = source.position(at).line
    assert text[slice(*source.line_span(number))] == source.line_text(number) == text.split("\n")[number - 1]
