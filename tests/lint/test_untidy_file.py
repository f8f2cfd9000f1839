"""Where DS007 stands: every mixture of line ends there is in short texts."""

from __future__ import annotations

from itertools import product

from dsec_cli.lint.linter import lint
from dsec_cli.source.text import SourceText

TEXTS = ["".join(chars) for length in range(1, 6) for chars in product("\r\na", repeat=length)]
ENDS = {"CR LF": "\r\n", "LF": "\n", "CR": "\r"}


def test_the_rarer_line_end_is_marked() -> None:
    told = 0
    for text in TEXTS:
        for one in lint(SourceText.from_bytes("dsandbox.yaml", text.encode()), select=["DS007"]):
            start, end = one.place.span
            assert 0 <= start < end <= len(text), repr(text)
            if " with " in one.message:
                told += 1
                odd = ENDS[one.message.partition(" with ")[2].partition(",")[0]]
                assert text[start:end] == odd, repr(text)
                assert odd == "\r\n" or "\r\n" not in (text[max(start - 1, 0) : end], text[start : end + 1])
    assert told
