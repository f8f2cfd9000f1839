"""Findings for people: place, message, the marked source line, why, and what to write instead."""

from __future__ import annotations

from dsec_cli.diagnostics import Severity
from dsec_cli.report.cells import shown, wrap
from dsec_cli.report.excerpt import Mark, excerpt
from dsec_cli.report.format import Format
from dsec_cli.report.terminal import paint

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.diagnostics import Diagnostic
    from dsec_cli.report.format import Report

BOLD, NOTE, HELP = "1", "36", "1;36"
_ANSI = {Severity.ERROR: "1;31", Severity.WARNING: "1;33", Severity.INFO: "1;34"}
_NOUNS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "remark"}


def render(report: Report) -> str:
    """Every diagnostic with its source line, then one line that sums up."""
    if report.quiet:
        return "".join(_headline(one, report) + "\n" for one in report.diagnostics)
    blocks = [_block(one, report) for one in report.diagnostics]
    return "\n".join([*blocks, _summary(report) + "\n"])


def _headline(one: Diagnostic, report: Report) -> str:
    ink = paint(wanted=report.color)
    start = one.place.start
    where = ink(f"{shown(one.place.file)}:{start.line}:{start.column}:", BOLD)
    kind = ink(f"{one.severity.value}[{one.code}]", _ANSI[one.severity])
    return f"{where} {kind} {ink(shown(one.message), BOLD)}"


def _block(one: Diagnostic, report: Report) -> str:
    ink = paint(wanted=report.color)
    marks = [Mark(one.place, "", _ANSI[one.severity], "^")]
    marks += [Mark(place, label, NOTE, "-") for place, label in one.related]
    lines = [_headline(one, report), *excerpt(marks, report.texts, width=report.width, paint=ink)]
    if one.reason:
        lines += _labelled("why", one.reason, report)
    if one.help:
        lines += _labelled("help", one.help, report)
    lines += _labelled("rule", f"{one.name} (dsec explain {one.code})", report)
    return "\n".join(lines) + "\n"


def _labelled(label: str, text: str, report: Report) -> list[str]:
    """`  help: text`, folded at the width and hanging below its first word."""
    ink = paint(wanted=report.color)
    indent = len(label) + 4
    rows = [row for line in text.split("\n") for row in wrap(shown(line), report.width - indent)]
    head = f"  {ink(label + ':', HELP if label == 'help' else '2')} {rows[0]}"
    return [head, *(" " * indent + row for row in rows[1:])]


def _summary(report: Report) -> str:
    counts = [
        (severity, sum(one.severity is severity for one in report.diagnostics)) for severity in Severity
    ]
    checked = _counted(len(report.files), "file")
    if not report.diagnostics:
        return f"{checked} checked, nothing found"
    found = ", ".join(_counted(count, _NOUNS[severity]) for severity, count in counts if count)
    hit = len({one.place.file for one in report.diagnostics})
    ink = paint(wanted=report.color)
    where = f"{checked} checked" if hit == len(report.files) else f"{hit} of {checked}"
    return f"{ink(found, BOLD)}, {where}"


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


FORMAT = Format("text", render)
