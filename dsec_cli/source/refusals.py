"""What is refused of aliases, sizes and depths, in words; imported only where something is."""

from __future__ import annotations

from dsec_cli.source.text import Span
from dsec_cli.source.tree import Problem
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_SHOWN = 8
_SMALLER = say("split the document, or write fewer aliases")


def too_many_nodes(span: Span, most: int) -> Problem:
    """DS010: a file with more nodes than are built."""
    message = say("the file holds more than {most} nodes; nothing after this is read", "nodes", most=most)
    return Problem("DS010", span, message, _SMALLER)


def too_deep(span: Span, most: int) -> Problem:
    """DS010: collections within collections without end."""
    message = say(
        "the document nests deeper than {most} levels; nothing after this is read", "depth", most=most
    )
    return Problem("DS010", span, message, _SMALLER)


def aliases_spent(span: Span, most: int) -> Problem:
    """DS010: more aliases than are followed."""
    return _spent(span, say("more than {most} aliases when followed", most=most))


def nodes_spent(span: Span, most: int) -> Problem:
    """DS010: more nodes than are built, once aliases are followed."""
    return _spent(span, say("more than {most} nodes when aliases are followed", most=most))


def levels_spent(span: Span, most: int) -> Problem:
    """DS010: more levels than are followed, once aliases are."""
    return _spent(span, say("more than {most} levels when aliases are followed", most=most))


def _spent(span: Span, spent: str) -> Problem:
    return Problem("DS010", span, say("the document holds {spent}", "spent", spent=spent), _SMALLER)


def undefined(name: str, span: Span, anchors: Iterable[str]) -> Problem:
    """DS008: an alias without its anchor; `anchors` are those above it."""
    known = ", ".join(f"&{anchor}" for anchor in list(anchors)[:_SHOWN])
    above = (
        say("anchors defined above: {known}", known=known) if known else say("no anchor is defined above it")
    )
    advice = say("{above}; text that begins with `*` needs quotes: '*{name}'", above=above, name=name)
    return Problem("DS008", span, say("alias *{name} refers to no anchor", "undefined", name=name), advice)


def recursive(name: str, span: Span, anchor: int) -> Problem:
    """DS008: an alias inside the value that it names; the anchor begins at `anchor`."""
    return Problem(
        "DS008",
        span,
        say("alias *{name} stands inside the value that it names", "recursive", name=name),
        say("a contract is finite: write the value out, or anchor a part that does not contain the alias"),
        ((Span(anchor, anchor + 1), say("&{name} begins here", name=name)),),
    )
