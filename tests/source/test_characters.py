"""Characters that are hidden from the parser, and those that are told of."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsec_cli.source import characters
from dsec_cli.source.text import SourceText


def _as_defined(text: str, at: int) -> bool:
    """Whether only spaces are in front of it in its line, or an indicator outside a comment is."""
    before = text[max(text.rfind("\n", 0, at), text.rfind("\r", 0, at)) + 1 : at].rstrip("\xa0\u3000 ")
    return not before or (before.endswith((":", "-", "?")) and not before.lstrip().startswith("#"))


@given(st.text(st.sampled_from("a:-?#\n\r \t\xa0\u3000")), st.sampled_from("\xa0\u3000"))
def test_a_space_is_judged_by_what_is_before_it_in_its_line(text: str, char: str) -> None:
    wrong = [at for at, one in enumerate(text) if one == char and _as_defined(text, at)]
    assert list(characters._syntax_positions(text, char)) == wrong


@given(st.text(st.sampled_from("ab\x00\x85")))
def test_characters_are_exchanged_alike_in_short_and_long_texts(text: str) -> None:
    table = {0: "\ue000", 0x85: "\ue001"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(characters, "_LONG", 0)
        assert characters.exchanged(text, table) == text.translate(table)


def test_a_binary_file_is_one_problem() -> None:
    """Not one for each of its characters; text with a few control characters is still told of each."""
    program = "\x7fELF" + "".join(map(chr, range(32))) * 3 + "name: x\n"
    told = [one.message for one in characters.prepare(SourceText("a", program.encode())).problems]
    assert told == ["this is a binary file: it holds 30 kinds of control characters"]
    slips = "name: a\0b\x01\x02\n"
    assert len(characters.prepare(SourceText("a", slips.encode())).problems) == 3
