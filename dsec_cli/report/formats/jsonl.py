"""Findings as JSON lines: one per finding as they are in `json`, then one that sums up.

Each line has a `kind`: `finding`, and last `summary` with what `json` says besides its diagnostics. A
stream without a summary was cut off.
"""

from __future__ import annotations

import json

from dsec_cli.report.format import Format
from dsec_cli.report.formats.json import diagnostics, head

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.report.format import Report


def pieces(report: Report) -> Iterator[str]:
    """All lines, diagnostics in the report's order."""
    for one in diagnostics(report):
        yield _line({"kind": "finding", **one})
    yield _line({"kind": "summary", **head(report)})


def _line(said: dict[str, object]) -> str:
    return json.dumps(said, ensure_ascii=False) + "\n"


FORMAT = Format("jsonl", pieces)
