"""`dsec import`: a contract made of what people have already, and the list of what is not in it."""  # noqa: N999

# The command's name is a keyword of Python: the module is found by name, as that of every command is.

from __future__ import annotations

import json
import os

from dsec_cli.commands.sources import STDIN, read_source
from dsec_cli.diagnostics import Severity
from dsec_cli.exit import YES, UsageError, tell
from dsec_cli.importing.kind import Imported, Kind, convert, kinds
from dsec_cli.importing.tables import refuse_undecodable
from dsec_cli.lint.linter import lint
from dsec_cli.report.output import emit
from dsec_cli.source.text import SourceText
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
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
    found = convert(kind, sources, _beside(kind, sources))
    linted = _linted(found.text)
    if args.json:
        emit(as_json(found, linted), args.output)
        return YES
    emit(found.text, args.output)
    for left in found.left[:SHOWN]:
        tell(f"not mapped: {left.line()}")
    if len(found.left) > SHOWN:
        tell(f"not mapped: {len(found.left) - SHOWN} more, which --json lists")
    for text in found.taken:
        tell(f"assumed: {text}")
    for code, name, severity, count in linted:
        tell(f"lint: {severity}[{code}] {name}{f' ({count} places)' if count > 1 else ''}")
    tell(_summary(found, args.output))
    return YES


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
        {"what": one.what, "why": one.why, "places": [place._asdict() for place in one.places]}
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
    steps = "1 Step" if found.steps == 1 else f"{found.steps} Steps"
    left = "all is mapped" if not found.left else f"not mapped: {len(found.left)}"
    if output in (None, STDIN):
        return f"{steps}; {left}"
    return f"{output}: {steps}; {left}; next: dsec lint {output}"
