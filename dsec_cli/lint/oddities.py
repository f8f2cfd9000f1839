"""What an odd character makes of the words around it is told once: with the character.

A no-break space behind a colon makes a key of the whole, which nobody knows, and the key that was
meant is missing. Imported only where there is such a character.
"""

from __future__ import annotations

from dsec_cli.diagnostics import SEVERITIES
from dsec_cli.lint.suspects import ODD

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.diagnostics import Diagnostic
    from dsec_cli.source.text import Span

_OF_WORDS = frozenset(("DS101", "DS104", "DS105", "DS106", "DS107", "DS108", "DS205", "DS501"))
"""What is found of a key or value that reads otherwise than it looks."""
_SYNTAX = "DS002"
_COLLECTIONS = frozenset("{[\n\r")
_UP_TO_NEXT = ": -\n\r"
_THIS_AND_NEXT = 2
_FURTHEST = 1000
"""Characters that such lines have at most."""


def told_once(found: list[Diagnostic], text: str) -> list[Diagnostic]:
    """The findings without those that an odd character explains; it is as grave as what it hides."""
    odd = [one for one in found if one.code == ODD and one.silenced is None]
    gravest = {one: one.severity for one in odd}
    left: list[Diagnostic] = []
    for one in found:
        cause = next((cause for cause in odd if _explains(cause, one, text)), None)
        if cause is None:
            left.append(one)
        else:
            gravest[cause] = min(gravest[cause], one.severity, key=SEVERITIES.index)
    return [
        one._replace(severity=gravest[one]) if one.code == ODD and one in gravest else one for one in left
    ]


def _explains(cause: Diagnostic, other: Diagnostic, text: str) -> bool:
    if other.silenced is not None:
        return False
    spans = [cause.place.span, *(place.span for place, _ in cause.related)]
    if other.code == _SYNTAX:
        return any(_near(span, other.place.span, text) for span in spans)
    return other.code in _OF_WORDS and any(_is_in(span, other.place.span, text) for span in spans)


def _is_in(odd: Span, span: Span, text: str) -> bool:
    """Whether the character is in the word, or begins the line below the key that is said to be empty."""
    if span.start <= odd.start < span.end:
        return _COLLECTIONS.isdisjoint(text[span.start : span.end])
    empty = span.start == span.end or ":" in text[span.end - 1 : span.end + 1]
    return empty and span.end <= odd.start and not text[span.end : odd.start].strip(_UP_TO_NEXT)


def _near(odd: Span, span: Span, text: str) -> bool:
    """Whether the fault is on the character's line, or the line below is said not to fit to it."""
    if abs(odd.start - span.start) > _FURTHEST:
        return False
    if odd.start > span.start:
        return _lines(text[span.start : odd.start]) == 1
    return _lines(text[odd.start : span.start]) <= _THIS_AND_NEXT


def _lines(text: str) -> int:
    return len(text.replace("\r\n", "\n").replace("\r", "\n").split("\n"))
