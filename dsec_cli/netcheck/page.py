"""A report as one HTML page that loads nothing."""

from __future__ import annotations

import time

from dsec.markup import html_text
from dsec_cli.netcheck.document import state_of, verdicts
from dsec_cli.netcheck.statement import OK
from dsec_cli.netcheck.text import GRAVITY, MARKS, VERDICTS, floor_lines, replayed
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.netcheck.document import Report
    from dsec_cli.netcheck.judge import Verdict
    from dsec_cli.netcheck.replay import Leg
    from dsec_cli.netcheck.statement import Statement
    from dsec_cli.netcheck.text import Tell

_STYLE = """
:root{color-scheme:light dark;--line:#8884;--ok:#1a7f37;--note:#9a6700;--problem:#cf222e;--unknown:#8250df}
@media(prefers-color-scheme:dark){:root{--ok:#4ac26b;--note:#d4a72c;--problem:#ff8182;--unknown:#c297ff}}
body{font:15px/1.5 system-ui,sans-serif;max-width:68rem;margin:2rem auto;padding:0 1rem}
h1{font-size:1.4rem}h2{font-size:1.1rem;margin:2rem 0 .2rem}p{margin:.2rem 0;opacity:.8}
table{border-collapse:collapse;width:100%;margin-top:.6rem}
td{border-top:1px solid var(--line);padding:.4rem .6rem;vertical-align:top}
td.s{width:5.5rem;font-weight:600}td.a{width:5.5rem}code{font-size:.9em}
.ok{color:var(--ok)}.note{color:var(--note)}.problem{color:var(--problem)}.unknown{color:var(--unknown)}.absent{opacity:.6}
i{font-style:normal;opacity:.65}
"""


def render(report: Report, *, tell: Tell = str, lang: str = "en") -> str:
    """The page; everything that was measured elsewhere is escaped."""
    parts = [
        f'<!doctype html><html lang="{lang}"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width,initial-scale=1">',
        f"<title>netcheck: {html_text(report.host)}</title><style>{_STYLE}</style></head><body>",
        f"<h1>{html_text(tell(say('netcheck on {host}', host=report.host)))}: "
        f'<span class="{state_of(report)}">'
        f"{html_text(tell(MARKS[state_of(report)]).lower())}</span></h1>",
        *(f"<p>{html_text(tell(line))}</p>" for line in (_made(report), *floor_lines(report))),
    ]
    for leg, verdict in zip(report.legs, verdicts(report), strict=True):
        parts.append(_flow(leg, verdict, tell))
    return "\n".join([*parts, "</body></html>"]) + "\n"


def _made(report: Report) -> str:
    return f"{time.strftime('%Y-%m-%d %H:%M UTC', time.gmtime(report.at_s))}, {report.tool}"


def _flow(leg: Leg, verdict: Verdict, tell: Tell) -> str:
    ends = " to ".join(end for end in leg.addresses if end)
    state = html_text(tell(VERDICTS[verdict.state]))
    parts = [f'<span class="{verdict.state}">{state}</span>', html_text(tell(replayed(leg)))]
    parts += [html_text(ends)] if ends else []
    head = f"<h2>{html_text(leg.flow.name)}</h2><p>{'; '.join(parts)}</p>"
    gravest = sorted(verdict.statements, key=lambda one: GRAVITY.index(one.state))
    rows = "".join(_row(one, tell) for one in gravest)
    return f"<section>{head}<table>{rows}</table></section>"


def _row(one: Statement, tell: Tell) -> str:
    mend = f"<br>{_marked(tell(say('mend: {what}', what=one.mend)))}" if one.mend else ""
    cause = f" <i>[{html_text(one.cause)}]</i>" if one.cause and one.state != OK else ""
    return (
        f'<tr><td class="s {one.state}">{html_text(tell(MARKS[one.state]).lower())}</td>'
        f'<td class="a">{html_text(one.aspect)}</td><td>{html_text(tell(one.text))}{cause}{mend}</td></tr>'
    )


def _marked(text: str) -> str:
    """Commands, which stand between backquotes, as code."""
    parts = html_text(text).split("`")
    return "".join(f"<code>{part}</code>" if at % 2 else part for at, part in enumerate(parts))
