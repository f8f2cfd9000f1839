"""`dsec import`: a contract made of what people have already, and the list of what is not in it."""  # noqa: N999

# The command's name is a keyword of Python: the module is found by name, as that of every command is.

from __future__ import annotations

import json
import os
import shlex

from dsec_cli.commands.sources import STDIN, read_source
from dsec_cli.commands.speaking import listener
from dsec_cli.diagnostics import Severity
from dsec_cli.exit import YES, UsageError
from dsec_cli.exit import tell as write
from dsec_cli.importing.kind import Imported, Kind, convert, kinds
from dsec_cli.importing.tables import refuse_undecodable
from dsec_cli.lint.linter import lint
from dsec_cli.report.output import emit
from dsec_cli.source.text import SourceText
from dsec_cli.words import said, say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.options import Args

SHOWN = 200
"""Things left behind that standard error lists."""


def main(args: Args) -> int:
    """Write the contract (or all there is as JSON); tell what is not in it on standard error."""
    kind = next(one for one in kinds() if one.name == args.kind)
    if len(args.files) > 1 and not kind.many:
        raise UsageError(
            say("{name} takes one file, not {count}", name=kind.name, count=len(args.files)),
            hint="import one after the other",
        )
    if len(set(args.files)) < len(args.files):
        raise UsageError("a file is named twice", hint="name each file once")
    sources = tuple(read_source(path) for path in args.files)
    for source in sources:
        refuse_undecodable(source)
    tell = listener(args.lang)
    found = convert(kind, sources, _beside(kind, sources), listener(args.lang, "yaml"))
    linted = _linted(found.text)
    if args.json:
        emit(as_json(found, linted), args.output)
        return YES
    emit(found.text, args.output)
    for line in _notes(found, linted, args.output):
        write(tell(line))
    return YES


def _notes(found: Imported, linted: list[tuple[str, str, str, int]], output: str | None) -> Iterator[str]:
    """What standard error is told, line by line."""
    for left in (one for one in found.left if one.open):
        yield say("not settled: {line}", line=left.line())
    settled = [one for one in found.left if not one.open]
    for left in settled[:SHOWN]:
        yield say("not mapped: {line}", line=left.line())
    if len(settled) > SHOWN:
        yield say("not mapped: {count} more, which --json lists", count=len(settled) - SHOWN)
    for text in found.taken:
        yield say("assumed: {text}", text=said(text))
    for code, name, severity, count in linted:
        places = say(" ({count} places)", count=count) if count > 1 else ""
        level = say("error") if severity == "error" else say("warning")
        yield say(
            "lint: {severity}[{code}] {name}{places}", severity=level, code=code, name=name, places=places
        )
    yield _summary(found, output)


def _linted(text: str) -> list[tuple[str, str, str, int]]:
    """Errors and warnings of the contract: code, name, severity and how often."""
    counts: dict[tuple[str, str, str], int] = {}
    for one in lint(SourceText.from_bytes("dsandbox.yaml", text.encode())):
        if one.severity is not Severity.INFO:
            key = one.code, one.name, one.severity.value
            counts[key] = counts.get(key, 0) + 1
    return [(*key, count) for key, count in sorted(counts.items())]


def _beside(kind: Kind, sources: tuple[SourceText, ...]) -> dict[str, SourceText]:
    """The files that the first one names, as far as they are in its folder and were not given."""
    first = sources[0]
    if first.name.startswith("<"):
        return {}
    folder = os.path.dirname(first.name)
    given = {os.path.normpath(source.name) for source in sources}
    found = {}
    for name in kind.beside(first):
        path = os.path.join(folder, name)
        if os.path.normpath(path) not in given and os.path.isfile(path):
            found[name] = read_source(path)
    return found


def as_json(found: Imported, linted: list[tuple[str, str, str, int]]) -> str:
    """The contract's text, what was not mapped with all its places, what was assumed, what lint says."""
    left = [
        {
            "what": one.what,
            "why": one.why,
            "unsettled": one.open,
            "places": [place._asdict() for place in one.places],
        }
        for one in found.left
    ]
    body = {
        "version": 1,
        "contract": found.text,
        "steps": found.steps,
        "not_mapped": left,
        "assumed": list(found.taken),
        "lint": [dict(zip(("code", "name", "severity", "count"), one, strict=True)) for one in linted],
    }
    return json.dumps(body, indent=2, ensure_ascii=False) + "\n"


def _summary(found: Imported, output: str | None) -> str:
    steps = say("1 Step") if found.steps == 1 else say("{count} Steps", count=found.steps)
    unsettled = sum(one.open for one in found.left)
    left = (
        say("not mapped: {count}", count=len(found.left) - unsettled) if found.left else say("all is mapped")
    )
    if unsettled:
        left = say("to be settled: {count}; {left}", count=unsettled, left=left)
    if output in (None, STDIN):
        return say("{steps}; {left}", steps=steps, left=left)
    return say(
        "{output}: {steps}; {left}; next: dsec lint {file}",
        output=output,
        steps=steps,
        left=left,
        file=shlex.quote(output),
    )
