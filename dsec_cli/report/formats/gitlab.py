"""Findings as a GitLab Code Quality report, shown in merge requests.

GitLab tells findings apart by their fingerprint alone, so a moved one is not new. It knows nothing of
silenced ones; they are left out. Paths are taken from the current folder, the repository's root.
"""

from __future__ import annotations

import json

from dsec_cli.diagnostics import Severity
from dsec_cli.report.fingerprint import fingerprints, seen_from
from dsec_cli.report.format import Format

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.report.format import Report

_SEVERITIES = {Severity.ERROR: "major", Severity.WARNING: "minor", Severity.INFO: "info"}


def render(report: Report) -> str:
    """One JSON array."""
    prints = fingerprints(report.diagnostics, report.texts)
    entries = [
        {
            "description": f"{one.code} {one.message}",
            "check_name": one.name,
            "fingerprint": key,
            "severity": _SEVERITIES[one.severity],
            "location": {
                "path": seen_from("", one.place.file),
                "lines": {"begin": one.place.start.line, "end": one.place.end.line},
            },
        }
        for one, key in zip(report.diagnostics, prints, strict=True)
        if one.silenced is None
    ]
    return json.dumps(entries, ensure_ascii=False, indent=2) + "\n"


FORMAT = Format("gitlab", render)
