"""What is wrong with a command line that the fast parser refused, in one line of words."""

from __future__ import annotations

from dsec_cli.exit import UsageError
from dsec_cli.grammar import joined, option_called
from dsec_cli.lint.nearest import did_you_mean
from dsec_cli.options import GROUPS, PROGRAMS, command
from dsec_cli.options_args import MAY_BE_EMPTY, OF_GROUP
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.options_shared import Argument, Command, Option

HELP = ("-h", "--help")
_OF_PROGRAMS = (*HELP, "--version", "--install-completion", "--show-completion")


def mistake(program: str, argv: list[str]) -> UsageError | None:
    """What to tell; None where help was asked for, or nothing is wrong."""
    only, names = PROGRAMS[program]
    if only:
        row = command(only)
        return None if row is None or set(argv) & set(_OF_PROGRAMS) else _in_command(row, program, argv)
    if not argv or argv[0] in _OF_PROGRAMS:
        return None
    if program in OF_GROUP:
        argv = [OF_GROUP[program], *argv]
    argv = joined(argv, names)
    first = argv[0]
    row = command(first) if first in names else None
    if row is not None:
        words = first.removeprefix(f"{OF_GROUP.get(program)} ")
        return _in_command(row, f"{program} {words}", argv[1:])
    if first.startswith("-"):
        return _no_option(first, say("options come after the command: {program} COMMAND", program=program))
    if first in GROUPS:
        line = program if program in OF_GROUP else f"{program} {first}"
        return _in_group(line, first, argv[1:], names)
    known = [one for one in names if one.partition(" ")[0] not in GROUPS]
    return UsageError(
        say("{program} has no command {word!r}", program=program, word=first),
        hint=did_you_mean(first, [*known, *GROUPS]),
    )


def _in_group(line: str, group: str, argv: list[str], names: tuple[str, ...]) -> UsageError | None:
    """The second word of a command is wrong; None where there is none, or it asks for help."""
    if not argv or argv[0] in HELP:
        return None
    if argv[0].startswith("-"):
        return _no_option(argv[0], say("options come after the command: {program} COMMAND", program=line))
    known = [name.partition(" ")[2] for name in names if name.startswith(f"{group} ")]
    return UsageError(
        say("{program} has no command {word!r}", program=line, word=argv[0]),
        hint=did_you_mean(argv[0], known),
    )


def _in_command(row: Command, line: str, argv: list[str]) -> UsageError | None:
    """The first mistake in the words after the command, which `line` names."""
    words: list[str] = []
    at = 0
    while at < len(argv):
        word = argv[at]
        at += 1
        if word == "--":
            words += argv[at:]
            break
        if word in HELP:
            return None
        if word == "-" or not word.startswith("-"):
            words.append(word)
            continue
        wrong, used = (
            _long(row, line, word, argv[at:]) if word[1] == "-" else _short(row, line, word, argv[at:])
        )
        if wrong is not None:
            return wrong
        at += used
    return _in_words(row, line, words)


def _long(row: Command, line: str, word: str, rest: list[str]) -> tuple[UsageError | None, int]:
    """What is wrong with `--name`, `--name=value` or `--name value`, and how many words of `rest` it took."""
    name, equals, value = word[2:].partition("=")
    option = option_called(row, name=name)
    if option is None:
        return _unknown(row, line, name), 0
    if option[2] == "flag":
        return (_no_value(name, line) if equals else None), 0
    if equals:
        return _value(option, f"--{name}", value), 0
    return (_value(option, f"--{name}", rest[0]), 1) if rest else (_needs_value(option, f"--{name}"), 0)


def _short(row: Command, line: str, word: str, rest: list[str]) -> tuple[UsageError | None, int]:
    """The same for `-q`, `-qx`, `-ofile` and `-o file`."""
    for at in range(1, len(word)):
        option = option_called(row, short=word[at])
        if option is None:
            return _no_option(f"-{word[at]}", _see_help(line)), 0
        if option[2] == "flag":
            continue
        called = f"-{word[at]}"
        if at + 1 < len(word):
            return _value(option, called, word[at + 1 :]), 0
        return (_value(option, called, rest[0]), 1) if rest else (_needs_value(option, called), 0)
    return None, 0


def _value(option: Option, called: str, text: str) -> UsageError | None:
    choices = option[4]
    if choices and text not in choices:
        return _no_choice(called, text, choices)
    if not (text or option[0] in MAY_BE_EMPTY):
        return _empty(called)
    digits = text[1:] if text[:1] == "-" else text
    if option[2] == "int" and digits.isascii() and digits.isdigit() and len(digits) > 18:
        return UsageError(
            say("{option} takes no number of more than 18 digits", option=called),
            hint=say("such as {option} 3", option=called),
        )
    if option[2] == "int" and not (digits.isascii() and digits.isdigit()):
        return UsageError(
            say("{option} takes a whole number, not {text!r}", option=called, text=text),
            hint=say("such as {option} 3", option=called),
        )
    return None


def _in_words(row: Command, line: str, words: list[str]) -> UsageError | None:
    """What is wrong with the words that are no options."""
    for argument in row[3]:
        name, arity, choices, _ = argument
        if name not in MAY_BE_EMPTY and "" in (words[:1] if arity in ("one", "maybe") else words):
            return _no_choice(name, "", choices) if choices else _empty(name)
        if arity in ("some", "many"):
            if arity == "some" and not words:
                return _missing(row, line, name)
            return None
        if words:
            if choices and words[0] not in choices:
                return _no_choice(name, words[0], choices)
            words = words[1:]
        elif arity == "one":
            return _missing(row, line, name)
    if words:
        return UsageError(
            say("{word!r} is a word too many", word=words[0]),
            hint=say("write: {usage}", usage=_usage(row, line)),
        )
    return None


def _unknown(row: Command, line: str, name: str) -> UsageError:
    """An option that there is not; one that names an argument is answered with how arguments are given."""
    names = [argument[0] for argument in row[3]]
    for at, argument in enumerate(names, 1):
        if name.partition("-")[0] == argument.lower():
            usage = " ".join((line, *names[:at]))
            return _no_option(f"--{name}", say("{name} is an argument: {usage}", name=argument, usage=usage))
    # Some commands have one format, and the others a choice of them.
    chosen = next((option[0] for option in row[4] if name in option[4]), "")
    if chosen:
        return _no_option(f"--{name}", say("did you mean {word!r}?", word=f"--{chosen} {name}"))
    from dsec_cli.contract.suggest import nearest

    best = nearest(name, sorted(option[0] for option in row[4]))
    if best is None:
        return _no_option(f"--{name}", _see_help(line))
    return _no_option(f"--{name}", say("did you mean {word!r}?", word=f"--{best.word}"))


def _no_option(called: str, hint: str) -> UsageError:
    return UsageError(say("there is no option {option}", option=called), hint=hint)


def _no_value(name: str, line: str) -> UsageError:
    return UsageError(say("{option} takes no value", option=f"--{name}"), hint=_see_help(line))


def _needs_value(option: Option, called: str) -> UsageError:
    hint = (
        say("one of {names}", names=", ".join(option[4]))
        if option[4]
        else say("write: {usage}", usage=f"{called} {option[3] or 'VALUE'}")
    )
    return UsageError(say("{option} needs a value", option=called), hint=hint)


def _no_choice(called: str, text: str, choices: tuple[str, ...]) -> UsageError:
    return UsageError(
        say("{option} cannot be {text!r}", option=called, text=text), hint=did_you_mean(text, choices)
    )


def _empty(called: str) -> UsageError:
    return UsageError(
        say("{option} is an empty word", option=called),
        hint=say("the command line may hold a variable that is not set"),
    )


def _missing(row: Command, line: str, name: str) -> UsageError:
    return UsageError(
        say("{name} is missing", name=name), hint=say("write: {usage}", usage=_usage(row, line))
    )


def _usage(row: Command, line: str) -> str:
    return " ".join((line, *map(_place, row[3])))


def _place(argument: Argument) -> str:
    name, arity, choices, _ = argument
    shown = "|".join(choices) if choices else name
    return {"one": shown, "maybe": f"[{shown}]", "some": f"{shown}...", "many": f"[{shown}...]"}[arity]


def _see_help(line: str) -> str:
    return say("{line} --help lists them all", line=line)
