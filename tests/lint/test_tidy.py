"""The usual form of a text: what changes, what stays, and that doing it twice is doing it once."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsec_cli.lint import tidy
from dsec_cli.lint.tidy import says_the_same, tidied
from dsec_cli.source.resolve import plain_value
from dsec_cli.source.text import SourceText
from dsec_cli.source.yaml import parse

GOLDEN = Path(__file__).resolve().parents[1] / "golden"
CONTRACTS = sorted(
    [*GOLDEN.glob("*/*/*.yaml"), *(Path(__file__).resolve().parents[2] / "examples").glob("**/*.yaml")]
)


def source(data: str | bytes) -> SourceText:
    return SourceText("x.yaml", data.encode() if isinstance(data, str) else data)


def form(data: str) -> str:
    """The usual form, as text with its mark."""
    found = tidied(source(data))
    assert found is not None
    return found.data.decode()


CHANGED = [
    ("\ufeffa: 1\n", "a: 1\n"),
    ("a: 1\r\nb: 2\r\nc: 3\n", "a: 1\r\nb: 2\r\nc: 3\r\n"),
    ("a: 1\r\nb: 2\nc: 3\n", "a: 1\nb: 2\nc: 3\n"),
    ("a: 1\rb: 2\nc: 3\n", "a: 1\nb: 2\nc: 3\n"),
    ("a: 1  \n# c \nb: 2\t\n  \nc: 3\n", "a: 1\n# c\nb: 2\n\nc: 3\n"),
    ("\n\na: 1\n\n\n\nb: 2\n\n\n", "a: 1\n\nb: 2\n"),
    ("a: 1", "a: 1\n"),
    ("a: 1\r\nb: 2", "a: 1\r\nb: 2\r\n"),
    ("a:   1\nb :  2\nlong:\t3\n", "a: 1\nb: 2\nlong: 3\n"),
    ("a:   &x  !!str   1\nb: *x\n", "a: &x !!str 1\nb: *x\n"),
    ("a: [ 1,2 ,  3 ]\nb: { c:  1,d: 2, }\n", "a: [1, 2, 3]\nb: {c: 1, d: 2,}\n"),
    ('a: [ ]\nb: { }\nc: { "d":1 }\n', 'a: []\nb: {}\nc: {"d": 1}\n'),
    ("a: [ 1,  # one\n     2 ]\n", "a: [1,  # one\n     2]\n"),
    ("a: 'x'\n'b': 'it''s'\n", 'a: "x"\n"b": "it\'s"\n'),
    (
        "a:\n- 1\n# c\n- b:\n  - 2\nc:\n  - 3\nd:\n  - 4\n",
        "a:\n  - 1\n  # c\n  - b:\n      - 2\nc:\n  - 3\nd:\n  - 4\n",
    ),
    (
        "a:\n- 1\nb:\n- 2\nc:\n    # c\n    - 3\n    - |\n      x\n",
        "a:\n- 1\nb:\n- 2\nc:\n# c\n- 3\n- |\n  x\n",
    ),
    ("a:\n- |2\n    x\n\nc:\n  - 3\n", "a:\n  - |2\n      x\n\nc:\n  - 3\n"),
]


@pytest.mark.parametrize(("before", "after"), CHANGED)
def test_what_changes(before: str, after: str) -> None:
    assert form(before) == after
    assert form(after) == after


KEPT = [
    "",
    "\n",
    "# only a comment\n",
    "a: |\n  x  \n\n\n\n  y\nb: 1\n",
    "a: |+\n  x\n\n\n\nb: 1\n",
    "a: |+\n  x\n\n\n",
    "a: >\n  x\n\n\n\n  y\n",
    "a: |\n  no line end",
    'a: "x  \n\n\n\n  y"\n',
    "a: x\n\n\n\n  y\n",
    "a: 'a \"quoted\" word'\nb: 'back\\slash'\n",
    "a: 1 # c\n",
    "b: &x 1\n*x : 2\n",
    "&a : 1\n",
    "{a: , b: 1}\n",
    "a: {b: }\n",
    "z: 1\na: 2\nm: 3\n",
    "a:\n- 1\nb:\n- 2\n",
    "a:\n    - 1\nb:\n  - 2\n",
    "a: 1\n---\nb: 2\n...\n",
    "# a\n\n# b\na: 1\n\n# c\n",
]


@pytest.mark.parametrize("text", KEPT)
def test_what_stays(text: str) -> None:
    assert form(text) == text


@pytest.mark.parametrize("data", [b"a: [1\n", b"a: \xff\n", b"a: {{ x }}\n", b"- " * 400 + b"\n"])
def test_what_cannot_be_read_has_no_form(data: bytes) -> None:
    assert tidied(source(data)) is None


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("s.py", "x = 1   \ny = [ 1,2 ]   \n"),
        ("run", "#!/bin/sh\necho [ 1,2 ]   \n"),
        ("a.toml", "a = 1   \n"),
    ],
)
def test_a_program_that_reads_as_yaml_has_no_form(name: str, text: str) -> None:
    assert tidied(SourceText(name, text.encode())) is None


def test_wide_encodings_keep_their_mark() -> None:
    data = "\ufeffa:   1".encode("utf-16-le")
    found = tidied(source(data))
    assert found is not None
    assert found.data == "\ufeffa: 1\n".encode("utf-16-le")


def check(data: bytes) -> None:
    """The form says the same in every respect, and is its own form."""
    text = source(data)
    found = tidied(text)
    if found is None:
        return
    old, new = parse(text), parse(found)
    assert says_the_same(old, new)
    assert [plain_value(one.root) for one in old.documents] == [
        plain_value(one.root) for one in new.documents
    ]
    assert [one.text.rstrip() for one in old.comments] == [one.text.rstrip() for one in new.comments]
    again = tidied(found)
    assert again is not None
    assert again.data == found.data


@pytest.mark.parametrize("path", CONTRACTS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_contracts_say_the_same_afterwards(path: Path) -> None:
    check(path.read_bytes())


@pytest.mark.battery
def test_the_public_suite_says_the_same_afterwards(yaml_inputs: dict[str, bytes]) -> None:
    for data in yaml_inputs.values():
        check(data)


PIECES = st.sampled_from(
    [
        *(
            "a: ",
            "b:  ",
            "c :",
            "'d': ",
            "- ",
            "-  ",
            "\n",
            "\r\n",
            "\n\n\n",
            "  ",
            "    ",
            "x",
            "'y'",
            '"z"',
        ),
        *(
            "[ ",
            " ]",
            "{ ",
            " }",
            ", ",
            " ,",
            "# c ",
            " # c",
            "|\n  t \n",
            ">-\n  t\n\n\n",
            "|+\n  t\n\n",
            "&x ",
        ),
        *("*x", "!!str ", "1", "1.10", "---\n", "? ", "\t", "\ufeff", "\u2028", "é😀", "'it''s'", '"\\n  "'),
    ]
)


@given(st.lists(PIECES, max_size=25).map("".join))
def test_any_text_says_the_same_afterwards(text: str) -> None:
    check(text.encode())


@given(st.data())
def test_contracts_in_any_layout_say_the_same_afterwards(data: st.DataObject) -> None:
    text = data.draw(st.sampled_from(CONTRACTS)).read_text("utf-8", "replace")[:3000]
    for _ in range(data.draw(st.integers(0, 6))):
        at = data.draw(st.integers(0, len(text)))
        text = (
            text[:at]
            + data.draw(st.sampled_from([" ", "  ", "\n", "\n\n", "\r", "\t", "'", '"']))
            + text[at:]
        )
    check(text.encode())


def test_an_edit_that_would_change_the_meaning_is_taken_back(monkeypatch: pytest.MonkeyPatch) -> None:
    from dsec_cli.diagnostics import Edit
    from dsec_cli.source.text import Span

    def wrong(text: SourceText, _tree: object) -> list[tuple[Edit, ...]]:
        at = text.text.find("1")
        blank = text.text.find("  #")
        found = [(Edit(Span(at, at + 1), "2"),)] if at >= 0 else []
        return found + ([(Edit(Span(blank, blank + 2), " "),)] if blank >= 0 else [])

    monkeypatch.setattr(tidy, "PASSES", (wrong,))
    assert form("a: 1  # c\n") == "a: 1 # c\n"
