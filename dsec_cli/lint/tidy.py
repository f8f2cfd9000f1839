"""Brings a contract into its usual form by edits that change nothing of what it says.

Each kind of edit is made, the text is read again, and what would change a value, a type, an anchor
or a comment is taken back, edit by edit.
"""

from __future__ import annotations

from dsec_cli.contract.build import other_kind
from dsec_cli.lint import tidy_brackets, tidy_indents, tidy_lines
from dsec_cli.lint.fix import accepted
from dsec_cli.lint.proof import flatten
from dsec_cli.lint.splice import in_order, spliced
from dsec_cli.source.yaml import parse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dsec_cli.diagnostics import Edit
    from dsec_cli.lint.proof import Flat
    from dsec_cli.source.text import SourceText
    from dsec_cli.source.tree import Tree

    Unit = tuple[Edit, ...]

UNREADABLE = frozenset(("DS001", "DS002", "DS009", "DS010"))
"""A text with one of these is not known as a whole, so nobody can say that it stays the same."""
MOST_ROUNDS = 8
MOST_TRIES = 200
"""Attempts to find the edits to take back; the rest of a text that needs more is left as it is."""
PASSES = (
    tidy_lines.mark,
    tidy_lines.line_ends,
    tidy_lines.trailing_blanks,
    tidy_brackets.spacing,
    tidy_brackets.quotes,
    tidy_indents.lists,
    tidy_lines.blank_lines,
    tidy_lines.last_line,
)


def tidied(text: SourceText) -> SourceText | None:
    """`text` in its usual form; None for one that cannot be read as a whole, or is no YAML."""
    tree = parse(text)
    if any(problem.code in UNREADABLE for problem in tree.problems):
        return None
    if other_kind(tree, text.text, text.name) is not None:
        return None  # blanks mean something in a program that happens to read as YAML
    now, now_tree = text, tree
    for _ in range(MOST_ROUNDS):
        before = now
        for find in PASSES:
            now, now_tree = _passed(now, now_tree, find(now, now_tree))
        if now is before:
            break
    return now if now is text or says_the_same(tree, now_tree) else text


def _passed(text: SourceText, tree: Tree, units: Sequence[Unit]) -> tuple[SourceText, Tree]:
    """The text after as many of the edits as change nothing of what it says."""
    if not units:
        return text, tree
    tries: list[int] = []
    said = _said(tree)

    def refusal(some: Sequence[Unit]) -> str:
        tries.append(len(some))
        if len(tries) > MOST_TRIES:
            return "too many tries"
        return "" if said == _said(parse(_with(text, some))) else "it says something else"

    good, _ = accepted(units, refusal)
    new = _with(text, good)
    return (text, tree) if new.data == text.data else (new, parse(new))


def _with(text: SourceText, units: Sequence[Unit]) -> SourceText:
    return text.changed(spliced(text, in_order(edit for unit in units for edit in unit)))


def says_the_same(old: Tree, new: Tree) -> bool:
    """Whether two trees have the same values, types, anchors, tags and comments in the same order."""
    return _said(old) == _said(new)


def _said(tree: Tree) -> object:
    """All that must stay the same."""
    flat = flatten(tree)
    leaves = [(_without_quotes(leaf.what), leaf.role, leaf.parent) for leaf in flat.leaves]
    problems = sorted(problem.code for problem in tree.problems)
    return leaves, flat.parents, problems, _comments(tree, flat)


def _without_quotes(what: tuple[object, ...]) -> tuple[object, ...]:
    """What a leaf is, whichever quotes it stands in."""
    if what[1] in ("single", "double"):
        return (what[0], "quoted", *what[2:])
    return what


def _comments(tree: Tree, flat: Flat) -> list[tuple[str, int]]:
    """Each comment with the number of values in front of it."""
    starts = sorted(leaf.span.start for leaf in flat.leaves)
    found = []
    count = 0
    for comment in tree.comments:
        while count < len(starts) and starts[count] < comment.span.start:
            count += 1
        found.append((comment.text.rstrip(), count))
    return found
