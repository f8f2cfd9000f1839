"""`dsec code`: what an agent's Python needs, found by reading; and what a contract lacks of it."""

from __future__ import annotations

import json
import sys

from dsec_cli import exit as codes
from dsec_cli.code.codec import render as plain
from dsec_cli.commands.agentcode import read_needs
from dsec_cli.commands.code_page import page
from dsec_cli.commands.opened import open_contract
from dsec_cli.commands.speaking import listener, locally
from dsec_cli.commands.terminal import colored
from dsec_cli.diagnostics import Severity
from dsec_cli.lint.linter import lint
from dsec_cli.lint.rule import Surroundings, find_rules
from dsec_cli.report.format import Report
from dsec_cli.report.output import emit
from dsec_cli.report.terminal import columns, paint

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.code.needs import Needs
    from dsec_cli.options import Args
    from dsec_cli.source.text import SourceText

PREFIX = "DS80"
"""Codes of the rules that hold a contract against code."""
UNREAD = frozenset(("DS001", "DS002", "DS010", "DS114"))
"""And of those that say why there is nothing to hold against it: the rest is `dsec lint`."""


def main(args: Args) -> int:
    """Print the needs, or with a contract the findings; only those decide the exit code."""
    folder = args.dir or "."
    if args.contract is None:
        needs, _ = read_needs(folder)
        if args.json:
            emit(json.dumps(plain(needs), indent=2, ensure_ascii=False) + "\n", args.output)
        else:
            color = args.output is None and colored("auto", sys.stdout)
            emit(page(needs, paint(wanted=color), columns(sys.stdout), listener(args.lang)), args.output)
        return codes.YES
    return _compared(args, folder)


def _compared(args: Args, folder: str) -> int:
    opened = open_contract(args.contract)
    needs, texts = read_needs(folder, opened.contract)
    report = _report(args, opened.parts[0].text, texts, needs)
    if args.json:
        from dsec_cli.report.formats.json import FORMAT
    else:
        from dsec_cli.report.formats.text import FORMAT
    emit(FORMAT.render(locally(report, FORMAT.name, args.lang)), args.output)
    bad = any(one.severity is not Severity.INFO for one in report.counting())
    return codes.NO if bad else codes.YES


def _report(args: Args, text: SourceText, texts: dict[str, SourceText], needs: Needs) -> Report:
    rules = tuple(rule for rule in find_rules() if rule.code.startswith(PREFIX) or rule.code in UNREAD)
    to_file = args.output is not None
    return Report(
        files=(text.name,),
        texts={**texts, text.name: text},
        diagnostics=lint(text, around=Surroundings(needs=needs), rules=rules),
        rules=tuple,
        color=not to_file and colored("auto", sys.stdout),
        width=columns(sys.stdout),
        fold=not to_file and sys.stdout.isatty(),
    )
