"""The programs: parse an ordinary command line without any library and call its command.

What this parser does not know (help, completion, a mistake) goes to Typer in `cli.py`, which is
generated from the same table; importing it costs ten times what a whole lint costs.
"""

from __future__ import annotations

import gc
import os
import sys

from dsec_cli.exit import guarded, leave
from dsec_cli.options import PROGRAMS, Args, attribute, command, defaults

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from dsec_cli.options_shared import Command, Option


_LASTING = frozenset(("lint", "run", "resume"))
"""Commands that keep nearly all they make until they end: looking for garbage on the way, and taking
everything apart at the end, is a fifth of a lint's time and 20 us of each Step that is run."""


def dsec() -> int:
    """Entry of `dsec`."""
    return _enter("dsec")


def contract_lint() -> int:
    """Entry of `ds-contract-lint`, the same as `dsec lint`."""
    return _enter("ds-contract-lint")


def dag_analyze() -> int:
    """Entry of `ds-dag-analyze`, the same as `dsec dag`."""
    return _enter("ds-dag-analyze")


def dsctl() -> int:
    """Entry of `dsctl`, which holds the user settings."""
    return _enter("dsctl")


def _enter(program: str) -> int:
    argv = sys.argv[1:]
    if not _LASTING.isdisjoint((PROGRAMS[program][0], *argv[:1])):
        gc.disable()
        leave(guarded(lambda: run(program, argv)))
    return guarded(lambda: run(program, argv))


def run(program: str, argv: list[str]) -> int:
    """Parse `argv` as `program` does, run the command, and give its exit code."""
    if argv == ["--version"]:
        from dsec import __version__

        sys.stdout.write(f"{program} {__version__}\n")
        return 0
    parsed = parse(program, argv)
    if parsed is None:
        from dsec_cli.cli import parse as parse_with_typer

        parsed = parse_with_typer(program, argv)
    name, args = parsed
    return _main_of(name)(args)


def _main_of(name: str) -> Callable[[Args], int]:
    module = f"dsec_cli.commands.{name}"
    __import__(module)
    main: Callable[[Args], int] = sys.modules[module].main
    return main


def parse(program: str, argv: list[str]) -> tuple[str, Args] | None:
    """The command and its arguments; None where the command line needs Typer's attention."""
    if f"_{program.replace('-', '_').upper()}_COMPLETE" in os.environ:
        return None
    name, names = PROGRAMS[program]
    if not name:
        if not argv or argv[0] not in names:
            return None
        name, argv = argv[0], argv[1:]
    row = command(name)
    if row is None:
        return None
    values = parse_command(row, argv)
    return None if values is None else (name, Args(values))


def parse_command(row: Command, argv: list[str]) -> dict[str, object] | None:
    """The values of one command's options and arguments; None: not understood."""
    values = defaults(row)
    words: list[str] = []
    at = 0
    while at < len(argv):
        word = argv[at]
        at += 1
        if word == "--":
            words += argv[at:]
            break
        if word == "-" or not word.startswith("-"):
            words.append(word)
            continue
        used = (
            _take_long(row, word, argv[at:], values)
            if word[1] == "-"
            else _take_short(row, word, argv[at:], values)
        )
        if used < 0:
            return None
        at += used
    return values if _take_words(row, words, values) else None


def _option(row: Command, *, name: str = "", short: str = "") -> Option | None:
    for option in row[4]:
        if option[0] == name or (short and option[1] == short):
            return option
    return None


def _take_long(row: Command, word: str, rest: list[str], values: dict[str, object]) -> int:
    """Store `--name`, `--name=value` or `--name value`; how many words of `rest` it took, -1: wrong."""
    name, equals, value = word[2:].partition("=")
    option = _option(row, name=name)
    if option is None:
        return -1
    if option[2] == "flag":
        if equals:
            return -1
        values[attribute(name)] = True
        return 0
    if equals:
        return 0 if _store(option, value, values) else -1
    return 1 if rest and _store(option, rest[0], values) else -1


def _take_short(row: Command, word: str, rest: list[str], values: dict[str, object]) -> int:
    """Store `-q`, `-qx`, `-ofile` or `-o file`; how many words of `rest` it took, -1: wrong."""
    for at in range(1, len(word)):
        option = _option(row, short=word[at])
        if option is None:
            return -1
        if option[2] == "flag":
            values[attribute(option[0])] = True
            continue
        if at + 1 < len(word):
            return 0 if _store(option, word[at + 1 :], values) else -1
        return 1 if rest and _store(option, rest[0], values) else -1
    return 0


def _store(option: Option, text: str, values: dict[str, object]) -> bool:
    name, _, kind, _, choices, _, _ = option
    if choices and text not in choices:
        return False
    key = attribute(name)
    if kind == "multi":
        values[key] = (*values[key], text)  # type: ignore[misc]  # a multi option starts as ()
    elif kind == "int":
        digits = text[1:] if text[:1] == "-" else text
        if not (digits.isascii() and digits.isdigit() and len(digits) < 19):
            return False
        values[key] = int(text)
    else:
        values[key] = text
    return True


def _take_words(row: Command, words: list[str], values: dict[str, object]) -> bool:
    """Deal the words to the command's arguments; False: too few, too many, or not a choice."""
    for name, arity, choices, _ in row[3]:
        if arity in ("some", "many"):
            if arity == "some" and not words:
                return False
            values[attribute(name)] = tuple(words)
            words = []
        elif words:
            if choices and words[0] not in choices:
                return False
            values[attribute(name)] = words[0]
            words = words[1:]
        elif arity == "one":
            return False
    return not words
