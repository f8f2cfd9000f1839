"""One diagnostic for people: headline, marked source lines, why, and what to write instead."""

from __future__ import annotations

from functools import lru_cache

from dsec_cli.cells import cells, shown, wrap
from dsec_cli.diagnostics import SEVERITY_WORDS, Severity
from dsec_cli.report.excerpt import Mark, excerpt
from dsec_cli.report.format import SECRETS
from dsec_cli.report.terminal import paint
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.diagnostics import Diagnostic
    from dsec_cli.report.format import Report
    from dsec_cli.source.text import Span

BOLD, DIM, NOTE, HELP = "1", "2", "36", "1;36"
_ANSI = {Severity.ERROR: "1;31", Severity.WARNING: "1;33", Severity.INFO: "1;34"}


def headline(one: Diagnostic, report: Report) -> str:
    """`file:line:column: severity[code] message`."""
    ink = paint(wanted=report.color)
    start = one.place.start
    where = f"{shown(one.place.file)}:{start.line}:{start.column}:"
    kind = f"{report.tell(SEVERITY_WORDS[one.severity])}[{one.code}]"
    head = f"{ink(where, BOLD)} {ink(kind, _ANSI[one.severity])} "
    message = shown(one.message)
    if not report.fold:
        return head + ink(message, BOLD)
    taken = "." * cells(f"{where} {kind}")
    rows = wrap(f"{taken} {message}", report.width - 2)
    rows[0] = rows[0][len(taken) + 1 :]
    return head + "\n  ".join(ink(row, BOLD) for row in rows)


def block(one: Diagnostic, report: Report, *, hidden: dict[str, list[Span]]) -> str:
    """Everything there is to say about one diagnostic."""
    ink = paint(wanted=report.color)
    lines = [headline(one, report)]
    lines += excerpt(
        _marks(one), report.texts, hidden=hidden, width=report.width, paint=ink, tell=report.tell
    )
    if one.reason:
        lines += _labelled(report.tell(say("why:")), one.reason, report, ansi=DIM)
    if one.help:
        lines += _labelled(report.tell(say("help:")), one.help, report, ansi=HELP)
    lines += _labelled(report.tell(say("rule:")), f"{one.name} (dsec explain {one.code})", report, ansi=DIM)
    return "\n".join(lines) + "\n"


def _marks(one: Diagnostic) -> list[Mark]:
    """The place itself, then what belongs to it; a related place that is the same lends its label."""
    own = next((label for place, label in one.related if place == one.place), "")
    others = [Mark(place, label, NOTE, "-") for place, label in one.related if place != one.place]
    return [Mark(one.place, own, _ANSI[one.severity], "^"), *others]


def secrets(report: Report) -> dict[str, list[Span]]:
    """Places that no excerpt may show, sorted and apart: more people read logs of CI than the file."""
    hidden: dict[str, list[Span]] = {}
    places = (one.place for one in report.diagnostics if one.code in SECRETS)
    for file, span, _, _ in sorted(places):
        spans = hidden.setdefault(file, [])
        if spans and span.start <= spans[-1].end:
            spans[-1] = spans[-1]._replace(end=max(spans[-1].end, span.end))
        else:
            spans.append(span)
    return hidden


def _labelled(label: str, text: str, report: Report, *, ansi: str) -> list[str]:
    """`  help: text`, folded at the width and hanging below its first word."""
    ink = paint(wanted=report.color)
    gap = "" if label.endswith("：") else " "  # a full-width colon brings its own
    indent = cells(label + gap) + 2
    rows = _folded(text, report.width - indent)
    head = f"  {ink(label, ansi)}{gap}{rows[0]}"
    return [head, *(" " * indent + row for row in rows[1:])]


@lru_cache(maxsize=64)
def _folded(text: str, width: int) -> tuple[str, ...]:
    """The rows of a text; thousands of findings give the same reason and advice."""
    return tuple(row for line in text.split("\n") for row in wrap(shown(line), width))
