"""Findings as `file:line:column: severity[code] message`, one line each: for editors, grep and CI logs."""

from __future__ import annotations

from dsec_cli.report.block import headline
from dsec_cli.report.format import Format

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.report.format import Report


def render(report: Report) -> str:
    """One line per diagnostic that counts, and nothing else."""
    return "".join(headline(one, report) + "\n" for one in report.counting())


FORMAT = Format("concise", render)
