"""A report for people."""

from __future__ import annotations

from dsec_cli.cells import cells, padded, plain, wrap
from dsec_cli.netcheck.document import verdicts
from dsec_cli.netcheck.flows import flow_text
from dsec_cli.netcheck.statement import ABSENT, NOTE, OK, PROBLEM, UNKNOWN
from dsec_cli.netcheck.wording import ms, rate
from dsec_cli.words import Said, joined, said, say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from dsec_cli.netcheck.document import Report
    from dsec_cli.netcheck.judge import Verdict
    from dsec_cli.netcheck.replay import Leg
    from dsec_cli.netcheck.statement import Statement

    Tell = Callable[[str], str]

MARKS = {OK: say("ok"), NOTE: say("note"), PROBLEM: say("PROBLEM"), UNKNOWN: say("UNKNOWN"), ABSENT: say("-")}
GRAVITY = (PROBLEM, UNKNOWN, NOTE, OK, ABSENT)
"""States, the gravest first."""
_INDENT = 20
_WIDTH = 100
VERDICTS = {
    OK: say("fit for what was asked"),
    NOTE: say("fit for what was asked, with notes"),
    PROBLEM: say("not fit for what was asked"),
    UNKNOWN: say("could not be found out"),
}


def render(report: Report, *, width: int = _WIDTH, tell: Tell = str) -> str:
    """Every flow with what is said of it; the gravest statements stand first."""
    lines = [tell(say("netcheck on {host}", host=report.host)), *_indented(report, tell), ""]
    for leg, verdict in zip(report.legs, verdicts(report), strict=True):
        lines += [*_head(leg, tell), *_statements(verdict, width, tell), ""]
    return "\n".join(map(plain, lines))  # names come from other hosts


def _indented(report: Report, tell: Tell) -> list[str]:
    return [f"  {tell(line)}" for line in floor_lines(report)]


def floor_lines(report: Report) -> list[Said]:
    """What this host does alone; nothing where it was not measured."""
    found = report.floor.found
    parts: list[str] = []
    if found.echo is not None and found.echo.delays is not None:
        median, p99 = ms(found.echo.delays.median_ns), ms(found.echo.delays.p99_ns)
        parts.append(say("round trip {median}, p99 {p99}", median=median, p99=p99))
    if found.bulk is not None and found.bulk.forward_bps is not None:
        parts.append(say("TCP {rate} a process", rate=rate(found.bulk.forward_bps)))
    return [say("this host alone: {what}", what=joined(", ", parts))] if parts else []


def _head(leg: Leg, tell: Tell) -> list[str]:
    ends = " to ".join(end for end in leg.addresses if end)
    where = f" ({ends})" if ends else ""
    return [
        f"{leg.flow.name}{where}",
        "  " + tell(say("replayed: {flow}", flow=replayed(leg))),
    ]


def replayed(leg: Leg) -> Said:
    """What was sent, and where that was said."""
    flow = leg.flow
    return say(
        "{what} by {how}, from {where}", what=flow_text(flow), how=flow.protocol, where=said(flow.said_by)
    )


def _statements(verdict: Verdict, width: int, tell: Tell) -> list[str]:
    rows = sorted(verdict.statements, key=lambda one: GRAVITY.index(one.state))
    lines: list[str] = []
    for one in rows:
        lines += _statement(one, width, tell)
    return [*lines, "  " + tell(say("verdict: {what}", what=VERDICTS[verdict.state]))]


def _statement(one: Statement, width: int, tell: Tell) -> list[str]:
    cause = f" [{one.cause}]" if one.cause and one.state != OK else ""
    head = f"  {padded(tell(MARKS[one.state]), 8)} {one.aspect:<8} "
    rows = wrap(tell(one.text) + cause, max(40, width - cells(head)))
    lines = [head + rows[0], *(" " * cells(head) + row for row in rows[1:])]
    if one.mend:
        label = tell(say("mend: {what}", what=""))
        mends = wrap(tell(one.mend), max(40, width - _INDENT - cells(label)))
        lines += [
            " " * _INDENT + label + mends[0],
            *(" " * (_INDENT + cells(label)) + row for row in mends[1:]),
        ]
    return lines
