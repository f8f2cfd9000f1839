"""Findings as one JSON document, for programs; `format` names the version of its shape.

    {"format": "dsec.lint/1", "tool": {"name", "version"}, "files": [name],
     "summary": {"error", "warning", "info", "silenced"}, "notes": [text], "diagnostics": [
        {"code", "name", "severity", "path", "message", "reason", "help", "place": PLACE,
         "related": [{"label", "place": PLACE}], "message_id", "arguments", "fingerprint", "silenced",
         "fixes": [{"title", "safe", "edits": [{"start": POINT, "end": POINT, "text"}]}]}]}

`message_id` and `arguments` are the same in every language; `silenced` is null or {"by", "reason"},
and what is silenced does not count as an error, a warning or a remark.

PLACE is {"file", "start": POINT, "end": POINT}, the end exclusive. POINT is {"line", "column",
"utf16_column", "offset", "byte"}: line and columns count from 1, columns in code points and in
UTF-16 code units; offset (code points, without a byte order mark) and byte count from 0. A related place
in a file that was not linted has null for `utf16_column` and `byte`.
"""

from __future__ import annotations

from dsec import __version__
from dsec_cli.diagnostics import SEVERITIES
from dsec_cli.report.fingerprint import fingerprints
from dsec_cli.report.format import Format
from dsec_cli.report.pretty import INDENT, listed, opened
from dsec_cli.words import arguments, message_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.diagnostics import Diagnostic, Place
    from dsec_cli.report.format import Report
    from dsec_cli.source.text import Position, SourceText


def pieces(report: Report) -> Iterator[str]:
    """The document, diagnostics in the report's order."""
    yield opened(head(report), "diagnostics")
    yield from listed(diagnostics(report), "\n" + INDENT)
    yield "\n}\n"


def head(report: Report) -> dict[str, object]:
    """What the document says before its diagnostics."""
    counts = {severity.value: 0 for severity in SEVERITIES} | {"silenced": 0}
    for one in report.diagnostics:
        counts["silenced" if one.silenced is not None else one.severity.value] += 1
    return {
        "format": "dsec.lint/1",
        "tool": {"name": "dsec", "version": __version__},
        "files": list(report.files),
        "summary": counts,
        "notes": list(report.notes),
    }


def diagnostics(report: Report) -> Iterator[dict[str, object]]:
    """Every diagnostic, in the report's order."""
    prints = fingerprints(report.diagnostics, report.texts)
    for one, key in zip(report.diagnostics, prints, strict=True):
        yield _diagnostic(one, report, key)


def _diagnostic(one: Diagnostic, report: Report, fingerprint: str) -> dict[str, object]:
    text = report.texts[one.place.file]
    return {
        "code": one.code,
        "name": one.name,
        "severity": one.severity.value,
        "path": one.path,
        "message": one.message,
        "reason": one.reason,
        "help": one.help,
        "place": _place(one.place, report),
        "related": [{"label": label, "place": _place(place, report)} for place, label in one.related],
        "message_id": f"{one.code}.{message_id(one.message)}" if message_id(one.message) else one.code,
        "arguments": arguments(one.message),
        "fingerprint": fingerprint,
        "silenced": one.silenced and {"by": one.silenced.by, "reason": one.silenced.reason},
        "fixes": [
            {
                "title": fix.title,
                "safe": fix.safe,
                "edits": [
                    {"start": _point(text, at.start), "end": _point(text, at.end), "text": new}
                    for at, new in fix.edits
                ],
            }
            for fix in one.fixes
        ],
    }


def _place(place: Place, report: Report) -> dict[str, object]:
    text = report.texts.get(place.file)
    if text is None:
        start, end = _unread(place.start, place.span.start), _unread(place.end, place.span.end)
    else:
        start, end = _point(text, place.span.start), _point(text, place.span.end)
    return {"file": place.file, "start": start, "end": end}


def _unread(position: Position, offset: int) -> dict[str, int | None]:
    """A point of a file that the linter did not read itself: what the finding says of it."""
    line, column = position
    return {"line": line, "column": column, "utf16_column": None, "offset": offset, "byte": None}


def _point(text: SourceText, offset: int) -> dict[str, int | None]:
    line, column = text.position(offset)
    return {
        "line": line,
        "column": column,
        "utf16_column": text.utf16_column(offset),
        "offset": offset,
        "byte": text.byte_offset(offset),
    }


FORMAT = Format("json", pieces)
