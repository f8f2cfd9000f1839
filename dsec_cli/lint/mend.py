"""What a rule says when it knows how to mend its finding; imported only when there is one."""

from __future__ import annotations

from bisect import bisect_left
from itertools import islice, takewhile

from dsec_cli.diagnostics import Edit, Fix
from dsec_cli.lint.edits import inserted, replaced, spot
from dsec_cli.lint.removal import comment_removed, removed
from dsec_cli.source.text import Span
from dsec_cli.source.tree import Scalar
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.diagnostics import Finding
    from dsec_cli.lint.rule import Facts
    from dsec_cli.lint.suppress import Suppression
    from dsec_cli.source.tree import Comment, Path


def with_fix(finding: Finding, title: str, edits: tuple[Edit, ...], *, safe: bool) -> Finding:
    """The finding with a fix, where edits could be made of it."""
    return finding._replace(fixes=(*finding.fixes, Fix(title, edits, safe))) if edits else finding


def with_value(
    facts: Facts, finding: Finding, path: Path, value: str | int | bool, *, safe: bool = False
) -> Finding:
    """The finding with the fix that writes `value` at `path`."""
    title = say("write {key}: {value}", key=path[-1], value=_shown(value))
    if isinstance(path[-1], int):
        title = say("write {value}", value=_shown(value))
    return with_fix(finding, title, replaced(facts, path, value), safe=safe)


def with_entry(
    facts: Facts, finding: Finding, path: Path, key: str, value: str | int | bool, *, safe: bool = False
) -> Finding:
    """The finding with the fix that adds `key: value` to the mapping at `path`."""
    title = say("add {key}: {value}", key=key, value=_shown(value))
    return with_fix(finding, title, inserted(facts, path, key, value), safe=safe)


def without(facts: Facts, finding: Finding, path: Path, *, safe: bool) -> Finding:
    """The finding with the fix that takes out what stands at `path`."""
    what = facts.node(path) if isinstance(path[-1], int) else None
    title = say("remove {what}", what=what.text if isinstance(what, Scalar) else path[-1])
    return with_fix(finding, title, removed(facts, path), safe=safe)


def without_code(facts: Facts, finding: Finding, suppression: Suppression, *, safe: bool) -> Finding:
    """The finding with the fix that takes a code out of its comment, or the comment when it is the last."""
    comment = _comment(facts, suppression)
    codes = _codes(facts.suppressions, comment)
    idle = set(_codes(facts.unused, comment) or codes)
    left = [code for code in codes if code not in idle]
    if not left:
        return with_fix(
            finding, say("remove this comment"), comment_removed(facts.text.text, comment), safe=safe
        )
    title = say("remove {what}", what=", ".join(sorted(idle)))
    return with_fix(finding, title, _listing(comment, left), safe=safe)


def with_code(facts: Facts, finding: Finding, suppression: Suppression, code: str) -> Finding:
    """The finding with the unsafe fix that writes `code` for the one that no rule has."""
    comment = _comment(facts, suppression)
    codes = _codes(facts.suppressions, comment)
    if not code or len(codes) > MOST_CODES:
        return finding
    edits = _listing(comment, [code if one == suppression.code else one for one in codes])
    return with_fix(finding, say("write {value}", value=code), edits, safe=False)


MOST_CODES = 100
"""Of one comment: each unknown one of more would come with a new list of them all."""


def _comment(facts: Facts, suppression: Suppression) -> Comment:
    """The comment of a suppression; both stand in the order of the text."""
    comments = facts.tree.comments
    return comments[bisect_left(comments, suppression.comment, key=lambda one: one.span)]


def _codes(suppressions: tuple[Suppression, ...], comment: Comment) -> list[str]:
    at = bisect_left(suppressions, comment.span, key=lambda one: one.comment)
    return [
        one.code for one in takewhile(lambda one: one.comment == comment.span, islice(suppressions, at, None))
    ]


def _listing(comment: Comment, codes: list[str]) -> tuple[Edit, ...]:
    """The codes in the brackets of a comment."""
    start, stop = comment.text.find("[") + 1, comment.text.find("]")
    if not 0 < start <= stop:
        return ()
    at = comment.span.start
    return (Edit(Span(at + start, at + stop), ", ".join(codes)),)


def _shown(value: str | int | bool) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def restrained(facts: Facts, finding: Finding) -> Finding:
    """The finding with its fixes unsafe where other places read what they change."""
    where = finding.where
    if not finding.fixes or isinstance(where, Span) or not where:
        return finding
    at = where[:-1] if finding.part == "key" else where
    if spot(facts.document, at) is not None:
        return finding
    return finding._replace(fixes=tuple(fix._replace(safe=False) for fix in finding.fixes))
