"""Findings as `file:line:column: severity[code] message`, one line each: for editors, grep and CI logs.

The severity stays English whatever the language of the message: editors look for it.
"""

from __future__ import annotations

from dsec_cli.report.block import headline
from dsec_cli.report.format import Format, as_it_is

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.report.format import Report


def pieces(report: Report) -> Iterator[str]:
    """One line per diagnostic that counts, and nothing else."""
    plain = report._replace(tell=as_it_is)
    return (headline(one, plain) + "\n" for one in report.counting())


FORMAT = Format("concise", pieces)
