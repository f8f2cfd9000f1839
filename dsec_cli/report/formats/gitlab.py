"""Findings as a GitLab Code Quality report, shown in merge requests.

GitLab tells findings apart by their fingerprint alone, so a moved one is not new. It knows nothing of
silenced ones; they are left out. Paths are taken from the current folder, the repository's root.
"""

from __future__ import annotations

from dsec_cli.diagnostics import Severity
from dsec_cli.report.fingerprint import fingerprints, seen_from
from dsec_cli.report.format import Format
from dsec_cli.report.pretty import listed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.diagnostics import Diagnostic
    from dsec_cli.report.format import Report

_SEVERITIES = {Severity.ERROR: "major", Severity.WARNING: "minor", Severity.INFO: "info"}


def pieces(report: Report) -> Iterator[str]:
    """One JSON array."""
    prints = fingerprints(report.diagnostics, report.texts)
    found = zip(report.diagnostics, prints, strict=True)
    yield from listed(_entry(one, key) for one, key in found if one.silenced is None)
    yield "\n"


def _entry(one: Diagnostic, key: str) -> dict[str, object]:
    return {
        "description": f"{one.code} {one.message}",
        "check_name": one.name,
        "fingerprint": key,
        "severity": _SEVERITIES[one.severity],
        "location": {
            "path": seen_from("", one.place.file),
            "lines": {"begin": one.place.start.line, "end": one.place.end.line},
        },
    }


FORMAT = Format("gitlab", pieces)
