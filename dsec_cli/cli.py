"""The Typer application: help pages, and the installation of completion.

It is generated from `options.py`, and it only parses: the command runs after Typer has left.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from dsec_cli.cells import wrap
from dsec_cli.grammar import joined
from dsec_cli.options import COMMANDS, GROUPS, PROGRAMS, Args, attribute, defaults
from dsec_cli.options_args import MAY_BE_EMPTY, OF_GROUP
from dsec_cli.report.terminal import paint, wants_color

if TYPE_CHECKING:
    from dsec_cli.options_shared import Argument, Command, Option
    from dsec_cli.report.terminal import Paint

Parsed = tuple[str, Args]

_ABOUT = {
    "dsec": "Compiles an agent-training contract (dsandbox.yaml) into findings, a Step graph, "
    "a plan and a supervised run.",
    "dsctl": "Reads and changes DSec's user settings.",
}
_START = (
    ("dsec init", "Write a commented starter contract."),
    ("dsec lint", "Check it."),
    ("dsec COMMAND --help", "Read the page of a command."),
)
_EXITS = (
    (0, "yes: nothing found, or done"),
    (1, "no: findings, a Step failed, or a difference"),
    (2, "asked wrongly: the command line"),
    (3, "could not find out: a file, a device, the machine"),
)
_OURS = (
    (70, "a bug in DSec; standard error names the file with the details"),
    (130, "interrupted"),
    (141, "the reader of the output went away"),
    (143, "terminated"),
)
_HELP_NAMES = {"help_option_names": ["-h", "--help"]}
_WIDTH = 80
WIDEST = 20
"""Characters that choices may take beside the name of their option; more of them stand behind its meaning."""


def parse(program: str, argv: list[str]) -> Parsed:
    """The command and its arguments; help and mistakes leave by SystemExit."""
    parsed: list[Parsed] = []
    names = PROGRAMS[program][1]
    words = joined([OF_GROUP[program], *argv] if program in OF_GROUP else argv, names)
    # Building the others takes a tenth of a second, and nobody is told of them.
    app = build(program, parsed.append, wanted=words[0] if words and words[0] in names else "")
    if program in OF_GROUP:
        words = argv
    try:
        app(args=words, prog_name=program)
    except SystemExit as leaving:
        if isinstance(leaving.__context__, BrokenPipeError):
            raise leaving.__context__ from None  # click would say 1; `guarded` knows better
        if not parsed:
            raise
    return parsed[0]


def build(program: str, found: Callable[[Parsed], None], *, wanted: str = "") -> typer.Typer:
    """The application of one program; a parsed command line is handed to `found`.

    `wanted`: the one command that it is to have; "": all of the program's.
    """
    only, names = PROGRAMS[program]
    app = typer.Typer(
        name=program,
        help=_ABOUT.get(program) or GROUPS.get(OF_GROUP.get(program, "")),
        no_args_is_help=not only,
        pretty_exceptions_enable=False,
        rich_markup_mode="rich",
    )
    group = OF_GROUP.get(program, "")
    for row in COMMANDS:
        if (row[0] == only or row[0] in names) and wanted in ("", row[0]):
            _add(app, row, found, version_of=program if only else "", called=row[0].removeprefix(f"{group} "))
    if not only:
        app.callback(cls=GroupPage, context_settings=_HELP_NAMES)(_root(program))
        for one in GROUPS if not (wanted or group) else ():
            _add_group(app, one, names)
    return app


def _add_group(app: typer.Typer, group: str, names: tuple[str, ...]) -> None:
    """The page that lists the commands which begin with the word `group`."""
    rows = [row for row in COMMANDS if row[0] in names and row[0].startswith(f"{group} ")]
    if not rows:
        return
    under = typer.Typer(no_args_is_help=True, rich_markup_mode="rich", context_settings=_HELP_NAMES)
    for row in rows:
        # Listed only: a command line with both words is the command of that name.
        under.command(row[0].partition(" ")[2], help=row[1])(_nothing)
    app.add_typer(under, name=group, help=GROUPS[group], cls=GroupPage)


def _nothing() -> None: ...


def _add(
    app: typer.Typer, row: Command, found: Callable[[Parsed], None], *, version_of: str, called: str
) -> None:
    page = "\n\n".join(_escaped(text) for text in (row[1], *row[2]))
    add = app.command(
        called,
        cls=_page_of(row),
        help=page,
        short_help=row[1],
        context_settings=_HELP_NAMES,
        hidden=called.partition(" ")[0] in GROUPS,
    )
    parameters = [*map(_argument, row[3]), *map(_option, row[4])]
    if version_of:
        parameters.append(_version(version_of))
    add(_signed(_callback(row, found), parameters))


def _flags_without_values(parameters: list[Any]) -> list[Any]:
    """The parameters; what Typer and click add by themselves shows no `<bool>` either."""
    for parameter in parameters:
        if getattr(parameter, "is_flag", False):
            parameter.metavar = " "
    return parameters


class Page(TyperCommand):
    """A command's help page: Typer's panels, then examples and exit codes."""

    row: Command

    def get_params(self, ctx: Any) -> list[Any]:
        """All parameters, `--help` among them."""
        return _flags_without_values(super().get_params(ctx))

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Print the page."""
        super().format_help(ctx, formatter)
        _print_sections(self.row[5], (*self.row[6], *_OURS))


def _page_of(row: Command) -> type[Page]:
    """The page of one command; its name may leave out the word that a program stands for."""
    return type("Page", (Page,), {"row": row})


class GroupPage(TyperGroup):
    """A program's help page: Typer's panels, then where to begin and the exit codes."""

    def get_params(self, ctx: Any) -> list[Any]:
        """All parameters, `--help` among them."""
        return _flags_without_values(super().get_params(ctx))

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Print the page."""
        super().format_help(ctx, formatter)
        _print_sections(_START if ctx.info_name == "dsec" else (), (*_EXITS, *_OURS))


def _print_sections(examples: tuple[tuple[str, str], ...], exits: tuple[tuple[int, str], ...]) -> None:
    colored = wants_color("auto", sys.stdout)
    typer.echo(_sections(examples, exits, paint(wanted=colored)), color=colored)


def _sections(
    examples: tuple[tuple[str, str], ...], exits: tuple[tuple[int, str], ...], painted: Paint
) -> str:
    lines = [painted(" Examples", "1")] if examples else []
    for line, what in examples:
        lines += [f"   {painted(line, '36')}", *_hanging("       ", what)]
    lines += [*([""] if examples else []), painted(" Exit codes", "1")]
    told = dict(reversed(exits))  # what the command says of a code goes before what is true of all
    for code, meaning in sorted(told.items()):
        lines += _hanging(f"   {code:>3}  ", meaning)
    return "\n".join(lines)


def _hanging(head: str, text: str) -> list[str]:
    rows = wrap(text, _WIDTH - len(head))
    return [head + rows[0], *(" " * len(head) + row for row in rows[1:])]


def _root(program: str) -> Callable[..., None]:
    def root(version: bool = False) -> None: ...  # the option's own callback does everything

    return _signed(root, [_version(program)])


def _version(program: str) -> inspect.Parameter:
    def show(value: bool) -> None:
        if value:
            from dsec import __version__

            typer.echo(f"{program} {__version__}")
            raise typer.Exit

    option = typer.Option(
        "--version", help="Print the version and leave.", callback=show, is_eager=True, metavar=" "
    )
    return _parameter("version", bool, option, default=False)


def _callback(row: Command, found: Callable[[Parsed], None]) -> Callable[..., None]:
    """The function Typer calls with the parsed values of a command."""

    def parsed(**values: object) -> None:
        wanted = defaults(row)
        for name in wanted:
            value = values[name]
            wanted[name] = tuple(value) if isinstance(value, list) else value
        found((row[0], Args(wanted)))

    return parsed


def _signed(function: Callable[..., None], parameters: list[inspect.Parameter]) -> Callable[..., None]:
    """`function` with the signature that Typer shall read."""
    function.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # inspect reads it
    function.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return function


def _argument(argument: Argument) -> inspect.Parameter:
    name, arity, choices, text = argument
    told = _escaped(_with_choices(text, choices))
    info = typer.Argument(metavar=name, help=told, show_default=False, **_checks(name, choices))
    required = arity in ("one", "some")
    if arity in ("some", "many"):
        return _parameter(name, list[str], info, default=... if required else ())
    return _parameter(name, str if required else str | None, info, default=... if required else None)


def _option(option: Option) -> inspect.Parameter:
    name, short, kind, metavar, choices, default, text = option
    names = [f"--{name}", *([f"-{short}"] if short else [])]
    if kind == "flag":
        return _parameter(name, bool, typer.Option(*names, help=_escaped(text), metavar=" "), default=False)
    between = f"[{'|'.join(choices)}]" if choices else metavar
    narrow = len(between) <= WIDEST
    info = typer.Option(
        *names,
        metavar=between if narrow else metavar,
        help=_escaped(text if narrow else _with_choices(text, choices)),
        show_default=default is not None,
        **_checks(name, choices),
    )
    if kind == "multi":
        return _parameter(name, list[str], info, default=())
    wanted = int if kind == "int" else str
    return _parameter(name, wanted if default is not None else wanted | None, info, default=default)


def _with_choices(text: str, choices: tuple[str, ...]) -> str:
    return f"{text} One of: {', '.join(choices)}." if choices else text


def _checks(name: str, choices: tuple[str, ...]) -> dict[str, Any]:
    """Completion, and the refusal of anything but `choices` and of empty words."""
    if not choices and name in MAY_BE_EMPTY:
        return {}

    def check(value: str | list[str] | None) -> str | list[str] | None:
        for one in value if isinstance(value, list) else () if value is None else (value,):
            if choices and one not in choices:
                raise typer.BadParameter(f"{one!r} is not one of {', '.join(choices)}")
            if one == "":
                raise typer.BadParameter("it is an empty word")
        return value

    if not choices:
        return {"callback": check}

    def complete(incomplete: str) -> list[str]:
        return [choice for choice in choices if choice.startswith(incomplete)]

    return {"callback": check, "autocompletion": complete}


def _parameter(name: str, kind: Any, info: Any, *, default: object) -> inspect.Parameter:
    given = inspect.Parameter.empty if default is ... else default
    keyword = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(attribute(name), keyword, default=given, annotation=Annotated[kind, info])


def _escaped(text: str) -> str:
    """Text in which rich sees no markup."""
    return re.sub(r"\[(?=[a-zA-Z/@#])", r"\\[", text)
