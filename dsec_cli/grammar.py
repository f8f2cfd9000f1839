"""Reads an ordinary command line by the option tables, without any library.

What it does not know goes to `mistakes`, or for help to Typer in `cli`, which is generated from the
same tables; importing it costs ten times what a whole lint costs.
"""

from __future__ import annotations

from dsec_cli.options_args import MAY_BE_EMPTY, OF_GROUP, Args, attribute, defaults

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.options_shared import Command, Option


def parse(program: str, argv: list[str]) -> tuple[str, Args] | None:
    """The command and its arguments; None where the command line needs Typer's attention."""
    row, argv = command_of(program, argv)
    if row is None:
        return None
    values = parse_command(row, argv)
    return None if values is None else (row[0], Args(values))


def command_of(program: str, argv: list[str]) -> tuple[Command | None, list[str]]:
    """The command that is meant, and its words."""
    if program == "ds-contract-lint" or (program == "dsec" and argv[:1] == ["lint"]):
        from dsec_cli.options_lint import LINT  # the tables of all commands cost as much as twenty rules

        return LINT, argv if program == "ds-contract-lint" else argv[1:]
    if program == "ds-dag-analyze" or (program == "dsec" and argv[:1] == ["dag"]):
        from dsec_cli.options_contract import DAG

        return DAG, argv if program == "ds-dag-analyze" else argv[1:]
    if program == "dsec" and argv[:1] in (["run"], ["resume"]):
        from dsec_cli.options_run import RESUME, RUN

        return RUN if argv[0] == "run" else RESUME, argv[1:]
    from dsec_cli.options import PROGRAMS, command

    name, names = PROGRAMS[program]
    if name:
        return command(name), argv
    if program in OF_GROUP:
        argv = [OF_GROUP[program], *argv]
    argv = joined(argv, names)
    if not argv or argv[0] not in names:
        return None, argv
    return command(argv[0]), argv[1:]


def joined(argv: list[str], names: tuple[str, ...]) -> list[str]:
    """The words, those of a command of two words in one."""
    two = " ".join(argv[:2])
    return [two, *argv[2:]] if len(argv) > 1 and two in names else argv


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


def option_called(row: Command, *, name: str = "", short: str = "") -> Option | None:
    """The option with this long or this short name."""
    for option in row[4]:
        if option[0] == name or (short and option[1] == short):
            return option
    return None


def _take_long(row: Command, word: str, rest: list[str], values: dict[str, object]) -> int:
    """Store `--name`, `--name=value` or `--name value`; how many words of `rest` it took, -1: wrong."""
    name, equals, value = word[2:].partition("=")
    option = option_called(row, name=name)
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
        option = option_called(row, short=word[at])
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
    if (choices and text not in choices) or not (text or name in MAY_BE_EMPTY):
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
    """Deal the words to the command's arguments; False: too few, too many, empty, or not a choice."""
    for name, arity, choices, _ in row[3]:
        if words and name not in MAY_BE_EMPTY and "" in (words[:1] if arity in ("one", "maybe") else words):
            return False
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
