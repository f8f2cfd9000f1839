"""Findings as workflow commands, which GitHub Actions shows beside the lines of a pull request.

GitHub shows ten errors and ten warnings of a step and counts columns only within one line; what is
silenced is left out. Paths are taken from the current folder, which has to be the repository's root.
"""

from __future__ import annotations

from dsec.markup import github_data, github_property
from dsec_cli.diagnostics import Severity
from dsec_cli.report.fingerprint import seen_from
from dsec_cli.report.format import Format

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.diagnostics import Diagnostic
    from dsec_cli.report.format import Report

_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}


def pieces(report: Report) -> Iterator[str]:
    """One command per diagnostic that counts."""
    return (_command(one) + "\n" for one in report.counting())


def _command(one: Diagnostic) -> str:
    start, end = one.place.start, one.place.end
    where = {"file": seen_from("", one.place.file), "line": start.line}
    if start.line == end.line:
        where |= {"col": start.column, "endColumn": max(end.column, start.column)}
    else:
        where["endLine"] = end.line
    where["title"] = f"{one.code} {one.name}"
    properties = ",".join(f"{name}={github_property(str(value))}" for name, value in where.items())
    text = "\n".join(part for part in (one.message, one.reason, one.help) if part)
    return f"::{_COMMANDS[one.severity]} {properties}::{github_data(text)}"


FORMAT = Format("github", pieces)
