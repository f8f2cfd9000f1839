"""Proof that an edit changed nothing but its own place: two trees and their comments, compared."""

from __future__ import annotations

from dsec.record import Record
from dsec_cli.source.text import Span
from dsec_cli.source.tree import Alias, Mapping, Scalar
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.lint.splice import Shift
    from dsec_cli.source.tree import Node, Tree

_NOT_SAME = say("the rest of the document would read differently")


class Leaf(Record):
    """A scalar, an alias or an empty collection, and the collection that it is in."""

    span: Span
    what: tuple[object, ...]
    role: str
    parent: int


class Flat(Record):
    """A tree as its leaves in order; collections are numbers."""

    leaves: list[Leaf]
    parents: list[tuple[int, tuple[object, ...]]]
    """Of each collection: its own parent (-1: a document), and what it is."""


def flatten(tree: Tree) -> Flat:
    """Every leaf of every document, in the order of the text."""
    flat = Flat([], [])
    for document in tree.documents:
        flat.parents.append((-1, ("document",)))
        waiting: list[tuple[Node, str, int]] = []
        if document.root is not None:
            waiting.append((document.root, "root", len(flat.parents) - 1))
        while waiting:
            node, role, parent = waiting.pop()
            waiting.extend(reversed(_enter(flat, node, role, parent=parent)))
    return flat


def _enter(flat: Flat, node: Node, role: str, *, parent: int) -> list[tuple[Node, str, int]]:
    """Note a node; its children with their roles."""
    if isinstance(node, Scalar):
        written = (node.text, node.style, node.tag, node.anchor)
        flat.leaves.append(Leaf(node.span, written, role, parent))
        return []
    if isinstance(node, Alias):
        flat.leaves.append(Leaf(node.span, ("*", node.name), role, parent))
        return []
    kind = "{" if isinstance(node, Mapping) else "["
    what = (kind, node.flow, node.tag, node.anchor, role)
    children: list[tuple[Node, str]]
    if isinstance(node, Mapping):
        children = [pair for key, value in node.entries for pair in ((key, "key"), (value, "value"))]
    else:
        children = [(item, "item") for item in node.items]
    if not children:
        flat.leaves.append(Leaf(node.span, what, role, parent))
        return []
    flat.parents.append((parent, what))
    return [(child, name, len(flat.parents) - 1) for child, name in children]


def change_elsewhere(old: Tree, new: Tree, shift: Shift, *, flat: Flat | None = None) -> str:
    """What differs outside the edits, in words; "" when nothing does. `flat` is `old`, flattened before."""
    broken = [problem.code for problem in old.problems]
    for problem in new.problems:
        if problem.code not in broken:
            return say("it would bring {code}: {message}", code=problem.code, message=problem.message)
        broken.remove(problem.code)
    before, after = flat or flatten(old), flatten(new)
    kept = [leaf for leaf in before.leaves if not shift.before.touch(leaf.span)]
    found = [leaf for leaf in after.leaves if not shift.after.touch(leaf.span)]
    if len(kept) != len(found) or not all(
        _moved(left.span, shift) == right.span and left[1:3] == right[1:3]
        for left, right in zip(kept, found, strict=True)
    ):
        return _NOT_SAME
    if not _same_families(before, after, kept, found):
        return _NOT_SAME
    return "" if _same_comments(old, new, shift) else say("a comment would change")


def _moved(span: Span, shift: Shift) -> Span:
    start = shift(span.start)
    return Span(start, max(shift(span.end, end=True), start))


def _same_families(before: Flat, after: Flat, kept: list[Leaf], found: list[Leaf]) -> bool:
    """Whether leaves that were in one collection still are, at every depth, and no others with them."""
    there: dict[int, int] = {}
    back: dict[int, int] = {}
    for left, right in zip(kept, found, strict=True):
        old, new = left.parent, right.parent
        while old >= 0 and new >= 0 and old not in there and new not in back:
            there[old], back[new] = new, old
            (up, what), (new_up, new_what) = before.parents[old], after.parents[new]
            if what != new_what:
                return False
            old, new = up, new_up
        if there.get(old, -1) != new or back.get(new, -1) != old:
            return False
    return True


def _same_comments(old: Tree, new: Tree, shift: Shift) -> bool:
    kept = [
        (shift(comment.span.start), comment.text)
        for comment in old.comments
        if not shift.before.touch(comment.span)
    ]
    return kept == [
        (comment.span.start, comment.text) for comment in new.comments if not shift.after.touch(comment.span)
    ]
