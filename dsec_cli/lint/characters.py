"""How characters that look like others are replaced: in comments and between words, in keys, in values."""

from __future__ import annotations

from dsec_cli.diagnostics import Edit, Fix
from dsec_cli.lint.edits import line_end, line_start
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
    text = facts.text.text
    char = text[places[0].start : places[0].end]
    new = "" if char in INVISIBLE else " "
    words = sorted(scalars(facts.tree), key=lambda one: one[0].start)
    together: dict[Span, list[Span]] = {}
    safe = True
    for at in places:
        holder, key = _holder(words, at)
        together.setdefault(_extent(facts, at, holder, key=key), []).append(at)
        safe = safe and (holder is None or (not holder.anchor and (key or char in SPACES)))
    edits = [Edit(span, _rewritten(text, span, mine, new=new)) for span, mine in sorted(together.items())]
    title = say("delete it") if not new else say("write a space")
    return finding._replace(fixes=(Fix(title, tuple(edits), safe),))


def _holder(words: list[tuple[Scalar, bool]], at: Span) -> tuple[Scalar | None, bool]:
    """The key or value that a place is in, and whether it is a key."""
    return next((one for one in words if one[0].start <= at.start < one[0].end), (None, False))


def _extent(facts: Facts, at: Span, holder: Scalar | None, *, key: bool) -> Span:
    """What is read anew: the whole word, and the whole line where its indentation or its colon was hidden."""
    text = facts.text.text
    space = text[at.start] in SPACES
    if holder is not None and not (space and key and text[holder.start] in SPACES):
        return holder.span
    if not space or any(one.span.start <= at.start < one.span.end for one in facts.tree.comments):
        return at
    start = line_start(text, at.start)
    margin = len(text[start : line_end(text, start)]) - len(text[start : line_end(text, start)].lstrip(" "))
    return Span(start + margin, line_end(text, at.start))


def _rewritten(text: str, span: Span, places: list[Span], *, new: str) -> str:
    """The whole range: where a space divides a word, it is read as two."""
    pieces: list[str] = []
    at = span.start
    for place in places:
        pieces += [text[at : place.start], new]
        at = place.end
    written = "".join((*pieces, text[at : span.end]))
    # Spaces of another kind before the word are in the way as well.
    bare = written.lstrip(f" {SPACES}") if new else written
    return " " * (len(written) - len(bare)) + bare


def scalars(tree: Tree) -> Iterator[tuple[Scalar, bool]]:
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
