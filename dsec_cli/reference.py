"""Writes what follows from the option table and from the table of what can be configured.

`python -m dsec_cli.reference` writes, `--check` only says whether it is stale (exit code 1).
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from dsec_cli.commands.configuration_keys import schema
from dsec_cli.options import COMMANDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.options_shared import Argument, Command, Option

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "reference" / "commands.md"
SCHEMA = ROOT / "schemas" / "lint-config.schema.json"
HEAD = """# Commands

Generated from the table that the programs parse their command lines by; `dsec COMMAND --help` shows the
same in a terminal. `ds-contract-lint` is `dsec lint`, `ds-dag-analyze` is `dsec dag`, `dsctl config` is
`dsec config`. Every command also ends with 70 for a bug in DSec (standard error names the file with the
details), 130 when interrupted, 143 when terminated and 141 when the reader of its output went away.

"""
_ARITY = {"one": "{}", "maybe": "[{}]", "some": "{}...", "many": "[{}]..."}


def page() -> str:
    """The whole page, Markdown."""
    index = "".join(f"- [`dsec {row[0]}`](#dsec-{row[0].replace(' ', '-')}): {row[1]}\n" for row in COMMANDS)
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
    """Write what is stale, or with `--check` name it."""
    stale = {path: text for path, text in outputs().items() if _content(path) != text}
    for path, text in stale.items():
        if "--check" in argv:
            sys.stderr.write(f"{path.name} is stale: run make generate\n")
        else:
            path.write_text(text, "utf-8")
    return 1 if stale and "--check" in argv else 0


def outputs() -> dict[Path, str]:
    """Every generated file and its content."""
    return {PAGE: page(), SCHEMA: json.dumps(schema(), indent=2, ensure_ascii=False) + "\n"}


def _content(path: Path) -> str:
    return path.read_text("utf-8") if path.exists() else ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
