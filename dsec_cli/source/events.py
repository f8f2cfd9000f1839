"""Reads any text by the C parser's events, and on after what is damaged.

They are the one interface that tells where an alias was used, and many times quicker than every
loader of the same package.
"""

from __future__ import annotations

from dsec_cli.source import comments, extension
from dsec_cli.source.builder import BudgetSpent, Builder
from dsec_cli.source.characters import Prepared
from dsec_cli.source.text import SourceText, Span
from dsec_cli.source.tree import Problem, Tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.source.syntax import Damage

MAX_FAULTS = 20
"""After so many errors the rest of a text is left unread: it is probably no YAML at all."""
MAX_SCALARS = 100_000
"""After having read so many in all attempts, too: each begins at the text's first character again."""
MAX_CHARACTERS = 16_000_000
"""The same of characters."""

_REFUSED_COLON = "found unexpected ':'"


def read(source: SourceText, prepared: Prepared) -> Tree:
    """The tree of a text; what cannot be read becomes problems and unknown values."""
    problems = list(prepared.problems)
    builder, failure = _attempt(prepared, (), source.most_nodes)
    if failure is None and not builder.templates:
        return _tree(source, builder, problems)
    return _recover(source, prepared, problems)


def _recover(source: SourceText, prepared: Prepared, problems: list[Problem]) -> Tree:
    """Leave out one damaged part after the other until the rest can be read."""
    from dsec_cli.source.syntax import follows  # see `_damage`

    gaps: list[Span] = []
    faults = scalars = characters = 0
    while True:
        builder, failure = _attempt(prepared, tuple(gaps), source.most_nodes)
        scalars += len(builder.scalars)
        characters += builder.end
        if getattr(failure, "problem", None) == _REFUSED_COLON:
            hidden = prepared.without_inner_colons()
            if hidden.text != prepared.text:
                prepared = hidden
                continue
        if isinstance(failure, Problem):
            return _tree(source, builder, [*problems, failure])
        damage = _damage(builder, failure, prepared.text)
        if damage is None:
            return _tree(source, builder, problems)
        text = _blank(prepared, damage)
        faults += 1
        if not follows(source.text, gaps, damage):
            problems.append(damage.problem)
        enough = faults > MAX_FAULTS or scalars > MAX_SCALARS or characters > MAX_CHARACTERS
        if enough or text == prepared.text:
            builder.abandon(len(text))
            return _tree(source, builder, problems)
        prepared = prepared.with_text(text)
        if damage.lost:
            gaps.extend(part.span for part in damage.parts)
            gaps.sort()


def _attempt(
    prepared: Prepared, gaps: tuple[Span, ...], most: int
) -> tuple[Builder, Exception | Problem | None]:
    """One pass over the events, and why it ended early."""
    parts = extension.load()
    builder = Builder(prepared, parts.events, gaps, most=most)
    try:
        builder.read(parts.parser(prepared.text).get_event)
    except BudgetSpent as spent:
        builder.abandon(len(prepared.text))
        return builder, spent.problem
    except parts.errors as error:
        # Whoever keeps the error would keep all that its frames hold, and be kept by them.
        return builder, error.with_traceback(None)
    return builder, None


def _damage(builder: Builder, failure: Exception | None, text: str) -> Damage | None:
    from dsec_cli.source import causes, syntax  # cost start-up, and most texts have no error

    if builder.templates:
        return syntax.templates(text, builder.templates[0], builder.covered)
    if failure is None:
        return None
    mark, context_mark = getattr(failure, "problem_mark", None), getattr(failure, "context_mark", None)
    fault = causes.Fault(
        getattr(failure, "context", None) or "",
        None if context_mark is None else min(context_mark.index, len(text)),
        getattr(failure, "problem", None) or str(failure),
        min(builder.end if mark is None else mark.index, len(text)),
        builder.last,
    )
    return syntax.explain(fault, text, builder.covered)


def _blank(prepared: Prepared, damage: Damage) -> str:
    pieces: list[str] = []
    at = 0
    for (start, end), value, text in sorted(damage.parts):
        width = end - max(start, at)
        if width <= 0:
            continue
        pieces.append(prepared.text[at : end - width])
        beside = " " if value and prepared.text[end - width - 1 : end - width] == ":" else ""
        pieces.append((beside + prepared.unknown if value else text).ljust(width))
        at = end
    pieces.append(prepared.text[at:])
    return "".join(pieces)


def _tree(source: SourceText, builder: Builder, problems: list[Problem]) -> Tree:
    most = source.most_nodes - len(builder.scalars)
    remarks = comments.scan(source.text, builder.scalars, builder.end_of_reading, most=most)
    ordered = sorted([*problems, *builder.problems], key=lambda one: (one.span, one.code, one.message))
    return Tree(tuple(builder.documents), remarks, tuple(ordered))
