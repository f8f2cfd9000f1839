"""Text of others in every output: what a terminal obeys, what a CI system obeys, markup."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsec import markup
from dsec_cli.report.output import harmless

from .conftest import Commands

HOSTILE = "x\\e]0;TITLE\\a\\e[31m\\n::error::injected\\n</td><img src=x>![p](http://x/y)\\u202E\\x9b2J|`\\t##[error]a"
"""As a double-quoted scalar of YAML."""
CONTRACT = f"""\
version: "1.0.0"
name: "{HOSTILE}"
baseline: {{cpu: 1, memory: 256MiB}}
elasticity: {{gpu: {{min_count: 0, max_count: 0}}}}
fault_tolerance: {{level: pauseable, checkpoint_grace_period: 1s}}
dependencies: []
steps:
  - id: a
    name: "{HOSTILE}"
    run: [sh, -c, "printf 'out\\\\033]0;T\\\\007\\\\n::error::logged\\\\n<img src=x>\\\\n'; exit 1"]
    timeout: 5s
  - {{id: b, name: "{HOSTILE}", call: "job:go", timeout: 5s, needs: []}}
  - {{id: c, run: [echo, "{HOSTILE}"], timeout: 5s, "{HOSTILE}": 1}}
"""
RUNNABLE = CONTRACT.replace(f', "{HOSTILE}": 1', "")
OBEYED = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
COMMANDS = re.compile(r"^\s*(::[a-z-]+|##\[)", re.MULTILINE)


def acts(text: str) -> list[str]:
    """What of the text a terminal or a CI system would obey."""
    return OBEYED.findall(text) + [found[0] for found in COMMANDS.findall(text)]


@pytest.fixture
def hostile(clone: Path) -> Path:
    (clone / "dsandbox.yaml").write_text(CONTRACT)
    return clone


@pytest.mark.battery
@pytest.mark.parametrize(
    "words",
    [
        *(("lint", "-f", name) for name in ("text", "concise", "markdown", "json", "jsonl", "sarif", "junit",
                                            "gitlab", "rdjson")),
        ("lint", "-q"), ("fmt", "--check"), ("plan",), ("dag",), ("dag", "--output", "mermaid"),
        ("dag", "--output", "dot"), ("dag", "--output", "json"), ("simulate",), ("packages",), ("code", "."),
        ("lint", "--lang", "zh"), ("schema", "print", "contract"),
    ],
    ids=" ".join,
)  # fmt: skip
def test_what_is_written_of_a_contract_acts_on_nothing(
    dsec: Commands, hostile: Path, words: tuple[str, ...]
) -> None:
    ran = dsec(*words)
    assert acts(ran.err) == []
    machine = words[-1] in ("json", "jsonl", "sarif", "gitlab", "rdjson")
    assert acts(ran.out) == [] or machine, ran.out
    if machine:
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", ran.out)
        for line in ran.out.splitlines() if words[-1] == "jsonl" else [ran.out]:
            json.loads(line) if line else None


def test_github_gets_only_our_commands(dsec: Commands, hostile: Path) -> None:
    ran = dsec("lint", "-f", "github")
    lines = ran.out.splitlines()
    assert lines
    assert all(re.match(r"::(error|warning|notice) file=dsandbox\.yaml,line=\d", line) for line in lines)


@pytest.fixture
def run(hostile: Path, dsec: Commands) -> Path:
    (hostile / "dsandbox.yaml").write_text(RUNNABLE)
    (hostile / "job.py").write_text(
        "def go(context):\n    raise ValueError('\\x1b[2J\\n::error::raised <img src=x> \\u202e')\n"
    )
    ran = dsec("run", "--job-id", "j", "--keep-going")
    assert ran.code == 1, ran
    assert acts(ran.out + ran.err) == []
    return hostile / ".dsec" / "runs" / "j"


class Tags(HTMLParser):
    """The tags of a page whose source is not ours."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.images: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if ("src", "x") in attrs:
            self.images.append(tag)


def test_what_is_written_of_a_run_acts_on_nothing(dsec: Commands, run: Path) -> None:
    looks = [("status",), ("report",), ("top", "--once"), ("status", "--why", "a"), ("dag", "--job-id", "j")]
    for words in looks:
        ran = dsec(*words)
        assert acts(ran.out + ran.err) == [], words
    report = (run / "report.md").read_text()
    assert acts(report) == []
    assert not re.search(r"<[A-Za-z/!]", report)
    assert not re.search(r"!\[[^\]]*\]\(", report)
    for words in (("report",), ("dag",), ("dag", "--job-id", "j")):
        drawn = dsec(*words, "--output", "html").out
        assert drawn.startswith("<!")
        assert OBEYED.findall(drawn) == []
    page = dsec("report", "--output", "html").out
    assert page.startswith("<!")
    assert Tags(page).images == []


def test_logs_are_bytes_for_pipes(dsec: Commands, run: Path) -> None:
    """Whoever pipes a log wants what was printed."""
    assert "\x1b]0;T\x07" in dsec("logs", "j", "a").out


@given(st.text())
def test_one_line_stays_one_line_and_acts_on_nothing(text: str) -> None:
    for made in (markup.terminal_text(text), markup.markdown_text(text), markup.markdown_line(text)):
        assert "\n" not in made
        assert not OBEYED.search(made)
    assert not re.search(r"<[A-Za-z/!?]", markup.markdown_line(text))
    assert not re.search(r"(?<!\\)[<>`|]", markup.markdown_text(text))


@given(st.text(alphabet=st.sampled_from(list("\x1b[]01;8mJ\n:#err \x9b\u202e\r"))))
def test_lines_act_on_nothing(text: str) -> None:
    assert acts(markup.terminal_lines(text).replace("\r\n", "\n")) == []
    colored = re.sub(r"\x1b\[[0-9;]*m", "", markup.terminal_lines(text, color=True))
    assert OBEYED.findall(colored.replace("\r\n", "\n")) == []
    assert "\x1b[8m" not in markup.terminal_lines(text, color=True)


@given(st.text())
def test_markup_is_text_again_for_who_reads_it(text: str) -> None:
    found = ET.fromstring(f"<a>{markup.xml_text(text)}</a>")
    assert len(found) == 0
    page = Tags(f"<p title='{markup.html_text(text)}'>{markup.html_text(text)}</p>")
    assert page.images == []
    assert json.loads(harmless(json.dumps({"a": text}, ensure_ascii=False))) == {"a": text}
    assert "\n" not in markup.github_data(text)
    assert not {":", ",", "\n", "\r"} & set(markup.github_property(text))


def test_our_colours_stay_where_they_are_wanted() -> None:
    assert harmless("\x1b[1;31mx\x1b[0m\n", color=True) == "\x1b[1;31mx\x1b[0m\n"
    assert harmless("\x1b[1;31mx\n") == "<U+001B>[1;31mx\n"
