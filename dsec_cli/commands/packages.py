"""`dsec packages`: which versions a contract's Python packages come to, and which cannot go together."""

from __future__ import annotations

import os
import sys

from dsec.core.pep440 import satisfies
from dsec.record import Record
from dsec_cli.cells import shown
from dsec_cli.commands.nearest import contract_here
from dsec_cli.commands.packaging import environment, tables
from dsec_cli.commands.sources import read_source
from dsec_cli.commands.speaking import listener, locally
from dsec_cli.commands.terminal import colored
from dsec_cli.contract.build import build_all
from dsec_cli.diagnostics import Severity
from dsec_cli.exit import NO, YES, UsageError
from dsec_cli.exit import tell as write
from dsec_cli.lint.linter import lint
from dsec_cli.lint.rule import Surroundings, find_rules
from dsec_cli.packages import markers
from dsec_cli.packages.conflicts import entries_of
from dsec_cli.packages.coverage import covered
from dsec_cli.packages.disputes import disputes
from dsec_cli.packages.held import Held
from dsec_cli.packages.settle import settle
from dsec_cli.report.format import Report
from dsec_cli.report.formats.text import render
from dsec_cli.report.output import emit
from dsec_cli.report.terminal import columns
from dsec_cli.source.yaml import parse
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.commands.resolver_answer import Answer
    from dsec_cli.diagnostics import Diagnostic
    from dsec_cli.options import Args
    from dsec_cli.packages.conflicts import Entry
    from dsec_cli.report.format import Tell
    from dsec_cli.source.text import SourceText

TYPES = "DS104"
RULES = frozenset(("DS001", "DS002", "DS010", TYPES, "DS108", "DS110", "DS111", "DS112", "DS114"))
"""What is asked here; the rest is `dsec lint`."""
FORMAT = "dsec.packages/1"
_OWN = "-"
_MOST_NOTED = 5
_MOST_SECONDS = 86_400


class Line(Record):
    """What became of one package of the contract."""

    entry: Entry
    version: str
    """The version that it comes to; "": not known."""
    how: str
    """Where that comes from, or why there is none."""


def main(args: Args) -> int:
    """Print the versions and the findings; exit code 1 for an error or a warning."""
    path = args.file if args.file is not None else contract_here()
    if os.path.isdir(path):
        path = contract_here(path)
    text = read_source(path)
    entries = tuple(one for built in build_all(parse(text), text.name) for one in entries_of(built.contract))
    held = _held(args, os.path.dirname(path) or ".")
    tell = listener(args.lang)
    answer = None
    if args.resolve and entries:
        from dsec_cli.commands.resolving import resolve

        answer = resolve(entries, held, index=args.index, limit_s=args.timeout)
        held = answer.held
        _note(answer, tell)
    rules = tuple(rule for rule in find_rules() if rule.code in RULES)
    found_all = lint(text, around=Surroundings(packages=held), rules=rules)
    diagnostics = tuple(one for one in found_all if one.code != TYPES or one.path.startswith("dependencies"))
    lines = _lines(entries, held, answer)
    report = locally(_report(text, diagnostics, args), "json" if args.json else "text", args.lang)
    emit(
        as_json(text, lines, held, report.diagnostics, answer)
        if args.json
        else _table(lines, answer, tell) + "\n" + _verdict(report, entries, held, answer),
        args.output,
    )
    return NO if any(one.severity is not Severity.INFO for one in diagnostics) else YES


def _held(args: Args, folder: str) -> Held:
    if args.index is not None and not args.resolve:
        raise UsageError("--index says which index --resolve asks", hint="add --resolve")
    if not 1 <= args.timeout <= _MOST_SECONDS:
        raise UsageError(
            say("--timeout must be between 1 and {most} seconds", most=_MOST_SECONDS),
            hint="such as --timeout 60",
        )
    extra = tables(folder)
    path = args.environment
    held = environment(None if path == _OWN else path, extra=extra) if path is not None else Held(extra=extra)
    return held._replace(known={**held.known, **_stated(args.python)}) if args.python is not None else held


def _stated(python: str) -> dict[str, str]:
    parts = python.split(".")
    if len(parts) not in (2, 3) or not all(part.isascii() and part.isdecimal() for part in parts):
        raise UsageError(
            say("--python {python!r} is no version", python=python), hint="such as 3.11 or 3.11.4"
        )
    return markers.environment(python)


def _lines(entries: tuple[Entry, ...], held: Held, answer: Answer | None) -> list[Line]:
    if answer is not None:
        found, how = answer.versions, say("from the index")
        return [_line(entry, found, how, _unresolved(entry, answer)) for entry in entries]
    if held.installed:
        return [_of_environment(entry, held) for entry in entries]
    odd = {
        chain.entry
        for one, _ in disputes(entries, held)
        for chain in (one.one, one.other)
        if chain.entry.path
    }
    known = settle(tuple(entry for entry in entries if entry not in odd), held.shelf()) or {}
    fits = say("newest in the table that fits")
    return [
        Line(entry, "", say("in conflict, see below"))
        if entry in odd
        else _line(entry, known, fits, say("not in the table"))
        for entry in entries
    ]


def _unresolved(entry: Entry, answer: Answer) -> str:
    if any(one.partition(" ")[0] == entry.name for one in answer.unknown):
        return say("not resolved: what it requires is unknown")
    there = answer.held.published.get(entry.name)
    if there is not None and not any(satisfies(entry.wanted, one) for one in there.versions):
        return say("no version from the index")
    return say("not resolved, see below")


def _line(entry: Entry, found: dict[str, str], how: str, none: str) -> Line:
    version = found.get(entry.name, "")
    return Line(entry, version, how if version else none)


def _of_environment(entry: Entry, held: Held) -> Line:
    here = held.installed.get(entry.name)
    return Line(entry, here.releases[0] if here else "", say("installed") if here else say("not installed"))


def _report(text: SourceText, diagnostics: tuple[Diagnostic, ...], args: Args) -> Report:
    return Report(
        files=(text.name,),
        texts={text.name: text},
        diagnostics=diagnostics,
        rules=lambda: (),
        color=args.output is None and colored("auto", sys.stdout),
        width=columns(sys.stdout),
    )


def _note(answer: Answer, tell: Tell) -> None:
    """What the answer leaves open, to people on stderr."""
    unknown = [
        say("what {release} requires is unknown: the index does not state it", release=one)
        for one in answer.unknown
    ]
    for note in (*answer.notes, *unknown[:_MOST_NOTED]):
        write(tell(say("note: {note}", note=note)))


def _table(lines: list[Line], answer: Answer | None, tell: Tell) -> str:
    if not lines:
        return tell(say("no Python packages are stated")) + "\n"
    rows = [(shown(one.entry.text), one.version, tell(one.how)) for one in lines]
    wide = [max(len(row[at]) for row in rows) for at in (0, 1)]
    table = [f"{a:<{wide[0]}}  {b:<{wide[1]}}  {c}".rstrip() for a, b, c in rows]
    if answer is not None:
        table.append(
            tell(say("resolver: {name}, within {limit:g} s", name=answer.resolver, limit=answer.limit_s))
        )
        table += [tell(say("index: {url}", url=shown(answer.url)))] if answer.url else []
        table += [tell(say("it says: {words}", words=shown(answer.words)))] if answer.words else []
    return "".join(line + "\n" for line in table)


def _verdict(report: Report, entries: tuple[Entry, ...], held: Held, answer: Answer | None) -> str:
    """The findings; without any, what "nothing found" rests on."""
    if report.counting() or not entries:
        return render(report)
    if answer is not None:
        if answer.unknown:
            return (
                report.tell(
                    say(
                        "nothing found, but it is unknown what is required by {packages}",
                        packages=", ".join(answer.unknown),
                    )
                )
                + "\n"
            )
        return (
            report.tell(
                say("nothing found: {resolver} has found versions that go together", resolver=answer.resolver)
            )
            + "\n"
        )
    coverage = covered(entries, held)
    verdict = say(
        "nothing found, as far as the table knows ({rules} rules of {known} of {packages} packages)",
        rules=coverage.rules,
        known=coverage.known,
        packages=coverage.packages,
    )
    if held.where:
        verdict = say("{verdict}, and as far as {where} shows", verdict=verdict, where=held.where)
    return (
        report.tell(verdict)
        + "\n"
        + report.tell(say("dsec packages --resolve asks a resolver and the index for a full answer"))
        + "\n"
    )


def as_json(
    text: SourceText,
    lines: list[Line],
    held: Held,
    diagnostics: tuple[Diagnostic, ...],
    answer: Answer | None = None,
) -> str:
    """The same for programs; conflicts with both chains."""
    import json

    document = {
        "format": FORMAT,
        "file": text.name,
        "environment": held.where or None,
        "index": (answer.url or None) if answer is not None else None,
        "resolver": _resolver(answer),
        "table": covered(tuple(one.entry for one in lines), held)._asdict(),
        "packages": [
            {
                "package": one.entry.name,
                "wanted": one.entry.wanted or None,
                "version": one.version or None,
                "how": one.how,
            }
            for one in lines
        ],
        "conflicts": _conflicts(tuple(one.entry for one in lines), held),
        "findings": [
            {
                "code": one.code,
                "severity": one.severity.value,
                "path": one.path,
                "line": one.place.start.line,
                "column": one.place.start.column,
                "message": one.message,
                "reason": one.reason,
                "help": one.help,
            }
            for one in diagnostics
        ],
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _resolver(answer: Answer | None) -> dict[str, object] | None:
    if answer is None:
        return None
    name, _, version = answer.resolver.partition(" ")
    return {
        "name": name,
        "version": version,
        "limit_s": answer.limit_s,
        "unknown": list(answer.unknown),
        "words": answer.words or None,
    }


def _conflicts(entries: tuple[Entry, ...], held: Held) -> list[dict[str, object]]:
    return [
        {
            "on": conflict.on,
            "chains": [
                [conflict.one.entry.origin, *conflict.one.links],
                [conflict.other.entry.origin, *conflict.other.links],
            ],
            "more": [entry.text for entry in conflict.more],
            "why": conflict.why or None,
            "sources": list(conflict.sources),
            "alternative": None
            if alternative is None
            else {
                "package": alternative.entry.name,
                "wanted": alternative.wanted,
                "works": dict(alternative.works),
            },
        }
        for conflict, alternative in disputes(entries, held)
    ]
