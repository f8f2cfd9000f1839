"""The Typer application: help pages, completion, and words for a wrong command line.

It is generated from `options.py`, and it only parses: the command runs after Typer has left.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from enum import Enum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dsec_cli.options import COMMANDS, PROGRAMS, Args, attribute

if TYPE_CHECKING:
    from dsec_cli.options import Argument, Command, Option

Parsed = tuple[str, Args]

_ABOUT = {
    "dsec": "Compiles an agent-training contract (dsandbox.yaml) into findings, a Step graph, "
    "a plan and a supervised run.",
    "dsctl": "Reads and changes DSec's user settings.",
}
_EXITS = (
    (0, "yes: nothing found, done"),
    (1, "no: findings, a Step failed, different"),
    (2, "asked wrongly: the command line"),
    (3, "could not find out: a file, a device, the machine"),
    (70, "a bug in DSec; the crash file's path is on standard error"),
    (130, "interrupted (143: terminated, 141: the reader of the output went away)"),
)
_OURS = _EXITS[4:]


def parse(program: str, argv: list[str]) -> Parsed:
    """The command and its arguments; help, completion and mistakes leave by SystemExit."""
    parsed: list[Parsed] = []
    app = build(program, parsed.append)
    try:
        app(args=argv, prog_name=program)
    except SystemExit:
        if not parsed:
            raise
    return parsed[0]


def build(program: str, found: Callable[[Parsed], None]) -> typer.Typer:
    """The application of one program; a parsed command line is handed to `found`."""
    only, names = PROGRAMS[program]
    app = typer.Typer(
        name=program,
        help=_ABOUT.get(program),
        no_args_is_help=not only,
        pretty_exceptions_enable=False,
        rich_markup_mode="rich",
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    for row in COMMANDS:
        if row[0] == only or row[0] in names:
            page = {"help": _help(row), "short_help": row[1], "epilog": _epilog(row)}
            app.command(row[0], context_settings={"help_option_names": ["-h", "--help"]}, **page)(
                _callback(row, found)
            )
    if not only:
        app.callback(epilog=_lines("Exit codes", _EXITS))(_root(program))
    return app


def _root(program: str) -> Callable[..., None]:
    def show(value: bool) -> None:
        if value:
            from dsec import __version__

            typer.echo(f"{program} {__version__}")
            raise typer.Exit

    option = typer.Option("--version", help="Print the version and leave.", callback=show, is_eager=True)

    def root(version: bool = False) -> None: ...

    return _signed(
        root, [inspect.Parameter("version", _KEYWORD, default=False, annotation=_annotated(bool, option))]
    )


_KEYWORD = inspect.Parameter.KEYWORD_ONLY


def _signed(function: Callable[..., None], parameters: list[inspect.Parameter]) -> Callable[..., None]:
    """`function` with the signature that Typer shall read."""
    function.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # read by inspect.signature
    function.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return function


def _annotated(kind: Any, info: Any) -> Any:
    return Annotated[kind, info]


def _callback(row: Command, found: Callable[[Parsed], None]) -> Callable[..., None]:
    """The function Typer calls with the parsed values of a command."""

    def parsed(**values: object) -> None:
        found((row[0], Args({name: _plain(value) for name, value in values.items()})))

    return _signed(parsed, [*map(_argument, row[3]), *map(_option, row[4])])


def _plain(value: object) -> object:
    """A value as the fast parser would give it."""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, (list, tuple)):
        return tuple(value)
    return value


def _argument(argument: Argument) -> inspect.Parameter:
    name, arity, choices, text = argument
    kind: Any = _choice(name, choices) if choices else str
    if arity in ("some", "many"):
        return _parameter(
            name,
            list[str],
            typer.Argument(metavar=f"{name}...", help=text),
            default=... if arity == "some" else (),
        )
    info = typer.Argument(metavar=name if not choices else f"{{{','.join(choices)}}}", help=text)
    return _parameter(
        name, kind if arity == "one" else kind | None, info, default=... if arity == "one" else None
    )


def _option(option: Option) -> inspect.Parameter:
    name, short, kind, metavar, choices, default, text = option
    names = [f"--{name}", *([f"-{short}"] if short else [])]
    if kind == "flag":
        return _parameter(name, bool, typer.Option(*names, help=_escaped(text)), default=False)
    wanted: Any = {"int": int, "multi": list[str]}.get(kind, _choice(name, choices) if choices else str)
    shown = metavar if not choices else f"[{'|'.join(choices)}]"
    info = typer.Option(*names, metavar=shown, help=_escaped(text), show_default=default is not None)
    if kind == "multi":
        return _parameter(name, wanted, info, default=())
    return _parameter(name, wanted if default is not None else wanted | None, info, default=default)


def _parameter(name: str, kind: Any, info: Any, *, default: object) -> inspect.Parameter:
    given = inspect.Parameter.empty if default is ... else default
    return inspect.Parameter(attribute(name), _KEYWORD, default=given, annotation=_annotated(kind, info))


def _choice(name: str, choices: tuple[str, ...]) -> Any:
    return Enum(name, {choice: choice for choice in choices}, type=str)


def _escaped(text: str) -> str:
    """Text in which rich sees no markup."""
    return re.sub(r"\[(?=[a-zA-Z/@#])", r"\\[", text)


def _help(row: Command) -> str:
    return "\n\n".join(_escaped(text) for text in (row[1], *row[2]))


def _epilog(row: Command) -> str:
    examples = "\n\n".join(
        f"  [green]{_escaped(line)}[/green]\n\n      {_escaped(what)}" for line, what in row[5]
    )
    return f"[bold]Examples[/bold]\n\n{examples}\n\n \n\n{_lines('Exit codes', (*row[6], *_OURS))}"


def _lines(title: str, rows: tuple[tuple[int, str], ...]) -> str:
    lines = (f"  [bold]{code:>3}[/bold]  {_escaped(meaning)}" for code, meaning in rows)
    return "\n\n".join((f"[bold]{title}[/bold]", *lines))
