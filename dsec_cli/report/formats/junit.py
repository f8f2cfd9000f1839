"""Findings as JUnit XML: one suite per file, one case per finding, for CI that shows test results.

Errors and warnings are failures, remarks are cases that pass, silenced ones are skipped with their
reason; a file without findings is one case that passes.
"""

from __future__ import annotations

from dsec.markup import xml_text
from dsec_cli.diagnostics import Severity
from dsec_cli.report.fingerprint import seen_from
from dsec_cli.report.format import Format

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dsec_cli.diagnostics import Diagnostic
    from dsec_cli.report.format import Report

HEAD = '<?xml version="1.0" encoding="utf-8"?>\n'


def pieces(report: Report) -> Iterator[str]:
    """One document."""
    by_file: dict[str, list[Diagnostic]] = {file: [] for file in report.files}
    for one in report.diagnostics:
        by_file.setdefault(one.place.file, []).append(one)
    whole = _totals(report.diagnostics, clean=sum(not found for found in by_file.values()))
    yield f'{HEAD}<testsuites name="dsec lint"{whole}>\n'
    for file, found in by_file.items():
        yield from _suite(file, found)
    yield "</testsuites>\n"


def _totals(found: Iterable[Diagnostic], *, clean: int) -> str:
    kinds = [_kind(one) for one in found]
    return (
        f' tests="{len(kinds) + clean}" failures="{kinds.count("failure")}" errors="0"'
        f' skipped="{kinds.count("skipped")}"'
    )


def _kind(one: Diagnostic) -> str:
    if one.silenced is not None:
        return "skipped"
    return "system-out" if one.severity is Severity.INFO else "failure"


def _suite(file: str, found: list[Diagnostic]) -> Iterator[str]:
    name = _attribute(seen_from("", file))
    yield f"  <testsuite name={name}{_totals(found, clean=int(not found))}>\n"
    if not found:
        yield f'    <testcase name="dsec lint" classname={name}/>\n'
    for one in found:
        yield _case(one, name)
    yield "  </testsuite>\n"


def _case(one: Diagnostic, file: str) -> str:
    line, column = one.place.start
    title = _attribute(f"{one.code} {one.name} {line}:{column}")
    return (
        f'    <testcase name={title} classname={file} file={file} line="{line}">\n'
        f"      {_outcome(one)}\n    </testcase>\n"
    )


def _outcome(one: Diagnostic) -> str:
    kind = _kind(one)
    if one.silenced is not None:
        said = ": ".join(part for part in (one.silenced.by, one.silenced.reason) if part)
        return f"<skipped message={_attribute(said)}/>"
    body = xml_text("\n".join(part for part in (one.message, one.reason, one.help) if part))
    if kind == "system-out":
        return f"<system-out>{body}</system-out>"
    message = _attribute(one.message)
    return f'<failure type="{one.severity.value}" message={message}>{body}</failure>'


def _attribute(text: str) -> str:
    inside = xml_text(text).replace('"', "&quot;").replace("\n", "&#10;").replace("\t", "&#9;")
    return f'"{inside}"'


FORMAT = Format("junit", pieces)
