"""The fast parser and Typer read one table and must agree on every command line."""

from __future__ import annotations

import importlib
import importlib.util
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dsec_cli import cli, grammar
from dsec_cli.options import COMMANDS, PROGRAMS, attribute

ROWS = {row[0]: row for row in COMMANDS}


def both(program: str, argv: list[str]) -> tuple[object, object]:
    """What each parser makes of a command line; None: refused."""
    quick = grammar.parse(program, argv)
    try:
        slow = cli.parse(program, argv)
    except SystemExit:
        slow = None
    return _seen(quick), _seen(slow)


def _seen(parsed: object) -> object:
    return None if parsed is None else (parsed[0], vars(parsed[1]))  # type: ignore[index]


def required(row) -> list[str]:
    return [(choices or ("x",))[0] for _, arity, choices, _ in row[3] if arity in ("one", "some")]


def value(option) -> str:
    if option[4]:
        return next(choice for choice in option[4] if choice != option[5])
    return "7" if option[2] == "int" else "some text"


def spellings(option) -> list[list[str]]:
    name, short, kind = option[:3]
    if kind == "flag":
        return [[f"--{name}"], *([[f"-{short}"]] if short else [])]
    text = value(option)
    long = [[f"--{name}", text], [f"--{name}={text}"]]
    return long + ([[f"-{short}", text], [f"-{short}{text}"]] if short else [])


CASES = [
    pytest.param(row[0], words, id=f"{row[0]} {' '.join(words)}")
    for row in COMMANDS
    for option in row[4]
    for words in spellings(option)
]


@pytest.mark.battery
@pytest.mark.parametrize(("name", "words"), CASES)
def test_every_option_reads_the_same(name: str, words: list[str]) -> None:
    quick, slow = both("dsec", [name, *required(ROWS[name]), *words])
    assert quick is not None
    assert quick == slow
    assert quick != both("dsec", [name, *required(ROWS[name])])[0]


@pytest.mark.parametrize("name", ROWS)
def test_a_bare_command_reads_the_same(name: str) -> None:
    argv = [name, *required(ROWS[name])]
    quick, slow = both("dsec", argv)
    assert quick is not None
    assert quick == slow


@pytest.mark.parametrize("program", [p for p, (only, _) in PROGRAMS.items() if only in ROWS])
def test_a_program_is_its_command(program: str) -> None:
    only, _ = PROGRAMS[program]
    words = required(ROWS[only])
    assert grammar.parse(program, words) is not None
    assert _seen(grammar.parse(program, words)) == _seen(grammar.parse("dsec", [only, *words]))
    assert both(program, words)[1] == both("dsec", [only, *words])[1]


WORDS = sorted(
    {"-", "--", "x", "", "-h", "--help", "-x", "--no-such", "--format=", "-1", "--json=1", "get", "color"}
    | {word for row in COMMANDS for option in row[4] for words in spellings(option) for word in words}
    | {choice for row in COMMANDS for argument in row[3] for choice in argument[2]}
)


@pytest.mark.battery
@settings(max_examples=60)
@given(st.sampled_from(sorted(ROWS)), st.lists(st.sampled_from(WORDS), max_size=5))
def test_any_command_line_reads_the_same(name: str, words: list[str]) -> None:
    quick, slow = both("dsec", [name, *words])
    if quick is None:
        assert slow is None
    else:
        assert quick == slow


@pytest.mark.parametrize(
    "argv", [[], ["lnt"], ["--nope"], ["lint", "--format"], ["config"], ["config", "gt"]]
)
def test_mistakes_leave_with_2(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as leaving:
        cli.parse("dsec", argv)
    assert leaving.value.code == 2
    said = capsys.readouterr()
    assert "Traceback" not in said.err + said.out


def test_help_breaks_no_choice_in_two(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """At 80 columns; `[error|warning|info|n` and `ever]` below it could not be read."""
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit):
        cli.parse("dsec", ["lint", "--help"])
    words = re.findall(r"[a-z]+", capsys.readouterr().out)
    for option in ROWS["lint"][4]:
        assert set(option[4]) <= set(words), option[0]


@pytest.mark.parametrize("name", ROWS)
def test_help_is_a_page(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    with pytest.raises(SystemExit) as leaving:
        cli.parse("dsec", [name, "--help"])
    assert leaving.value.code in (0, None)
    page = capsys.readouterr().out
    row = ROWS[name]
    assert "Exit codes" in page
    assert "<bool>" not in page
    for option in row[4]:
        assert f"--{option[0]}" in page
    for line, _ in row[5]:
        assert line in page


@pytest.mark.parametrize("row", COMMANDS, ids=lambda row: row[0])
def test_table_is_whole(row) -> None:
    name, summary, description, arguments, options, examples, exits = row
    assert callable(
        importlib.import_module(f"dsec_cli.commands.{name.replace('-', '_').replace(' ', '_')}").main
    )
    assert summary.endswith(".")
    assert all(text.endswith(".") for text in description)
    assert examples
    assert {0} <= {code for code, _ in exits} <= {0, 1, 2, 3, 127, 129, 130, 143}
    names = [attribute(one[0]) for one in (*arguments, *options)]
    shorts = [option[1] for option in options if option[1]]
    assert len(set(names)) == len(names)
    assert len(set(shorts)) == len(shorts)
    for _, _, kind, metavar, choices, default, text in options:
        assert kind in ("flag", "value", "int", "multi")
        assert bool(metavar) == (kind != "flag")
        assert default is None or not choices or default in choices
        assert text.endswith(".")
    assert [option[0] for option in options] == sorted(option[0] for option in options)


def test_commands_are_in_order() -> None:
    assert [row[0] for row in COMMANDS] == sorted(ROWS)


@pytest.mark.parametrize("row", COMMANDS, ids=lambda row: row[0])
def test_examples_parse(row) -> None:
    import shlex

    for line, _ in row[5]:
        line = line.split(" > ")[0]
        words = shlex.split(line.split(" | ")[-1] if line.startswith("git ") else line.split(" | ")[0])
        if words[0] in PROGRAMS and words[-1] not in ("--help", "--version"):
            assert grammar.parse(words[0], words[1:]) is not None, line


def test_formats_are_the_choices() -> None:
    from dsec_cli.discovery import instances
    from dsec_cli.report.format import Format

    found = {one.name for one in instances("dsec_cli.report.formats", Format)}
    choices = next(option[4] for option in ROWS["lint"][4] if option[0] == "format")
    assert found == set(choices)
