"""A measurement as it is stored and printed: JSON with every reading, and what the readings mean."""

from __future__ import annotations

import json
from typing import Any

from dsec.codec import decode, encode
from dsec.errors import StoredFormError
from dsec.record import Record
from dsec_cli.netcheck.flows import Wants, flow_text
from dsec_cli.netcheck.judge import Verdict, judge
from dsec_cli.netcheck.replay import Floor, Leg
from dsec_cli.netcheck.statement import NOTE, OK, PROBLEM, UNKNOWN, Statement
from dsec_cli.words import say

FORMAT = "dsec.netcheck/1"
_FAMILY = "dsec.netcheck/"
_ORDER = (PROBLEM, UNKNOWN, NOTE, OK)


class Report(Record):
    """One measurement of several flows."""

    format: str
    tool: str
    at_s: int
    """When it began, in seconds since 1970."""
    host: str
    wants: Wants
    floor: Floor
    legs: tuple[Leg, ...]


def verdicts(report: Report) -> tuple[Verdict, ...]:
    """What is said of each flow, in their order."""
    return tuple(judge(leg, report.floor, report.wants) for leg in report.legs)


def state_of(report: Report) -> str:
    """The gravest state of all flows."""
    states = {verdict.state for verdict in verdicts(report)}
    return next((state for state in _ORDER if state in states), OK)


def to_json(report: Report) -> str:
    """The stored form; `verdicts` follow from the rest and are not read back."""
    document = encode(report)
    assert isinstance(document, dict)
    document["state"] = state_of(report)
    document["verdicts"] = [
        _told(leg, verdict) for leg, verdict in zip(report.legs, verdicts(report), strict=True)
    ]
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _told(leg: Leg, verdict: Verdict) -> dict[str, Any]:
    return {
        "flow": leg.flow.name,
        "simulated": flow_text(leg.flow),
        "state": verdict.state,
        "statements": [_statement(one) for one in verdict.statements],
    }


def _statement(one: Statement) -> dict[str, str]:
    return {name: str(value) for name, value in one._asdict().items()}


def from_json(text: str, *, where: str) -> Report:
    """A stored report; raises StoredFormError with what does not fit."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as problem:
        raise StoredFormError(
            say("{where} is no JSON document: {problem}", where=where, problem=str(problem))
        ) from None
    found = document.get("format") if isinstance(document, dict) else None
    if not isinstance(found, str) or not found.startswith(_FAMILY):
        raise StoredFormError(
            say("{where} is no report of netcheck", where=where),
            hint="write one with: ds-netcheck run --format json -o FILE",
        )
    if found != FORMAT:
        raise StoredFormError(
            say(
                "{where} is in format {format!r}, this DSec reads {format_2!r}",
                where=where,
                format=found,
                format_2=FORMAT,
            )
        )
    plain = {key: value for key, value in document.items() if key not in ("state", "verdicts")}
    return decode(Report, plain, where=where)
