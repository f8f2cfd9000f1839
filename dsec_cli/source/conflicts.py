"""Merge conflicts: both sides of one stand in the text, so nothing can be said of either."""

from __future__ import annotations

from dsec_cli.source.refusals import unread
from dsec_cli.source.text import Span
from dsec_cli.source.tree import Problem
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.source.text import SourceText
    from dsec_cli.source.tree import Tree

BEGIN = "<<<<<<<"
_MIDDLE, _END = "=======", ">>>>>>>"
_MOST_RELATED = 8


def without_conflicts(source: SourceText, tree: Tree) -> Tree:
    """The tree; where what could not be read are the markers of a conflict, one problem instead."""
    if not any(problem.code == "DS002" for problem in tree.problems):
        return tree
    marks = _marks(source)
    if not marks:
        return tree
    count = sum(source.text.startswith(BEGIN, mark.start) for mark in marks)
    problem = Problem(
        "DS002",
        marks[0],
        say("merge conflict markers: both sides of a conflict stand here", "conflict")
        if count == 1
        else say(
            "merge conflict markers: both sides of {count} conflicts stand here", "conflicts", count=count
        ),
        say("keep one side of each, or join them, and remove the lines with the markers"),
        tuple((mark, say("also here")) for mark in marks[1 : 1 + _MOST_RELATED]),
    )
    return unread(source, problem)


def _marks(source: SourceText) -> list[Span]:
    """The markers, if there is a whole conflict: one that begins, its middle, and one that ends."""
    found: list[Span] = []
    kinds: set[str] = set()
    at = 0
    for line in source.text.split("\n"):
        kind = line[:7]
        if (kind in (BEGIN, _END) and line[7:8] in ("", " ", "\r")) or line.rstrip("\r") == _MIDDLE:
            kinds.add(kind)
            found.append(Span(at, at + 7))
        at += len(line) + 1
    return found if len(kinds) == 3 else []
