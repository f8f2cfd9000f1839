"""The formats text and JSON in detail; `test_format_goldens` has what all of them owe."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from dsec_cli.diagnostics import Severity
from dsec_cli.report.formats import json as json_format
from dsec_cli.report.formats import text as text_format
from dsec_cli.source.text import SourceText

from .reports import found, place, report

TEXT = SourceText.from_bytes("a b/合同.yaml", "\ufeff# 智能体\n内存: 😀 24G\t# x\nend: 1\n".encode())


def test_text_block() -> None:
    one = found(TEXT, "24G", reason="G is two things.", help="write 24Gi")
    assert text_format.render(report(one, texts=(TEXT,))) == (
        "a b/合同.yaml:2:7: error[DS106] '24G' has no meaning\n"
        "2 | 内存: 😀 24G    # x\n"
        "  |          ^^^\n"
        "  why: G is two things.\n"
        "  help: write 24Gi\n"
        "  rule: bad-quantity (dsec explain DS106)\n"
        "\n"
        "1 error\n"
    )


def test_text_quiet() -> None:
    assert text_format.render(report(found(TEXT, "24G"), texts=(TEXT,), quiet=True)) == (
        "a b/合同.yaml:2:7: error[DS106] '24G' has no meaning\n"
    )


def test_text_related_places() -> None:
    other = SourceText.from_bytes("other.yaml", b"steps: []\n")
    places = (
        (place(TEXT, 0, 1), "first here"),
        (place(other, 0, 5), "and there"),
        (place(TEXT, 12, 15), "same"),
    )
    one = found(TEXT, "24G", related=places)
    assert text_format.render(report(one, texts=(TEXT, other), quiet=False)).splitlines()[1:8] == [
        "1 | # 智能体",
        "  | - first here",
        "2 | 内存: 😀 24G    # x",
        "  |          ^^^ same",
        "::: other.yaml:1",
        "1 | steps: []",
        "  | ----- and there",
    ]


def test_text_long_lines_are_cut_around_the_place() -> None:
    text = SourceText.from_bytes("x.yaml", ("a: " + "x" * 300 + " 24G " + "y" * 300 + "\n").encode())
    lines = text_format.render(report(found(text, "24G"), texts=(text,), width=60)).splitlines()
    assert "24G" in lines[1]
    assert all(len(line) <= 60 for line in lines[1:])
    assert lines[2].index("^") == lines[1].index("24G")


def test_text_place_over_several_lines() -> None:
    text = SourceText.from_bytes("x.yaml", b"a:\n  - b\n  - c\nd: 1\n")
    one = found(text, "- b\n  - c")
    assert text_format.render(report(one, texts=(text,))).splitlines()[1:3] == [
        "2 |   - b",
        "  |   ^^^",
    ]


def test_text_secret_is_never_shown() -> None:
    text = SourceText.from_bytes("x.yaml", b"env: {A: hunter2secret, B: 24G}\n")
    shown = text_format.render(
        report(
            found(text, "hunter2secret", code="DS601", message="a secret"),
            found(text, "24G"),
            texts=(text,),
            color=True,
        )
    )
    assert "hunter2" not in shown
    assert "*************, B: " in shown


def test_text_obeys_no_control_character() -> None:
    text = SourceText.from_bytes("x\x1b]0;.yaml", b"a: \x1b[2J24G\x07\n")
    assert "\x1b" not in text_format.render(report(found(text, "24G", message="\x1b[2J"), texts=(text,)))


def test_text_sum() -> None:
    warning = found(TEXT, "24G", severity=Severity.WARNING)
    remark = found(TEXT, "end", severity=Severity.INFO)
    other = SourceText.from_bytes("z.yaml", b"")
    last = text_format.render(report(warning, warning, remark, texts=(TEXT, other))).splitlines()[-1]
    assert last == "2 warnings, 1 remark in 1 of 2 files"


def test_json_places_count_in_every_unit() -> None:
    document = json.loads(json_format.FORMAT.render(report(found(TEXT, "24G"), texts=(TEXT,))))
    assert document["format"] == "dsec.lint/1"
    assert document["summary"] == {"error": 1, "warning": 0, "info": 0, "silenced": 0}
    (one,) = document["diagnostics"]
    assert one["place"]["start"] == {"line": 2, "column": 7, "utf16_column": 8, "offset": 12, "byte": 28}
    assert TEXT.data[28:31] == b"24G"


@given(st.text(max_size=60), st.integers(0, 60), st.integers(0, 60))
def test_json_bytes_are_the_place(content: str, start: int, length: int) -> None:
    text = SourceText.from_bytes("x", content.encode("utf-8", "replace"))
    start = min(start, len(text.text))
    end = min(start + length, len(text.text))
    one = found(TEXT, "24G", place=place(text, start, end))
    point = json.loads(json_format.FORMAT.render(report(one, texts=(text,))))["diagnostics"][0]["place"]
    assert text.data[point["start"]["byte"] : point["end"]["byte"]].decode() == text.text[start:end]


def test_text_headlines_are_folded_for_terminals_only() -> None:
    one = found(TEXT, "24G", message="one two three four five six seven eight nine ten")
    piped = text_format.render(report(one, texts=(TEXT,), quiet=True, width=40))
    assert piped.count("\n") == 1
    shown = text_format.render(report(one, texts=(TEXT,), quiet=True, width=40, fold=True))
    assert shown.split() == piped.split()
    assert shown.startswith("a b/合同.yaml:2:7: error[DS106] one\n  two three")
    assert max(map(len, shown.splitlines())) <= 40
