"""Findings (a rule's statement, by path) and diagnostics (the same, with its place in a file)."""

from __future__ import annotations

from dsec.choice import Choice
from dsec.record import Record
from dsec_cli.source.locate import Keys, Located, find, spell, step_ids
from dsec_cli.source.text import Position, SourceText, Span
from dsec_cli.source.tree import Document, Path
from dsec_cli.words import Said, rewritten, say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


class Severity(Choice):
    """How much a finding matters; errors and warnings decide the exit code."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


SEVERITIES = (Severity.ERROR, Severity.WARNING, Severity.INFO)
"""All of them, the gravest first."""


SEVERITY_WORDS = {
    Severity.ERROR: say("error"),
    Severity.WARNING: say("warning"),
    Severity.INFO: say("info"),
}
"""As people read them."""


class Edit(Record):
    """Replace the code points of `span` by `text`."""

    span: Span
    text: str


class Fix(Record):
    """A way to mend a finding; an unsafe one may change what the contract means."""

    title: str
    edits: tuple[Edit, ...]
    safe: bool = True


class Related(Record):
    """Another place that belongs to a finding, with what it is; a Place lies in another file."""

    where: Path | Span | Place
    label: str


class Finding(Record):
    """What a rule states: by path (or span, where no tree exists yet), never by line.

    `part` says which half of a mapping entry is meant: `key`, `value` or `entry` (both).
    """

    code: str
    severity: Severity
    where: Path | Span
    message: str
    reason: str = ""
    help: str = ""
    part: str = "value"
    related: tuple[Related, ...] = ()
    fixes: tuple[Fix, ...] = ()
    """The first one is applied by `--fix`."""


class Place(Record):
    """A span of a named file, with both ends as positions."""

    file: str
    span: Span
    start: Position
    end: Position


class Silenced(Record):
    """Why a diagnostic does not count: `by` is `comment`, `baseline` or `config`."""

    by: str
    reason: str


class Diagnostic(Record):
    """A finding that knows its place; what the output formats render."""

    code: str
    name: str
    severity: Severity
    place: Place
    path: str
    """Logical path with Step ids: `steps[S3].timeout`."""
    message: str
    reason: str
    help: str
    related: tuple[tuple[Place, str], ...]
    fixes: tuple[Fix, ...]
    silenced: Silenced | None = None


def concretise(
    finding: Finding,
    name: str,
    *,
    text: SourceText,
    document: Document | None = None,
    ids: Mapping[Path, str] | None = None,
    keys: Keys | None = None,
) -> Diagnostic:
    """Give a finding its place in `text`; `name` is its rule's.

    `ids` are the document's `step_ids`, `keys` what is known of its mappings. A path into no
    document (an empty file) is shown at the start of the text.
    """
    if ids is None:
        ids = step_ids(document) if document is not None else {}
    located = _located(finding.where, finding.part, document, keys)
    related = [(_place(text, span), label) for span, label in located.related]
    for where, label in finding.related:
        if isinstance(where, Place):
            related.append((where, label))
        else:
            related.append((_place(text, _located(where, "entry", document, keys).span), label))
    message, advice = _called_by_id(finding, ids)
    return Diagnostic(
        finding.code,
        name,
        finding.severity,
        _place(text, located.span),
        "" if isinstance(finding.where, Span) else spell(finding.where, ids),
        message,
        finding.reason,
        advice,
        tuple(related),
        finding.fixes,
    )


def _called_by_id(finding: Finding, ids: Mapping[Path, str]) -> tuple[str, str]:
    """Message and help with the Step's id instead of its number: `steps[train].timeout`."""
    where = finding.where
    if isinstance(where, Span) or len(where) < 2 or where[:2] not in ids:
        return finding.message, finding.help
    counted, called = f"{where[0]}[{where[1]}]", f"{where[0]}[{ids[where[:2]]}]"
    if counted not in finding.message and counted not in finding.help:
        return finding.message, finding.help

    def change(text: str) -> str:
        return text.replace(counted, called)

    return rewritten(finding.message, change), rewritten(finding.help, change)


def arrange(diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Sort by file, place, code and words, and join what one anchored value causes at many aliases."""
    places: dict[tuple[object, ...], list[Diagnostic]] = {}
    for one in sorted(diagnostics, key=_order):
        places.setdefault((one.code, one.place), []).append(one)
    arranged: list[Diagnostic] = []
    for found in places.values():
        arranged.extend(found if len(found) == 1 else _joined(found))
    return tuple(arranged)


def _joined(found: list[Diagnostic]) -> Iterable[Diagnostic]:
    """Findings of one code at one place, those that differ only in the way there told once.

    The one that is led by the fewest aliases stands for all: it is where the value is written.
    """
    alike: dict[tuple[object, ...], list[Diagnostic]] = {}
    for one in found:
        alike.setdefault((one.silenced, *_besides_the_way(one)), []).append(one)
    for group in alike.values():
        # By where they stand: ids in the order of their letters would show s1000 before s2.
        first, *others = sorted(group, key=lambda one: (len(one.related), [at.span for at, _ in one.related]))
        related = dict.fromkeys(place for one in (first, *others) for place in one.related)
        yield first._replace(related=tuple(related))


_WAYS = ("at", "heading")
"""What messages call the path that they are about."""


def _besides_the_way(one: Diagnostic) -> tuple[object, ...]:
    """What is said, without the path and the Step that it is said of."""
    steps = {part.partition("]")[0] for part in one.path.split("[")[1:]}
    return _less(one.message, steps)


def _less(text: object, steps: set[str]) -> tuple[object, ...]:
    if not isinstance(text, Said):
        return (text,)
    args = ((name, arg) for name, arg in text.args.items() if name not in _WAYS and arg not in steps)
    return (text.template, *((name, _less(arg, steps)) for name, arg in args))


def _order(one: Diagnostic) -> tuple[object, ...]:
    return (one.place.file, one.place.span, one.code, one.path, one.message)


def _located(where: Path | Span, part: str, document: Document | None, keys: Keys | None) -> Located:
    if isinstance(where, Span):
        return Located(where, exact=True, related=())
    if document is None:
        return Located(Span(0, 0), exact=False, related=())
    located = find(document, where, part, keys=keys)
    if located.span.start == located.span.end and part == "value":
        # An empty value has no width: its key is what one can see.
        return located._replace(span=find(document, where, "entry", keys=keys).span)
    return located


def _place(text: SourceText, span: Span) -> Place:
    return Place(text.name, span, text.position(span.start), text.position(span.end))
