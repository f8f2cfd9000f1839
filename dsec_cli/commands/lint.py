"""`dsec lint` and `ds-contract-lint`: files in, findings out."""

from __future__ import annotations

import sys
import time

from dsec.errors import DSecError
from dsec_cli import exit as codes
from dsec_cli.commands.sources import expand, read_source
from dsec_cli.commands.terminal import colored
from dsec_cli.diagnostics import Severity
from dsec_cli.lint.linter import lint
from dsec_cli.lint.rule import Surroundings, find_rules
from dsec_cli.report.format import Report
from dsec_cli.report.output import emit
from dsec_cli.report.terminal import columns

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec.inventory import Inventory
    from dsec_cli.diagnostics import Diagnostic
    from dsec_cli.lint.rule import Rule
    from dsec_cli.options import Args
    from dsec_cli.report.format import Format, RuleInfo
    from dsec_cli.source.text import SourceText

ALWAYS = ("DS001", "DS002", "DS010")
"""A text that could not be read as a whole is never passed in silence, whatever is selected."""


def main(args: Args) -> int:
    """Lint every file, show the findings, and say by the exit code whether they matter."""
    rules = chosen(find_rules(), select=args.select, ignore=args.ignore)
    around = Surroundings(inventory=_inventory(args.inventory), today=_today())
    texts, problems = _read_all(args)
    diagnostics = [one for text in texts for one in lint(text, around=around, rules=rules)]
    if texts:
        emit(_format(args.format).render(_report(args, texts, diagnostics, rules=rules)), args.output)
    for problem in problems:
        codes.say(problem)
    if problems:
        return codes.UNKNOWN
    bad = any(one.severity is not Severity.INFO for one in diagnostics)
    return codes.NO if bad and not args.exit_zero else codes.YES


def _read_all(args: Args) -> tuple[list[SourceText], list[DSecError]]:
    """Every text that can be read, and why the others cannot: one bad name hides no finding."""
    paths, missing = expand(args.paths)
    problems: list[DSecError] = list(missing)
    texts = []
    for path in paths:
        try:
            texts.append(read_source(path, stdin_name=args.stdin_name))
        except DSecError as problem:
            problems.append(problem)
    return texts, problems


def _report(
    args: Args, texts: list[SourceText], diagnostics: list[Diagnostic], *, rules: tuple[Rule, ...]
) -> Report:
    to_file = args.output is not None
    return Report(
        files=tuple(text.name for text in texts),
        texts={text.name: text for text in texts},
        diagnostics=tuple(sorted(diagnostics, key=_by_place)),
        rules=lambda: _pages(rules),
        color=colored("never" if to_file and args.color == "auto" else args.color, sys.stdout),
        width=columns(sys.stdout),
        quiet=args.quiet,
        fold=not to_file and sys.stdout.isatty(),
    )


def _by_place(one: Diagnostic) -> tuple[str, int, int, str, str]:
    return (one.place.file, one.place.span.start, one.place.span.end, one.code, one.message)


def _pages(rules: tuple[Rule, ...]) -> tuple[RuleInfo, ...]:
    from dsec_cli.lint import page
    from dsec_cli.report.format import RuleInfo

    return tuple(
        RuleInfo(rule.code, rule.name, rule.severity, page.read(rule).summary, page.markdown(rule))
        for rule in rules
    )


def _format(name: str) -> Format:
    """The format of that name; the others are not even imported."""
    module = f"dsec_cli.report.formats.{name}"
    __import__(module)
    found: Format = sys.modules[module].FORMAT
    return found


def _today() -> str:
    """The day by which suppressions end, in UTC: the same on every machine of a team."""
    return time.strftime("%Y-%m-%d", time.gmtime())


def _inventory(path: str | None) -> Inventory | None:
    if path is None:
        return None
    from dsec_cli.commands.inventory import read_inventory

    return read_inventory(path)


def chosen(rules: tuple[Rule, ...], *, select: tuple[str, ...], ignore: tuple[str, ...]) -> tuple[Rule, ...]:
    """The rules that `--select` and `--ignore` leave; raises UsageError for a code that is none."""
    wanted = _prefixes(select, rules)
    unwanted = _prefixes(ignore, rules)
    return tuple(
        rule
        for rule in rules
        if rule.code in ALWAYS
        or (
            (not wanted or rule.code.startswith(wanted)) and not (unwanted and rule.code.startswith(unwanted))
        )
    )


def _prefixes(lists: tuple[str, ...], rules: tuple[Rule, ...]) -> tuple[str, ...]:
    prefixes = tuple(part.strip().upper() for text in lists for part in text.split(",") if part.strip())
    for prefix in prefixes:
        if not any(rule.code.startswith(prefix) for rule in rules):
            from dsec_cli.lint.nearest import did_you_mean

            hint = did_you_mean(prefix, [rule.code for rule in rules])
            raise codes.UsageError(f"no rule's code begins with {prefix!r}", hint=hint)
    return prefixes
