"""Findings for people, one block each, and one line that sums up."""

from __future__ import annotations

from dsec_cli.diagnostics import SEVERITIES, Severity
from dsec_cli.report.format import Format
from dsec_cli.words import joined, say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.report.format import Report

_ONE = {
    Severity.ERROR: say("1 error"),
    Severity.WARNING: say("1 warning"),
    Severity.INFO: say("1 remark"),
}
_SEVERAL = {
    Severity.ERROR: "{count} errors",
    Severity.WARNING: "{count} warnings",
    Severity.INFO: "{count} remarks",
}


def render(report: Report) -> str:
    """The whole text."""
    return "".join(pieces(report))


def pieces(report: Report) -> Iterator[str]:
    """Every diagnostic that counts with its source line, then notes and the sum; quiet: one line each."""
    if report.quiet:
        yield from _blocks(report)
        return
    for shown in _blocks(report):
        yield shown + "\n"
    for note in report.notes:
        yield report.tell(say("note: {note}", note=note)) + "\n"
    yield summary(report) + "\n"


def _blocks(report: Report) -> Iterator[str]:
    counting = report.counting()
    if not counting:
        return
    from dsec_cli.report.block import (
        block,
        headline,
        secrets,
    )  # a clean file, the usual case, does not pay for it

    hidden = secrets(report)
    for one in counting:
        yield headline(one, report) + "\n" if report.quiet else block(one, report, hidden=hidden)


def summary(report: Report) -> str:
    """`2 errors, 1 remark, 3 silenced in 1 of 2 files`, in the report's language."""
    tell, counting = report.tell, report.counting()
    silenced = len(report.diagnostics) - len(counting)
    files = len(report.files)
    checked = say("1 file") if files == 1 else say("{count} files", count=files)
    if not counting:
        if not silenced:
            return tell(say("{files} checked, nothing found", files=checked))
        return tell(say("{files} checked, nothing found, {count} silenced", files=checked, count=silenced))
    counts = dict.fromkeys(SEVERITIES, 0)
    for one in counting:
        counts[one.severity] += 1
    parts = [
        _ONE[severity] if count == 1 else say(_SEVERAL[severity], count=count)
        for severity, count in counts.items()
        if count
    ]
    found = tell(joined(", ", parts))
    if report.color:
        found = f"\x1b[1m{found}\x1b[0m"
    if silenced:
        found = tell(say("{found}, {count} silenced", found=found, count=silenced))
    if files == 1:
        return found
    hit = len({one.place.file for one in counting})
    return tell(say("{found} in {hit} of {files}", found=found, hit=hit, files=checked))


FORMAT = Format("text", pieces)
