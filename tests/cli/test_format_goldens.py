"""Each format writes one report as its golden file says; `make bless` rewrites them."""

from __future__ import annotations

import json
import os
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from dsec import __version__
from dsec_cli.discovery import instances
from dsec_cli.report.format import Format
from dsec_cli.source.text import SourceText
from dsec_cli.words import Said, translated

from .reports import CLEAN, at, everything, found, report

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "report"
FORMATS = instances("dsec_cli.report.formats", Format)


def _named(name: str) -> Format:
    return next(one for one in FORMATS if one.name == name)


@pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.name)
def test_golden_of_a_format(form: Format) -> None:
    written = form.render(everything()).replace(f'"{__version__}"', '"VERSION"')
    path = GOLDEN / f"{form.name}.out"
    if os.environ.get("DSEC_BLESS"):
        path.write_text(written, "utf-8")
    assert written == path.read_text("utf-8")


def test_goldens_are_of_formats() -> None:
    assert sorted(path.stem for path in GOLDEN.iterdir()) == sorted(form.name for form in FORMATS)


@pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.name)
def test_a_format_is_named_like_its_file_and_ends_its_last_line(form: Format) -> None:
    assert form.pieces.__module__ == f"dsec_cli.report.formats.{form.name}"
    assert form.render(everything()).endswith("\n")


@pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.name)
def test_no_format_shows_a_secret(form: Format) -> None:
    assert "hunter2" not in form.render(everything(color=True))


@pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.name)
def test_a_report_without_findings(form: Format) -> None:
    written = form.render(report(texts=(CLEAN,)))
    quiet = {"concise": "", "github": "", "text": "1 file checked, nothing found\n"}
    if form.name in quiet:
        assert written == quiet[form.name]
    elif form.name not in ("junit", "jsonl", "markdown"):
        json.loads(written)


@pytest.mark.parametrize("name", ["concise", "github", "gitlab", "rdjson", "text", "markdown"])
def test_what_is_silenced_is_not_shown_where_it_cannot_be_marked(name: str) -> None:
    assert "token is a secret" not in _named(name).render(everything())


@pytest.mark.parametrize("name", ["json", "jsonl", "sarif", "junit"])
def test_what_is_silenced_stays_where_it_can_be_marked(name: str) -> None:
    written = _named(name).render(everything())
    assert "rotated, ticket 7" in written
    assert "we know" in written


@pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.name)
def test_formats_have_no_words_of_their_own_that_cannot_be_translated(form: Format) -> None:
    """A language whose catalogue turns every text of ours into x leaves no English word of a format."""
    said: list[str] = []

    def tell(text: str) -> str:
        assert isinstance(text, Said), f"{text!r} was not made by say"
        said.append(text.template)
        return translated(text, {text.template: "x"})

    plain = form.render(everything())
    written = form.render(everything(tell=tell))
    for template in said:
        for word in re.sub(r"\{\w+\}", " ", template).replace(",", " ").split():
            assert written.count(word) < plain.count(word), template
    assert bool(said) == (form.name in ("text", "markdown", "sarif"))


def test_junit_is_xml_whatever_a_finding_says() -> None:
    nasty = "a\x00b\x1b[31m]]> \ud800 \uffff <&\"'> \U0001f600"
    written = _named("junit").render(report(found(CLEAN, "a", message=nasty, help=nasty), texts=(CLEAN,)))
    whole = ElementTree.fromstring(written.encode("utf-8"))
    (failure,) = whole.iter("failure")
    assert failure.get("message") == "a\\u0000b\\u001b[31m]]> \\ud800 \\uffff <&\"'> \U0001f600"
    assert whole.get("failures") == "1"


def test_junit_counts_add_up() -> None:
    whole = ElementTree.fromstring(_named("junit").render(everything()).encode())
    for suite in (whole, *whole.iter("testsuite")):
        assert int(suite.get("tests", "")) == len(list(suite.iter("testcase")))
        assert int(suite.get("failures", "")) == len(list(suite.iter("failure")))
        assert int(suite.get("skipped", "")) == len(list(suite.iter("skipped")))


def test_github_commands_are_one_line_each() -> None:
    one = found(CLEAN, "a", message="50%\r\n::error::x", reason="b, c: d")
    written = _named("github").render(report(one, texts=(CLEAN,)))
    assert written == (
        "::error file=clean.yaml,line=1,col=1,endColumn=2,title=DS106 bad-quantity"
        "::50%25%0D%0A::error::x%0Ab, c: d\n"
    )


def test_jsonl_is_json_line_by_line() -> None:
    lines = [json.loads(line) for line in _named("jsonl").render(everything()).splitlines()]
    whole = json.loads(_named("json").render(everything()))
    assert [line.pop("kind") for line in lines] == ["finding"] * 5 + ["summary"]
    assert lines[:-1] == whole.pop("diagnostics")
    assert lines[-1] == whole


def test_rdjson_columns_count_bytes() -> None:
    first = json.loads(_named("rdjson").render(everything()))["diagnostics"][0]
    before = len("内存: 😀 ".encode())
    assert first["location"]["range"] == {
        "start": {"line": 2, "column": before + 1},
        "end": {"line": 2, "column": before + 4},
    }
    assert first["suggestions"] == [{"range": first["location"]["range"], "text": "24Gi"}]


def test_gitlab_fingerprints_are_unique() -> None:
    twice = report(*[found(CLEAN, "a")] * 3, texts=(CLEAN,))
    entries = json.loads(_named("gitlab").render(twice))
    assert len({entry["fingerprint"] for entry in entries}) == 3


def test_the_sum_says_what_is_silenced() -> None:
    assert _named("text").render(everything()).splitlines()[-2:] == [
        "note: 3 findings are older than main and not shown",
        "1 error, 1 warning, 1 remark, 2 silenced in 2 of 3 files",
    ]
    only = everything()
    only = only._replace(diagnostics=tuple(one for one in only.diagnostics if one.silenced))
    assert _named("text").render(only).endswith("3 files checked, nothing found, 2 silenced\n")


@pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.name)
def test_a_related_place_may_lie_in_a_file_that_was_not_linted(form: Format) -> None:
    code = SourceText.from_bytes("agent.py", b"import os\nos.environ['KEY']\n")
    one = found(CLEAN, "a", related=((at(code, "os.environ"), "read here"),))
    written = form.render(report(one, texts=(CLEAN,)))
    if form.name in ("json", "rdjson", "sarif"):
        assert "agent.py" in written
        json.loads(written)
