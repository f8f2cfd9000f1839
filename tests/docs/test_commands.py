"""Every command line that a page shows is run, and prints what the page says.

In a block, a line `$ command` is run and the lines below it are what it prints. Commands of one
page run in order, in one copy of the examples, and keep their folder. A command must succeed
unless the next one is `echo $?`. In the shown output, a line `...` stands for any number of
lines and `...` within a line for anything. Durations, sizes of memory, hashes, dates, process
ids and figures with two or more decimals differ from run to run and from machine to machine:
only their presence is compared. Blank lines and the width of gaps do not count.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from tests import examples
from tests.netcheck.labs import missing

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(
    path.relative_to(ROOT).as_posix()
    for path in (*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/**/*.md"))
    if "```console" in path.read_text(encoding="utf-8")
)

BLOCK = re.compile(r"^( *)```console\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
DEADLINE_S = 400

VARYING = (
    (re.compile(r"\b[0-9a-f]{8,64}\b(?:…|\.\.\.)?"), "<hash>"),
    (re.compile(r"\b\d{4}-\d\d-\d\d[ T]?(?:\d\d:\d\d(?::\d\d)?)?Z?"), "<date>"),
    (re.compile(r"\b\d\d:\d\d(?::\d\d)?\b"), "<time>"),
    (re.compile(r"\b\d+(?:\.\d+)? ?(?:µs|us|ms|s|min|h)\b"), "<duration>"),
    (re.compile(r"\b\d+(?:\.\d+)? ?(?:B|[KMGT]i?B)\b"), "<size>"),
    (re.compile(r"\b\d+(?:\.\d+)? ?%"), "<share>"),
    (re.compile(r"-?\b\d+\.\d\d+\b"), "<figure>"),
    (re.compile(r"[▁▂▃▄▅▆▇█ ]+"), " "),
    (re.compile(r"─+|━+|-{3,}"), "-"),
)


class Command(NamedTuple):
    """One `$ ` line with what the page says it prints."""

    line: int
    text: str
    shown: tuple[str, ...]


def commands(page: str) -> list[Command]:
    """Return the commands of all console blocks of a page, in order."""
    found: list[Command] = []
    for block in BLOCK.finditer(page):
        first = page.count("\n", 0, block.start(2)) + 1
        for number, raw in enumerate(block[2].splitlines(), first):
            text = raw.removeprefix(block[1])
            if text.startswith("$ "):
                found.append(Command(number, text[2:], ()))
            elif found and found[-1].text.endswith("\\"):
                found[-1] = found[-1]._replace(text=f"{found[-1].text}\n{text.removeprefix('> ')}")
            else:
                assert found, f"line {number}: output before any command"
                found[-1] = found[-1]._replace(shown=(*found[-1].shown, text))
    return found


def essence(line: str) -> str:
    """Return a line without what differs from run to run."""
    for pattern, word in VARYING:
        line = pattern.sub(word, line)
    return line.strip()


def pattern(line: str) -> str:
    """Return the regular expression that a shown line stands for."""
    return ".*".join(re.escape(essence(part)) if part.strip() else "" for part in line.split("..."))


JOB_KILLED = re.compile(r"bash: line \d+: +\d+ Killed ")


def matches(shown: tuple[str, ...], printed: list[str]) -> bool:
    """Say whether a page's lines stand for the printed ones."""
    want = [line for line in shown if line.strip()]
    rows = "".join(
        r"(?:[^\n]*\n)*?" if line.strip() == "..." else pattern(line).replace(".*", r"[^\n]*") + r"[ ]*\n"
        for line in want
    )
    have = "".join(f"{essence(line)}\n" for line in printed if line.strip())
    return re.fullmatch(rows, have) is not None


class Session:
    """A shell that remembers its folder and its last exit status between commands."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self.folder = folder
        self.environment = environment
        self.status = 0
        self.place = folder.parent / "place"

    def run(self, text: str) -> list[str]:
        """Run one command line; return the lines of its standard output and error."""
        script = (
            f"(exit {self.status})\n{text}\nstatus=$?\npwd > {shlex.quote(str(self.place))}\nexit $status\n"
        )
        with subprocess.Popen(
            ["bash", "-c", script],
            cwd=self.folder,
            env=os.environ | self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            start_new_session=True,
        ) as process:
            try:
                out, _ = process.communicate(timeout=DEADLINE_S)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, 9)
                raise
        self.status = process.returncode
        if self.place.exists():
            self.folder = Path(self.place.read_text().rstrip("\n"))
        # A shell without a terminal tells of a killed job whenever it happens to notice.
        return [line for line in out.splitlines() if not JOB_KILLED.match(line)]


@pytest.fixture
def session(tmp_path: Path) -> Session:
    """A shell in a copy of what a reader's checkout holds, with the commands on PATH."""
    copy = tmp_path / "dsec"
    examples.copied("", copy / "examples")
    programs = Path(sys.executable).parent
    search = f"{programs}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    environment = {"PATH": search, "COLUMNS": "100", "LC_ALL": "C.UTF-8", "PYTHONUNBUFFERED": "1"}
    return Session(copy, environment)


@pytest.mark.battery
@pytest.mark.parametrize("name", PAGES)
def test_the_commands_of_a_page_do_what_it_shows(name: str, session: Session) -> None:
    steps = commands((ROOT / name).read_text(encoding="utf-8"))
    asked = [step.text == "echo $?" for step in steps[1:]] + [False]
    for step, status_follows in zip(steps, asked, strict=True):
        if (program := step.text.split()[0]) in ("dot", "git", "jq", "make") and not shutil.which(program):
            pytest.skip(f"{program} is not installed")
        if step.text.startswith("ds-netcheck lab") and (why := missing("nft")):
            pytest.skip(why)
        printed = session.run(step.text)
        place = f"{name}:{step.line}: $ {step.text}"
        assert status_follows or session.status == 0, "\n".join([f"{place}: exit {session.status}", *printed])
        assert matches(step.shown, printed), "\n".join(
            [place, "-- shown", *step.shown, "-- printed", *printed]
        )


INSTALLING = {("git", "clone"), ("pip", "install"), ("python3", "-m"), ("cd", "dsec")}


def test_other_blocks_hold_only_installation_and_make_targets() -> None:
    """What cannot run here (a download, a whole test suite) is kept to lines that are known."""
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    blocks = re.compile(r"^ *```(?:sh|bash|shell)\n(.*?)^ *```", re.MULTILINE | re.DOTALL)
    for path in (*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")):
        for line in "\n".join(blocks.findall(path.read_text(encoding="utf-8"))).splitlines():
            words = line.split("#")[0].split()
            if words[:1] == ["make"]:
                assert words[1] in targets, f"{path.name}: no such target: {line}"
            elif words and words[0] != ".":
                assert tuple(words[:2]) in INSTALLING, f"{path.name}: show it in a console block: {line}"


@pytest.mark.parametrize(
    ("shown", "printed", "same"),
    [
        (("a", "...", "z"), ["a", "b", "c", "z"], True),
        (("a", "...", "z"), ["a", "b", "c"], False),
        (("took 3.1 s",), ["took 12 ms"], True),
        (("took 3.1 s",), ["took long"], False),
        (("plan 0123456789abcdef",), ["plan fedcba9876543210"], True),
        (("2 errors ... found",), ["2 errors, 1 warning found"], True),
        (("2 errors",), ["3 errors"], False),
        ((), ["something"], False),
        (("...",), [], True),
    ],
)
def test_comparison(shown: tuple[str, ...], printed: list[str], same: bool) -> None:
    assert matches(shown, printed) is same


def test_continuation_lines_and_outputs_are_read() -> None:
    page = "x\n```console\n$ one \\\n>   more\nout\n$ two\n```\n"
    assert [(c.line, c.text, c.shown) for c in commands(page)] == [
        (3, "one \\\n  more", ("out",)),
        (6, "two", ()),
    ]


def test_links_between_pages_lead_somewhere() -> None:
    for path in (*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")):
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", path.read_text(encoding="utf-8")):
            assert (path.parent / target).exists(), f"{path.relative_to(ROOT)} links to {target}"
