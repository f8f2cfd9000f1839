"""Findings for people, one block each, and one line that sums up."""

from __future__ import annotations

from dsec_cli.diagnostics import Severity
from dsec_cli.report.format import Format

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.report.format import Report

_NOUNS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "remark"}


def render(report: Report) -> str:
    """Every diagnostic with its source line, then the sum; quiet: one line each and no sum."""
    if report.quiet:
        return "".join(_blocks(report))
    return "\n".join([*_blocks(report), _summary(report) + "\n"])


def _blocks(report: Report) -> Iterator[str]:
    if not report.diagnostics:
        return
    from dsec_cli.report.block import (
        block,
        headline,
        secrets,
    )  # a clean file, the usual case, does not pay for it

    hidden = secrets(report)
    for one in report.diagnostics:
        yield headline(one, report) + "\n" if report.quiet else block(one, report, hidden=hidden)


def _summary(report: Report) -> str:
    checked = _counted(len(report.files), "file")
    if not report.diagnostics:
        return f"{checked} checked, nothing found"
    counts = dict.fromkeys(Severity, 0)
    for one in report.diagnostics:
        counts[one.severity] += 1
    found = ", ".join(_counted(count, _NOUNS[severity]) for severity, count in counts.items() if count)
    hit = len({one.place.file for one in report.diagnostics})
    where = "" if len(report.files) == 1 else f" in {hit} of {checked}"
    return (f"\x1b[1m{found}\x1b[0m" if report.color else found) + where


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


FORMAT = Format("text", render)
