"""Writes the reference page of the commands from the option table.

`python -m dsec_cli.reference` writes, `--check` only says whether it is stale (exit code 1).
"""

from __future__ import annotations

import sys
from pathlib import Path

from dsec_cli.options import COMMANDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.options_shared import Argument, Command, Option

PAGE = Path(__file__).resolve().parents[1] / "docs" / "reference" / "commands.md"
HEAD = """# Commands

Generated from the table that the programs parse their command lines by; `dsec COMMAND --help` shows the
same in a terminal. `ds-contract-lint` is `dsec lint`, `ds-dag-analyze` is `dsec dag`, `dsctl config` is
`dsec config`. Every command also ends with 70 for a bug in DSec (standard error names the file with the
details), 130 when interrupted, 143 when terminated and 141 when the reader of its output went away.

"""
_ARITY = {"one": "{}", "maybe": "[{}]", "some": "{}...", "many": "[{}]..."}


def page() -> str:
    """The whole page, Markdown."""
    index = "".join(f"- [`dsec {row[0]}`](#dsec-{row[0]}): {row[1]}\n" for row in COMMANDS)
    return HEAD + index + "".join(_command(row) for row in COMMANDS)


def _command(row: Command) -> str:
    name, summary, paragraphs, arguments, options, examples, exits = row
    usage = " ".join(["dsec", name, *(["[OPTIONS]"] if options else []), *map(_usage, arguments)])
    parts = [f"\n## dsec {name}", summary, *paragraphs, f"`{usage}`"]
    if arguments or options:
        rows = [*map(_argument_row, arguments), *map(_option_row, options)]
        parts.append("| argument or option | meaning |\n| --- | --- |\n" + "\n".join(rows))
    if examples:
        parts.append("\n".join(f"- `{line}`: {meaning}" for line, meaning in examples))
    if exits:
        parts.append("Exit codes: " + "; ".join(f"{code} {meaning}" for code, meaning in exits) + ".")
    return "\n\n".join(parts) + "\n"


def _usage(argument: Argument) -> str:
    return _ARITY[argument[1]].format(argument[0])


def _argument_row(argument: Argument) -> str:
    name, _, choices, meaning = argument
    return f"| `{name}` | {_cell(meaning)}{_choices(choices)} |"


def _option_row(option: Option) -> str:
    name, short, kind, metavar, choices, default, meaning = option
    names = f"--{name}" if kind == "flag" else f"--{name} {metavar}"
    spelled = f"`-{short}`, `{names}`" if short else f"`{names}`"
    more = " Repeatable." if kind == "multi" else ""
    usual = f" Default: `{default}`." if default is not None else ""
    return f"| {spelled} | {_cell(meaning)}{_choices(choices)}{usual}{more} |"


def _choices(choices: tuple[str, ...]) -> str:
    return " One of " + ", ".join(f"`{choice}`" for choice in choices) + "." if choices else ""


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def main(argv: list[str]) -> int:
    """Write the page, or with `--check` say whether it is stale."""
    old = PAGE.read_text("utf-8") if PAGE.exists() else ""
    if old == page():
        return 0
    if "--check" in argv:
        sys.stderr.write(f"{PAGE.name} is stale: run make generate\n")
        return 1
    PAGE.write_text(page(), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
