"""Findings for reviewdog, in its diagnostic format; columns count bytes of UTF-8, as it asks for.

It knows nothing of silenced findings; they are left out. Fixes become suggestions.
"""

from __future__ import annotations

from dsec_cli.diagnostics import Severity
from dsec_cli.report.fingerprint import seen_from
from dsec_cli.report.format import Format
from dsec_cli.report.pretty import INDENT, listed, opened

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.diagnostics import Diagnostic, Place
    from dsec_cli.report.format import Report
    from dsec_cli.source.text import SourceText, Span

    Object = dict[str, object]

_SEVERITIES = {Severity.ERROR: "ERROR", Severity.WARNING: "WARNING", Severity.INFO: "INFO"}


def pieces(report: Report) -> Iterator[str]:
    """One DiagnosticResult."""
    yield opened({"source": {"name": "dsec"}}, "diagnostics")
    yield from listed((_diagnostic(one, report) for one in report.counting()), "\n" + INDENT)
    yield "\n}\n"


def _diagnostic(one: Diagnostic, report: Report) -> Object:
    text = report.texts[one.place.file]
    entry: Object = {
        "message": "\n".join(part for part in (one.message, one.reason, one.help) if part),
        "location": _location(one.place, report),
        "severity": _SEVERITIES[one.severity],
        "code": {"value": one.code},
    }
    edits = one.fixes[0].edits if one.fixes else ()
    if edits:
        entry["suggestions"] = [{"range": _range(text, edit.span), "text": edit.text} for edit in edits]
    if one.related:
        entry["related_locations"] = [
            {"message": label, "location": _location(place, report)} for place, label in one.related
        ]
    return entry


def _location(place: Place, report: Report) -> Object:
    text = report.texts.get(place.file)
    lines = {"start": {"line": place.start.line}, "end": {"line": place.end.line}}
    return {
        "path": seen_from("", place.file),
        "range": lines if text is None else _range(text, place.span),
    }


def _range(text: SourceText, span: Span) -> Object:
    return {"start": _point(text, span.start), "end": _point(text, span.end)}


def _point(text: SourceText, offset: int) -> dict[str, int]:
    return {"line": text.position(offset).line, "column": text.utf8_column(offset)}


FORMAT = Format("rdjson", pieces)
