"""Shell completion from the option tables: what may stand where the cursor is, in a shell's own form.

The scripts that ask are Typer's (`dsec --install-completion`), and so is the protocol; only the answer
is made here, because importing Typer for it takes longer than a person likes to wait for a key.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from dsec_cli.options_shared import Command, Option

    Offer = tuple[str, str]
    """What may be written, and what it means."""

HELP: Offer = ("--help", "Show this message and exit.")
_OF_PROGRAMS: tuple[Offer, ...] = (
    HELP,
    ("--install-completion", "Install completion for the current shell."),
    ("--show-completion", "Show completion for the current shell, to copy it or customize the installation."),
    ("--version", "Print the version and leave."),
)


def variable(program: str) -> str:
    """The environment variable by which a shell asks."""
    return f"_{program.replace('-', '_').upper()}_COMPLETE"


def answer(program: str, environ: Mapping[str, str]) -> tuple[str, int] | None:
    """The text for the shell and the exit code; None: it asks for something else (its script)."""
    shell = environ[variable(program)].removeprefix("complete_")
    if shell not in _SHELLS:
        return None
    if shell == "bash":
        words = split(environ.get("COMP_WORDS", ""))
        number = environ.get("COMP_CWORD", "")
        at = int(number) if number.isdecimal() and len(number) < 9 else len(words)
        before, begun = words[1:at], words[at] if at < len(words) else ""
    else:
        line = environ.get("_TYPER_COMPLETE_ARGS", "")
        before, begun = split(line)[1:], environ.get("_TYPER_COMPLETE_WORD_TO_COMPLETE", "")
        if begun or (before and not line[-1:].isspace()):
            begun, before = before[-1] if before else "", before[:-1]
    found = offers(program, before, begun)
    if environ.get("_TYPER_COMPLETE_FISH_ACTION") == "is-args":
        return "", 0 if found else 1
    return _SHELLS[shell](found), 0


def offers(program: str, before: list[str], begun: str) -> list[Offer]:
    """What may complete the word `begun` after the words `before`; nothing where a file may stand."""
    from dsec_cli.grammar import command_of
    from dsec_cli.options_args import OF_GROUP

    row, words = command_of(program, before)
    if row is not None:
        found = _in_command(row, words, begun)
    elif not before and begun.startswith("-"):
        found = list(_OF_PROGRAMS)
    elif before or program in OF_GROUP:
        found = _in_group(program, words)
    else:
        from dsec_cli.options import COMMANDS, GROUPS, PROGRAMS

        rows = [row for row in COMMANDS if row[0] in PROGRAMS[program][1]]
        groups = {row[0].partition(" ")[0] for row in rows if " " in row[0]} & {*GROUPS}
        found = sorted(
            [
                *((row[0], row[1]) for row in rows if " " not in row[0]),
                *((one, GROUPS[one]) for one in groups),
            ]
        )
    start = "" if begun == "=" else begun
    return [offer for offer in found if offer[0].startswith(start)]


def _in_group(program: str, before: list[str]) -> list[Offer]:
    """The second words of commands, after the first."""
    from dsec_cli.options import COMMANDS, PROGRAMS

    if len(before) != 1:
        return []
    start = f"{before[0]} "
    return [
        (row[0].removeprefix(start), row[1])
        for row in COMMANDS
        if row[0].startswith(start) and row[0] in PROGRAMS[program][1]
    ]


def _in_command(row: Command, words: list[str], begun: str) -> list[Offer]:
    """Offers within a command; bash hands `--name=value` over as three words."""
    from dsec_cli.grammar import option_called

    if "--" not in words:
        if begun == "=" or words[-1:] == ["="]:
            name = "".join(words[-1:] if begun == "=" else words[-2:-1])
            option = option_called(row, name=name[2:]) if name[:2] == "--" else None
            return _choices(option[4] if option is not None else ())
        waiting = _waiting(row, words)
        if waiting is not None:
            return _choices(waiting[4])
        if begun.startswith("-"):
            return _options(row, words)
    given = len(_plain(row, words))
    arguments = row[3]
    at = min(given, len(arguments) - 1)
    if at < 0 or (given > at and arguments[at][1] not in ("some", "many")):
        return []
    return _choices(arguments[at][2])


def _waiting(row: Command, words: list[str]) -> Option | None:
    """The option that the word after `words` is the value of."""
    from dsec_cli.grammar import option_called

    last = words[-1] if words else ""
    if last[:2] == "--":
        option = option_called(row, name=last[2:])
    else:
        option = option_called(row, short=last[-1]) if last[:1] == "-" and last != "-" else None
    return option if option is not None and option[2] != "flag" else None


def _plain(row: Command, words: list[str]) -> list[str]:
    """The words that are arguments."""
    found: list[str] = []
    for at, word in enumerate(words):
        if word == "--":
            return [*found, *words[at + 1 :]]
        if (not word.startswith("-") or word == "-") and _waiting(row, words[:at]) is None and word != "=":
            found.append(word)
    return found


def _options(row: Command, words: list[str]) -> list[Offer]:
    used = {word.partition("=")[0] for word in words}
    found = [
        (f"--{name}", text)
        for name, short, kind, _, _, _, text in row[4]
        if kind == "multi" or (f"--{name}" not in used and (not short or f"-{short}" not in used))
    ]
    return [*found, HELP]


def _choices(choices: tuple[str, ...]) -> list[Offer]:
    return [(choice, "") for choice in choices]


def split(line: str) -> list[str]:
    """The words of a command line, as far as it is typed; an open quote ends with it."""
    words: list[str] = []
    word, quote, inside = "", "", False
    at = 0
    while at < len(line):
        char = line[at]
        at += 1
        if quote:
            if char == quote:
                quote = ""
            else:
                word += char
        elif char in "'\"":
            quote, inside = char, True
        elif char == "\\" and at < len(line):
            word, inside = word + line[at], True
            at += 1
        elif char.isspace():
            if inside:
                words.append(word)
            word, inside = "", False
        else:
            word, inside = word + char, True
    return [*words, word] if inside else words


def _bash(found: list[Offer]) -> str:
    return "".join(f"{value}\n" for value, _ in found)


def _fish(found: list[Offer]) -> str:
    return "".join(f"{value}\t{text}\n" if text else f"{value}\n" for value, text in found)


def _powershell(found: list[Offer]) -> str:
    return "".join(f"{value}:::{text or ' '}\n" for value, text in found)


def _zsh(found: list[Offer]) -> str:
    if not found:
        return "_files\n"
    rows = (f'"{_safe(value)}":"{_safe(text)}"' if text else f'"{_safe(value)}"' for value, text in found)
    return "_arguments '*: :((" + "\n".join(rows) + "))'\n"


def _safe(text: str) -> str:
    """The text within the quotes of zsh's two readings."""
    for char, instead in (('"', '""'), ("'", "''"), ("$", "\\$"), ("`", "\\`"), (":", "\\\\:")):
        text = text.replace(char, instead)
    return text


_SHELLS: dict[str, Callable[[list[Offer]], str]] = {
    "bash": _bash,
    "fish": _fish,
    "powershell": _powershell,
    "pwsh": _powershell,
    "zsh": _zsh,
}
