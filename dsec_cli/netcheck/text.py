"""A report for people."""

from __future__ import annotations

from dsec_cli.cells import plain, wrap
from dsec_cli.netcheck.document import verdicts
from dsec_cli.netcheck.flows import flow_text
from dsec_cli.netcheck.statement import ABSENT, NOTE, OK, PROBLEM, UNKNOWN
from dsec_cli.netcheck.wording import ms, rate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.netcheck.document import Report
    from dsec_cli.netcheck.judge import Verdict
    from dsec_cli.netcheck.replay import Leg
    from dsec_cli.netcheck.statement import Statement

MARKS = {OK: "ok", NOTE: "note", PROBLEM: "PROBLEM", UNKNOWN: "UNKNOWN", ABSENT: "-"}
GRAVITY = (PROBLEM, UNKNOWN, NOTE, OK, ABSENT)
"""States, the gravest first."""
_INDENT = 20
_WIDTH = 100
VERDICTS = {
    OK: "fit for what was asked",
    NOTE: "fit for what was asked, with notes",
    PROBLEM: "not fit for what was asked",
    UNKNOWN: "could not be found out",
}


def render(report: Report, *, width: int = _WIDTH) -> str:
    """Every flow with what is said of it; the gravest statements stand first."""
    lines = [f"netcheck on {report.host}", *floor_lines(report), ""]
    for leg, verdict in zip(report.legs, verdicts(report), strict=True):
        lines += [*_head(leg), *_statements(verdict, width), ""]
    return "\n".join(map(plain, lines))  # names come from other hosts


def floor_lines(report: Report) -> list[str]:
    """What this host does alone; nothing where it was not measured."""
    found = report.floor.found
    parts = []
    if found.echo is not None and found.echo.delays is not None:
        parts.append(f"round trip {ms(found.echo.delays.median_ns)}, p99 {ms(found.echo.delays.p99_ns)}")
    if found.bulk is not None:
        parts.append(f"TCP {rate(found.bulk.forward_bps)} a process")
    return [f"  this host alone: {', '.join(parts)}"] if parts else []


def _head(leg: Leg) -> list[str]:
    ends = " to ".join(end for end in leg.addresses if end)
    where = f" ({ends})" if ends else ""
    return [
        f"{leg.flow.name}{where}",
        f"  replayed: {flow_text(leg.flow)} by {leg.flow.protocol}, from {leg.flow.said_by}",
    ]


def _statements(verdict: Verdict, width: int) -> list[str]:
    rows = sorted(verdict.statements, key=lambda one: GRAVITY.index(one.state))
    lines: list[str] = []
    for one in rows:
        lines += _statement(one, width)
    return [*lines, f"  verdict: {VERDICTS[verdict.state]}"]


def _statement(one: Statement, width: int) -> list[str]:
    cause = f" [{one.cause}]" if one.cause and one.state != OK else ""
    head = f"  {MARKS[one.state]:<8} {one.aspect:<8} "
    rows = wrap(one.text + cause, max(40, width - len(head)))
    lines = [head + rows[0], *(" " * len(head) + row for row in rows[1:])]
    if one.mend:
        mends = wrap(one.mend, max(40, width - _INDENT - 6))
        lines += [
            " " * _INDENT + f"mend: {mends[0]}",
            *(" " * (_INDENT + 6) + row for row in mends[1:]),
        ]
    return lines
