"""How characters that look like others are replaced: in comments and between words, in keys, in values."""

from __future__ import annotations

from dsec_cli.diagnostics import Edit, Fix
from dsec_cli.source.text import Span
from dsec_cli.source.tree import Mapping, Scalar, Sequence
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.diagnostics import Finding
    from dsec_cli.lint.rule import Facts
    from dsec_cli.source.tree import Node, Tree

INVISIBLE = "\u200b\ufeff"
"""These are deleted; the others become a space."""
SPACES = "\xa0\u3000"
"""These are told of only where YAML needs a space, so that what they seem to be is what is meant."""


def without_odd_characters(facts: Facts, finding: Finding) -> Finding:
    """The finding with the fix of all its places; unsafe where a value would be another one."""
    told = (finding.where, *(one.where for one in finding.related))
    places = sorted(where for where in told if isinstance(where, Span))
    char = facts.text.text[places[0].start : places[0].end]
    new = "" if char in INVISIBLE else " "
    scalars = sorted(_scalars(facts.tree), key=lambda one: one[0].start)
    inside = [(at, _holder(scalars, at)) for at in places]
    edits = [Edit(at, new) for at, holder in inside if holder is None]
    safe = True
    for holder, key in dict.fromkeys(holder for _, holder in inside if holder is not None):
        mine = [at for at, one in inside if one is not None and one[0] is holder]
        edits.append(Edit(holder.span, _rewritten(facts.text.text, holder.span, mine, new=new)))
        safe = safe and not holder.anchor and (key or char in SPACES)
    title = say("delete it") if not new else say("write a space")
    return finding._replace(fixes=(Fix(title, tuple(sorted(edits)), safe),))


def _holder(scalars: list[tuple[Scalar, bool]], at: Span) -> tuple[Scalar, bool] | None:
    """The key or value that a place is in."""
    return next((one for one in scalars if one[0].start <= at.start < one[0].end), None)


def _rewritten(text: str, span: Span, places: list[Span], *, new: str) -> str:
    """The whole key or value: where a space divides it, it is read as two."""
    pieces: list[str] = []
    at = span.start
    for place in places:
        pieces += [text[at : place.start], new]
        at = place.end
    return "".join((*pieces, text[at : span.end]))


def _scalars(tree: Tree) -> Iterator[tuple[Scalar, bool]]:
    """Every scalar, and whether it is a key."""
    waiting: list[tuple[Node, bool]] = [
        (document.root, False) for document in tree.documents if document.root is not None
    ]
    while waiting:
        node, key = waiting.pop()
        if isinstance(node, Scalar):
            yield node, key
        elif isinstance(node, Sequence):
            waiting += [(item, key) for item in node.items]
        elif isinstance(node, Mapping):
            for entry in node.entries:
                waiting += [(entry.key, True), (entry.value, key)]
