"""Where findings go: one format each, to standard output or to a file."""

from __future__ import annotations

import os
import sys

from dsec.errors import FileProblem
from dsec.record import Record
from dsec_cli.commands.language import ENGLISH
from dsec_cli.commands.terminal import colored
from dsec_cli.exit import UsageError
from dsec_cli.options_lint import FORMATS
from dsec_cli.report.output import stream
from dsec_cli.report.terminal import columns
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dsec.errors import DSecError
    from dsec_cli.commands.configuring import Configured
    from dsec_cli.commands.language import Speech
    from dsec_cli.options import Args
    from dsec_cli.report.format import Format, Report


MOST_KEPT = 2**21
"""Characters of standard output that are kept: the cache takes no more."""


class Output(Record):
    """One format and the file it is written to; "" is standard output."""

    format: str
    file: str = ""


def wanted(args: Args, configured: Configured) -> tuple[Output, ...]:
    """What the command line asks for, else the configuration, else text; raises UsageError."""
    found = [_parsed(one, "") for one in args.output]
    if args.format is not None or args.output_file is not None:
        found.insert(0, Output(args.format or "text", _file(args.output_file or "")))
    where = ""
    if not found:
        where = configured.place("output") if configured.texts("output") else ""
        found = [_parsed(one, where) for one in configured.texts("output")]
        found = [one._replace(file=one.file and configured.path(one.file)) for one in found]
    _refuse_clashes(found, where)
    return tuple(found) or (Output("text"),)


def _parsed(text: str, where: str) -> Output:
    name, colon, file = text.partition(":")
    if name not in FORMATS:
        from dsec_cli.lint.nearest import did_you_mean

        hint = did_you_mean(name, FORMATS) or f"one of {', '.join(FORMATS)}; a file is given as text:{text}"
        raise UsageError(say("{where}there is no format {name!r}", where=where, name=name), hint=hint)
    if colon and not file:
        raise UsageError(
            say("{where}no file behind {text!r}", where=where, text=text),
            hint=say("such as {name}:lint.out", name=name),
        )
    return Output(name, _file(file))


def _file(name: str) -> str:
    return "" if name == "-" else name


def _refuse_clashes(found: list[Output], where: str) -> None:
    """Two outputs in one place would be neither."""
    seen: set[str] = set()
    for one in found:
        if one.file in seen:
            place = one.file or "standard output"
            raise UsageError(
                say("{where}two outputs go to {place}", where=where, place=place),
                hint=say("give one a file: --output {format}:FILE", format=one.format),
            )
        seen.add(one.file)


def spare(outputs: tuple[Output, ...], files: Iterable[str]) -> None:
    """Refuse outputs that would replace what is checked; raises UsageError."""
    written = {os.path.realpath(one.file): one.file for one in outputs if one.file}
    for file in files if written else ():
        target = os.path.realpath(file)
        if target in written and os.path.isfile(target):
            raise UsageError(
                say(
                    "{written} is checked itself, and would be replaced by what is found",
                    written=written[target],
                ),
                hint="write to another file",
            )


class Copy:
    """Keeps what is written, unless it is more than anybody will ask for."""

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self.size = 0

    def of(self, pieces: Iterable[str]) -> Iterator[str]:
        """The same pieces, one by one."""
        for piece in pieces:
            self.size += len(piece)
            if self.size > MOST_KEPT:
                self.pieces.clear()
            else:
                self.pieces.append(piece)
            yield piece

    @property
    def text(self) -> str | None:
        """All of it; None when it was too much."""
        return "".join(self.pieces) if self.size <= MOST_KEPT else None


def write(
    report: Report, outputs: tuple[Output, ...], args: Args, *, speech: Speech, problems: list[DSecError]
) -> str | None:
    """Render the report for each output, and put it there while it is rendered.

    Files that could not be written join the `problems`: one that is lost takes no other with it.
    Gives what went to standard output; None when that was more than is worth keeping.
    """
    copy = Copy()
    for one in sorted(outputs, key=lambda one: not one.file):
        fitted = _spoken(report, speech.of(one.format))._replace(
            color=colored("never" if one.file and args.color == "auto" else args.color, sys.stdout),
            width=columns(sys.stdout),
            quiet=args.quiet,
            fold=not one.file and sys.stdout.isatty(),
        )
        pieces = _format(one.format).pieces(fitted)
        if not one.file:  # standard output comes last
            stream(copy.of(pieces))
            continue
        try:
            stream(pieces, one.file)
        except FileProblem as problem:
            problems.append(problem)
    return copy.text


def _spoken(report: Report, language: str) -> Report:
    if language == ENGLISH:
        return report
    from dsec_cli.commands.speaking import spoken  # loads a catalogue

    return spoken(report, language)


def _format(name: str) -> Format:
    """The format of that name; the others are not even imported."""
    module = f"dsec_cli.report.formats.{name}"
    __import__(module)
    found: Format = sys.modules[module].FORMAT
    return found
