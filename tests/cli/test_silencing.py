"""Suppressions of any contract: what is named is silenced, all else is as it was."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from dsec_cli.diagnostics import Diagnostic
from dsec_cli.lint.linter import lint_all
from dsec_cli.lint.rule import Surroundings
from dsec_cli.source.text import SourceText

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "lint"
CASES = sorted(
    path
    for path in GOLDEN.glob("*/fires*.yaml")
    if not path.parent.name.startswith(("suppression", "unused-suppression")) and path.stat().st_size < 4000
)
ABOUT_SUPPRESSIONS = ("DS901", "DS902", "DS903", "DS904", "DS905")
WHOLE = ("DS001", "DS002", "DS003", "DS005", "DS006", "DS007", "DS010")
"""Findings about the text itself, which a new line at its head may change."""


def found(text: str, name: str) -> tuple[Diagnostic, ...]:
    source = SourceText.from_bytes(name, text.encode("utf-8", "surrogatepass"))
    return lint_all(source, around=Surroundings(today="2026-11-29"))


def essence(diagnostics: tuple[Diagnostic, ...]) -> list[tuple[str, str, str]]:
    return sorted((one.code, one.path, one.message) for one in diagnostics)


def readable(path: Path) -> tuple[str, str]:
    text = path.read_bytes().decode("utf-8", "replace")
    first = text.split("\n")[0].lstrip("# ")
    return text, first if first.endswith(".yaml") else "dsandbox.yaml"


@given(st.sampled_from(CASES), st.randoms(use_true_random=False))
def test_a_file_suppression_silences_its_code_and_nothing_else(path: Path, choice) -> None:
    text, name = readable(path)
    before = found(text, name)
    codes = sorted({one.code for one in before if one.silenced is None} - set(ABOUT_SUPPRESSIONS))
    if not codes or any(one.code in WHOLE for one in before):
        return
    code = choice.choice(codes)
    after = found(f"# dsec: ignore-file[{code}] because\n{text}", name)
    assert essence(after) == essence(before)
    for one in after:
        if one.code == code:
            assert one.silenced is not None
    newly = {one.code for one in after if one.silenced and one.silenced.reason == "because"}
    assert newly == {code}


@given(st.sampled_from(CASES), st.randoms(use_true_random=False))
def test_a_comment_above_silences_the_finding_below(path: Path, choice) -> None:
    """On a line of its own, above the line of the finding, as deep as that line."""
    text, name = readable(path)
    before = [one for one in found(text, name) if one.silenced is None]
    if any(one.code in (*WHOLE, *ABOUT_SUPPRESSIONS) for one in before):
        return
    lines = text.split("\n")
    usable = [
        one for one in before if lines[one.place.start.line - 1].strip() and "\r" not in text and one.path
    ]
    if not usable:
        return
    one = choice.choice(usable)
    at = one.place.start.line - 1
    if any(quote in "\n".join(lines[:at]) for quote in ("|\n", ">\n", "|-", ">-", '"""')):
        return  # the line may lie inside a block of text, where no comment is read
    indent = lines[at][: len(lines[at]) - len(lines[at].lstrip())]
    lines.insert(at, f"{indent}# dsec: ignore[{one.code}] because")
    after = found("\n".join(lines), name)
    silenced = {(same.code, same.path) for same in after if same.silenced is not None}
    assert (one.code, one.path) in silenced
    assert {same.code for same in after if same.silenced is not None} == {one.code}
