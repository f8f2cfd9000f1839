"""A wrong command line is answered in one line, by the tables alone."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dsec_cli import cli, grammar
from dsec_cli.completing import offers
from dsec_cli.mistakes import HELP, mistake
from dsec_cli.options import COMMANDS, PROGRAMS
from tests.cli.conftest import Ran, command
from tests.cli.test_grammar import WORDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.options_shared import Command

SAID = [
    ("dsec lnt", "dsec has no command 'lnt'", "did you mean 'lint'?"),
    ("dsec --lang zh lint", "there is no option --lang", "options come after the command: dsec COMMAND"),
    ("dsec lint --fromat json", "there is no option --fromat", "did you mean '--format'?"),
    ("dsec lint -qZ", "there is no option -Z", "dsec lint --help lists them all"),
    ("dsec lint --format jsno", "--format cannot be 'jsno'", "did you mean 'json'?"),
    ("dsec lint -fjsno", "-f cannot be 'jsno'", "did you mean 'json'?"),
    ("ds-contract-lint --quiet=3", "--quiet takes no value", "ds-contract-lint --help lists them all"),
    ("dsec logs --iteration", "--iteration needs a value", "write: --iteration N"),
    ("dsec hash -a", "-a needs a value", "one of blake3, sha256"),
    ("dsec logs x --iteration y", "--iteration takes a whole number, not 'y'", "such as --iteration 3"),
    ("dsec logs a b c", "'c' is a word too many", "write: dsec logs [JOB] [STEP]"),
    ("dsec hash", "PATH is missing", "write: dsec hash PATH"),
    ("dsctl config", "ACTION is missing", "write: dsctl config get|list|set|unset [KEY] [VALUE]"),
    ("dsctl config gte", "ACTION cannot be 'gte'", "did you mean 'get'?"),
    ("dsec status --job-id x", "there is no option --job-id", "JOB is an argument: dsec status JOB"),
    ("dsec logs x --step=S1", "there is no option --step", "STEP is an argument: dsec logs JOB STEP"),
    ("dsec lint --json", "there is no option --json", "did you mean '--format json'?"),
    ("ds-netcheck --loopback", "there is no option --loopback",
     "options come after the command: ds-netcheck COMMAND"),
    ("dsec snapshot --name x", "there is no option --name",
     "options come after the command: dsec snapshot COMMAND"),
    ("dsec cancel --jobs", "there is no option --jobs", "dsec cancel --help lists them all"),
]  # fmt: skip


@pytest.mark.parametrize(("line", "what", "hint"), SAID)
def test_a_mistake_is_named_with_the_way_out(line: str, what: str, hint: str) -> None:
    program, *argv = line.split()
    assert grammar.parse(program, argv) is None
    wrong = mistake(program, argv)
    assert wrong is not None
    assert (wrong.what, wrong.hint) == (what, hint)


EMPTY = [
    ("JOB", ["cancel", ""]),
    ("STEP", ["logs", "j", ""]),
    ("FILE", ["run", ""]),
    ("PATHS", ["lint", "x.yaml", ""]),
    ("FILES", ["plan", ""]),
    ("NAME", ["snapshot", "verify", ""]),
    ("--job-id", ["run", "--job-id", ""]),
    ("--job-id", ["run", "--job-id="]),
    ("-o", ["plan", "-o", ""]),
]


@pytest.mark.parametrize(("called", "argv"), EMPTY)
def test_an_empty_word_is_never_taken_for_nothing(called: str, argv: list[str]) -> None:
    assert grammar.parse("dsec", argv) is None
    wrong = mistake("dsec", argv)
    assert wrong is not None
    assert wrong.what == f"{called} is an empty word"
    assert wrong.hint == "the command line may hold a variable that is not set"


@pytest.mark.parametrize("row", COMMANDS, ids=lambda row: row[0])
def test_no_command_takes_an_empty_name(row: Command) -> None:
    """Empty JOB would be the latest run: only lists, patterns, values and other programs' words may be so."""
    for at, (name, arity, choices, _) in enumerate(row[3]):
        before = [(one[2] or ("x",))[0] for one in row[3][:at]]
        told = grammar.parse_command(row, [*before, ""])
        assert (told is None) == (bool(choices) or name not in {"COMMAND", "VALUE"}), (name, arity)
    for name, _, kind, *_ in row[4]:
        if kind in ("value", "multi") and name not in {"exclude", "grep", "ignore", "select"}:
            assert grammar.parse_command(row, [f"--{name}="]) is None


def test_it_is_one_line_and_exit_code_2(ds: Callable[..., Ran]) -> None:
    for words, environment, said in (
        (["lint", "--fromat"], {}, "there is no option --fromat (hint: did you mean '--format'?)"),
        (["lint", "--fromat", "--lang", "zh"], {}, "没有选项 --fromat"),
        (["lint", "--fromat", "--lang=zh"], {}, "没有选项 --fromat"),
        (["lnt"], {"DSEC_LANG": "zh"}, "没有命令 'lnt'"),
        (["lnt"], {"DSEC_LANG": "xx"}, "has no command 'lnt'"),
    ):  # fmt: skip
        ran = ds("dsec", *words, **{"LANG": "C.UTF-8", "LC_ALL": "", **environment})
        assert ran.returncode == 2
        assert ran.stderr.decode().count("\n") == 1
        assert said in ran.stderr.decode()
        assert ran.stdout == b""


@pytest.mark.parametrize(
    "line",
    [
        "dsec",
        "dsec --help",
        "dsec lint -h",
        "dsec lint x --help -Z",
        "dsctl",
        "ds-contract-lint --show-completion",
    ],
)
def test_help_is_no_mistake(line: str) -> None:
    program, *argv = line.split()
    assert mistake(program, argv) is None


@settings(max_examples=200)
@given(
    st.sampled_from(sorted(PROGRAMS)),
    st.sampled_from(["", *(row[0] for row in COMMANDS)]),
    st.lists(st.sampled_from(WORDS), max_size=5),
)
def test_what_cannot_be_read_has_a_mistake(program: str, name: str, words: list[str]) -> None:
    argv = [*([name] if name else []), *words]
    wrong = mistake(program, argv)
    if grammar.parse(program, argv) is not None:
        assert wrong is None
    elif argv and not set(argv) & {*HELP, "--version"}:
        assert wrong is not None
        assert wrong.hint


@pytest.mark.battery
@pytest.mark.parametrize("words", [("dsec", "--help"), ("dsec",), ("dsec", "run", "--help"), ("dsctl", "-h")])
def test_a_help_page_without_a_reader_ends_with_141(words: tuple[str, ...]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        ran = subprocess.run(command(*words), stdout=writer, stderr=subprocess.PIPE, timeout=60)
    finally:
        os.close(writer)
    assert (ran.returncode, ran.stderr) == (141, b"")


@pytest.mark.battery
def test_a_help_page_colours_as_asked(ds: Callable[..., Ran]) -> None:
    cyan = b"\x1b[36m"
    assert cyan in ds("dsec", "run", "--help", FORCE_COLOR="1", NO_COLOR="").stdout
    assert cyan not in ds("dsec", "run", "--help", FORCE_COLOR="1", NO_COLOR="1").stdout


@pytest.mark.parametrize("name", ["run", "resume"])
def test_a_help_page_tells_each_exit_code_once_in_order(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        cli.parse("dsec", [name, "--help"])
    told = capsys.readouterr().out.partition("Exit codes")[2]
    found = [int(line.split()[0]) for line in told.splitlines() if line[:6].strip().isdigit()]
    assert found == sorted(set(found))
    assert {70, 130, 141, 143} <= set(found)


def test_ds_netcheck_speaks_of_itself(capsys: pytest.CaptureFixture[str]) -> None:
    for words, said in (
        (["--help"], "Usage: ds-netcheck [OPTIONS] COMMAND"),
        (["run", "--help"], "Usage: ds-netcheck run [OPTIONS]"),
    ):
        assert mistake("ds-netcheck", words) is None
        with pytest.raises(SystemExit) as leaving:
            cli.parse("ds-netcheck", words)
        assert leaving.value.code in (0, None)
        page = capsys.readouterr().out
        assert said in page
        assert ("--version" in page) == (len(words) == 1)
    wrong = mistake("ds-netcheck", ["rnu"])
    assert wrong is not None
    assert (wrong.what, wrong.hint) == ("ds-netcheck has no command 'rnu'", "did you mean 'run'?")
    assert [one for one, _ in offers("ds-netcheck", [], "ru")] == ["run"]
