"""Findings as SARIF 2.1.0, for code scanning.

Code hosts refuse a whole upload for one result without a location, for a column 0 or an empty
URI, and keep 25,000 results at most; so every result has a physical location, places count from
1, and what is over the limit is left out by severity, which a notification says.
"""

from __future__ import annotations

import os
from urllib.parse import quote

from dsec import __version__
from dsec_cli.diagnostics import SEVERITIES, Severity
from dsec_cli.report.fingerprint import fingerprints, seen_from
from dsec_cli.report.format import Format
from dsec_cli.report.pretty import INDENT, listed, opened, pretty
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.diagnostics import Diagnostic, Edit, Fix, Place
    from dsec_cli.report.format import Report, RuleInfo
    from dsec_cli.source.text import SourceText, Span

    Object = dict[str, object]

MOST = 25_000
"""Results that GitHub accepts of one run."""
MOST_RELATED = 100
"""Related places of one result; GitHub takes 1,000, nobody reads them, and the upload has a limit."""
FLOWS = frozenset({"DS503"})
"""Findings whose related places are one way, to be walked from the first to the last."""
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def pieces(report: Report) -> Iterator[str]:
    """One run with every rule that ran and every result that fits."""
    rules = report.rules()
    index = {rule.code: at for at, rule in enumerate(rules)}
    prints = fingerprints(report.diagnostics, report.texts)
    kept = _kept(report.diagnostics)
    yield opened({"$schema": _SCHEMA, "version": "2.1.0"}, "runs") + "[" + _RUN
    yield opened(_head(report, rules), "results", _RUN)
    results = (_result(report.diagnostics[at], report, index=index, fingerprint=prints[at]) for at in kept)
    yield from listed(results, _RUN + INDENT)
    notes = _notes(report, left_out=len(report.diagnostics) - len(kept))
    if notes:
        yield "," + pretty({"invocations": notes}, _RUN)[1:]
    else:
        yield _RUN + "}"
    yield "\n  ]\n}\n"


_RUN = "\n" + 2 * INDENT


def _head(report: Report, rules: tuple[RuleInfo, ...]) -> Object:
    """What a run says before its results."""
    return {
        "tool": {
            "driver": {
                "name": "DSec",
                "semanticVersion": __version__,
                "rules": [_rule(rule) for rule in rules],
            }
        },
        "columnKind": "utf16CodeUnits",
        "artifacts": [{"location": _artifact(file)} for file in report.files],
    }


def _notes(report: Report, *, left_out: int) -> list[object]:
    """What a run says behind its results, if anything."""
    notes = [("note", note) for note in report.notes]
    if left_out:
        text = say("{count} findings beyond {most} were left out.", count=left_out, most=MOST)
        notes.insert(0, ("warning", report.tell(text)))
    told = [{"level": level, "message": {"text": text}} for level, text in notes]
    return [{"executionSuccessful": True, "toolExecutionNotifications": told}] if told else []


def _kept(diagnostics: tuple[Diagnostic, ...]) -> list[int]:
    """Which are written: the first `MOST` by severity, silenced ones last, in their own order."""
    rank = {severity: at for at, severity in enumerate(SEVERITIES)}

    def order(at: int) -> tuple[bool, int, int]:
        one = diagnostics[at]
        return (one.silenced is not None, rank[one.severity], at)

    return sorted(sorted(range(len(diagnostics)), key=order)[:MOST])


def _rule(rule: RuleInfo) -> Object:
    return {
        "id": rule.code,
        "name": rule.name,
        "shortDescription": {"text": rule.summary},
        "fullDescription": {"text": rule.why or rule.summary},
        "help": {"text": rule.page, "markdown": rule.page},
        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
    }


def _result(one: Diagnostic, report: Report, *, index: dict[str, int], fingerprint: str) -> Object:
    result: Object = {
        "ruleId": one.code,
        "level": _LEVELS[one.severity],
        "message": {
            "text": " ".join(
                part for part in (_sentence(one.message), _sentence(one.reason), one.help) if part
            )
        },
        "locations": [_location(one.place, report) | _logical(one.path)],
        "partialFingerprints": {"dsecFinding/v1": fingerprint},
    }
    if one.code in index:
        result["ruleIndex"] = index[one.code]
    if one.related:
        result["relatedLocations"] = [
            {
                "id": at,
                **_location(place, report),
                "message": {"text": label or report.tell(say("see also"))},
            }
            for at, (place, label) in enumerate(one.related[:MOST_RELATED], 1)
        ]
        if one.code in FLOWS:
            result["codeFlows"] = [_flow(one, report)]
    if one.fixes:
        result["fixes"] = [_fix(fix, one, report) for fix in one.fixes]
    if one.silenced is not None:
        kind = "inSource" if one.silenced.by == "comment" else "external"
        # Code hosts close an alert that a suppressed result stands for; leaving it out would make it flap.
        said = ": ".join(part for part in (one.silenced.by, one.silenced.reason) if part)
        result["suppressions"] = [{"kind": kind, "status": "accepted", "justification": said}]
    return result


def _flow(one: Diagnostic, report: Report) -> Object:
    """The related places in order, as code hosts step through them."""
    steps = [
        {"location": {**_location(place, report), "message": {"text": label or report.tell(say("see also"))}}}
        for place, label in one.related[:MOST_RELATED]
    ]
    return {"threadFlows": [{"locations": steps}]}


def _sentence(text: str) -> str:
    return text if not text or text[-1] in ".!?:。" else text + "."


def _logical(path: str) -> Object:
    return {"logicalLocations": [{"fullyQualifiedName": path}]} if path else {}


def _location(place: Place, report: Report) -> Object:
    text = report.texts.get(place.file)
    # Of a file that was not linted only lines are known for sure: its columns may count anything.
    region = _region(text, place.span) if text is not None else _lines(place)
    return {"physicalLocation": {"artifactLocation": _artifact(place.file), "region": region}}


def _lines(place: Place) -> Object:
    return {"startLine": place.start.line, "endLine": place.end.line}


def _region(text: SourceText, span: Span) -> Object:
    return {
        "startLine": text.position(span.start).line,
        "startColumn": text.utf16_column(span.start),
        "endLine": text.position(span.end).line,
        "endColumn": text.utf16_column(span.end),
    }


def _artifact(file: str) -> Object:
    """Files below the working folder by relative URI, others by absolute one."""
    path = seen_from("", file)
    uri = quote(os.fsencode(path))
    return {"uri": f"file://{uri}"} if os.path.isabs(path) else {"uri": uri, "uriBaseId": "%SRCROOT%"}


def _fix(fix: Fix, one: Diagnostic, report: Report) -> Object:
    text = report.texts[one.place.file]
    replacements = [_replacement(text, edit) for edit in fix.edits]
    changes = [{"artifactLocation": _artifact(one.place.file), "replacements": replacements}]
    return {"description": {"text": fix.title}, "artifactChanges": changes}


def _replacement(text: SourceText, edit: Edit) -> Object:
    return {"deletedRegion": _region(text, edit.span), "insertedContent": {"text": edit.text}}


FORMAT = Format("sarif", pieces)
