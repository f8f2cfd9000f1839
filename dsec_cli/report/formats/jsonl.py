"""Findings as JSON lines: one per finding as they are in `json`, then one that sums up.

Each line has a `kind`: `finding`, and last `summary` with what `json` says besides its diagnostics. A
stream without a summary was cut off.
"""

from __future__ import annotations

import json

from dsec_cli.report.format import Format
from dsec_cli.report.formats.json import document

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.report.format import Report


def render(report: Report) -> str:
    """All lines, diagnostics in the report's order."""
    whole = document(report)
    lines = [{"kind": "finding", **one} for one in whole.pop("diagnostics")]
    lines.append({"kind": "summary", **whole})
    return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)


FORMAT = Format("jsonl", render)
