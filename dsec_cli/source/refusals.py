"""What is refused of aliases, sizes and depths, in words; imported only where something is."""

from __future__ import annotations

from dsec_cli.source.text import SourceText, Span
from dsec_cli.source.tree import Alias, Document, Problem, Tree
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_SHOWN = 8
_SMALLER = say("split the document, or write fewer aliases")
_BEGINNING = Span(0, 0)
_SPLIT = say("split the file, or allow more with the environment variable {name}", name="DSEC_MAX_NODES")


def unread(source: SourceText, problem: Problem) -> Tree:
    """The tree of a text that is not read: one document, of which nothing is known."""
    whole = Span(0, len(source.text))
    return Tree((Document(0, Alias(_BEGINNING, "", None), whole, (whole,)),), (), (problem,))


def too_many_bytes(count: int, most: int) -> Problem:
    """DS010: a file that is too large."""
    size = say(
        "the file has {count} bytes, more than the {most} that are read", "bytes", count=count, most=most
    )
    return Problem("DS010", _BEGINNING, size, _SPLIT)


def too_many_lines(count: int, most: int) -> Problem:
    """DS010: a file with too many lines."""
    size = say(
        "the file has {count} lines, more than the {most} that are read", "lines", count=count, most=most
    )
    return Problem("DS010", _BEGINNING, size, _SPLIT)


def too_many_nodes(most: int) -> Problem:
    """DS010: a file with more nodes than are built."""
    message = say(
        "the file holds more than {most} values and comments, so nothing of it is read", "nodes", most=most
    )
    return Problem("DS010", _BEGINNING, message, _SPLIT)


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
