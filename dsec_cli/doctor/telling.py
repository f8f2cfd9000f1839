"""What checks found, for people and as JSON."""

from __future__ import annotations

import json

from dsec_cli.cells import cells, plain, wrap
from dsec_cli.doctor.check import ABSENT, NOTE, OK, PROBLEM, UNKNOWN
from dsec_cli.words import english, say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dsec_cli.doctor.examining import Examined
    from dsec_cli.report.format import Tell

FORMAT = "dsec.doctor/2"
_WORDS = {
    OK: say("ok"),
    NOTE: say("note"),
    PROBLEM: say("PROBLEM"),
    UNKNOWN: say("unknown"),
    ABSENT: say("not here"),
}
_ORDER = (PROBLEM, UNKNOWN, NOTE, OK, ABSENT)
_STATE, _NAME = 9, 12


def text(found: Sequence[Examined], required: frozenset[str], *, tell: Tell, width: int) -> str:
    """Every answer, the gravest first, with its evidence and what mends it."""
    lines: list[str] = []
    for one in sorted(found, key=lambda row: _ORDER.index(row.answer.status)):
        lines += _lines(one, one.check.name in required, tell, width=width)
    counts = {state: sum(one.answer.status == state for one in found) for state in _ORDER}
    total = say(
        "problems: {problems}, unknown: {unknown}, notes: {notes}, in order: {fine}, not here: {absent}",
        problems=counts[PROBLEM],
        unknown=counts[UNKNOWN],
        notes=counts[NOTE],
        fine=counts[OK],
        absent=counts[ABSENT],
    )
    return "".join(f"{plain(line)}\n" for line in [*lines, tell(total)])


def _lines(one: Examined, required: bool, tell: Tell, *, width: int) -> Iterator[str]:
    answer = one.answer
    head = _padded(tell(_WORDS[answer.status]), _STATE) + _padded(one.check.name, _NAME)
    first, *evidence = map(tell, answer.lines)
    if required and answer.status in (ABSENT, UNKNOWN):
        first = tell(say("{what} (required)", what=first))
    indent = " " * (_STATE + _NAME)
    room = max(30, width - _STATE - _NAME)
    rows = wrap(first, room) or [""]
    yield head + rows[0]
    yield from (indent + row for row in rows[1:])
    if answer.status == ABSENT:
        return
    for line in evidence:
        yield from (indent + "  " + row for row in wrap(line.strip(), room - 2))
    if answer.mend:
        rows = wrap(tell(say("mend: {what}", what=answer.mend)), room)
        yield from (indent + row for row in rows)


def _padded(word: str, width: int) -> str:
    return word + " " * max(1, width - cells(word))


def document(found: Sequence[Examined], required: frozenset[str]) -> str:
    """The same for programs; what is said is English."""
    checks = [
        {
            "name": one.check.name,
            "status": one.answer.status,
            "severity": one.answer.severity,
            "required": one.check.name in required,
            "lines": [english(line) for line in one.answer.lines],
            "mend": english(one.answer.mend),
            "took_ms": one.took_ms,
        }
        for one in found
    ]
    return json.dumps({"format": FORMAT, "checks": checks}, ensure_ascii=False, indent=2) + "\n"
