"""Quotes of word processors round a value: YAML takes them for letters.

Imported only where a text has such characters.
"""

from __future__ import annotations

import re

from dsec_cli.diagnostics import Edit, Finding, Fix, Related, Severity
from dsec_cli.lint.characters import scalars
from dsec_cli.source.text import Span
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.lint.rule import Facts

_QUOTED = re.compile(
    "(?:^|(?<=[\\s\\[{,]))[\u201c\u201d\u201e\u2018\u2019\u201a\uff02\uff07]([ !#-&(-~]*)"
    "[\u201c\u201d\u2018\u2019\uff02\uff07](?=[ ]*(?:$|[\\r,\\]}]|:(?:\\s|$)|[ ]#))",
    re.MULTILINE,
)
"""In quotes of any kind but ASCII's, all of a value; what holds letters beyond ASCII is prose."""


def odd_quotes(facts: Facts, code: str) -> Iterator[Finding]:
    """Each value or key in such quotes; in a list in brackets they hold no comma together."""
    matches = list(_QUOTED.finditer(facts.text.text))
    if not matches:
        return
    bare = {one.start for one, _ in scalars(facts.tree) if one.style == "plain"}
    for match in matches:
        if match.start() in bare:
            yield _finding(match, code)


def _finding(match: re.Match[str], code: str) -> Finding:
    start, end = match.span()
    first, last, inner = match[0][0], match[0][-1], match[1]
    return Finding(
        code,
        Severity.WARNING,
        Span(start, start + 1),
        say("{first} and {last} look like quotes and are none in YAML", "odd-quotes", first=first, last=last),
        help=say('write "{text}"', text=inner),
        related=(Related(Span(end - 1, end), say("also here")),),
        fixes=(Fix(say('write "{text}"', text=inner), (Edit(Span(start, end), f'"{inner}"'),), safe=False),),
    )
