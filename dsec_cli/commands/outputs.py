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
from dsec_cli.report.output import encoded, stream
from dsec_cli.report.terminal import columns
from dsec_cli.words import say, system

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dsec.errors import DSecError
    from dsec_cli.commands.configuring import Configured
    from dsec_cli.commands.language import Speech
    from dsec_cli.options import Args
    from dsec_cli.report.format import Format, Report


SUFFIXES = (".json", ".jsonl", ".log", ".md", ".ndjson", ".out", ".sarif", ".txt", ".xml")
"""How the files end that a configuration may have written: none of them is a program, or read by one."""
MOST_KEPT = 2**21
"""Characters of standard output that are kept: the cache takes no more."""


class Output(Record):
    """One format and the file it is written to; "" is standard output."""

    format: str
    file: str = ""
    folder: str = ""
    """Of the configuration that names the file: only beneath it, and through no link, is it written."""
    place: str = ""
    """Where the configuration does so, for messages."""


def wanted(args: Args, configured: Configured) -> tuple[Output, ...]:
    """What the command line asks for, else the configuration, else text; raises UsageError."""
    found = [_parsed(one, "") for one in args.output]
    if args.format is not None or args.output_file is not None:
        found.insert(0, Output(args.format or "text", _file(args.output_file or "")))
    where = ""
    if not found:
        where = configured.place("output") if configured.texts("output") else ""
        found = [_parsed(one, where) for one in configured.texts("output")]
        found = [_contained(one, configured) if one.file else one for one in found]
    _refuse_clashes(found, where)
    return tuple(found) or (Output("text"),)


def _contained(one: Output, configured: Configured) -> Output:
    """An output that a configuration names: a repository may say where its findings go, within itself.

    Whoever lints a cloned repository has not read its configuration, so it writes no file of anybody else:
    nothing outside of its folder, none that git or another tool keeps there, and none that is run.
    """
    from dsec.containment import Escape, parts_beneath

    place = configured.place("output")
    hint = say("name it on the command line: --output {format}:FILE", format=one.format)
    try:
        parts = parts_beneath(configured.folder, one.file)
    except Escape as problem:
        raise UsageError(
            say("{where}output {file!r}: {why}", where=place, file=one.file, why=system(problem)), hint=hint
        ) from None
    hidden = next((part for part in parts if part.startswith(".")), "")
    if not parts or hidden:
        raise UsageError(
            say(
                "{where}output {file!r}: a configuration writes no hidden file, and into no hidden folder",
                where=place,
                file=one.file,
            ),
            hint=hint,
        )
    if not one.file.endswith(SUFFIXES):
        raise UsageError(
            say(
                "{where}output {file!r}: a configuration writes reports, whose names end in {suffixes}",
                where=place,
                file=one.file,
                suffixes=", ".join(SUFFIXES),
            ),
            hint=hint,
        )
    return one._replace(file=configured.path(one.file), folder=configured.folder, place=place)


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
            if one.folder:
                _stream_beneath(pieces, one)
            else:
                stream(pieces, one.file)
        except FileProblem as problem:
            problems.append(problem)
    return copy.text


def _stream_beneath(pieces: Iterable[str], output: Output) -> None:
    from dsec.containment import replace_beneath
    from dsec.wholefile import remedy

    try:
        replace_beneath(output.folder, os.path.abspath(output.file), encoded(pieces))
    except OSError as problem:
        raise FileProblem(
            say(
                "{where}{path} could not be written: {why}",
                where=output.place,
                path=output.file,
                why=system(problem),
            ),
            hint=remedy(problem),
        ) from problem


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
