"""What an editor may offer for a finding: its fixes, and a comment that excuses the line."""

from __future__ import annotations

from dsec.record import Record
from dsec_cli.diagnostics import Diagnostic, Edit
from dsec_cli.source.text import SourceText, Span
from dsec_cli.words import say


class Offered(Record):
    """One change that a reader may choose."""

    title: str
    edits: tuple[Edit, ...]
    preferred: bool
    """Safe, so that an editor may apply it without asking."""


def offers(one: Diagnostic, text: SourceText) -> tuple[Offered, ...]:
    """Fixes first, then the suppression."""
    fixes = tuple(Offered(fix.title, edits, fix.safe) for fix in one.fixes if (edits := _in_text(fix.edits)))
    excuse = _excuse(one, text)
    return fixes if excuse is None else (*fixes, excuse)


def _in_text(edits: tuple[Edit, ...]) -> tuple[Edit, ...]:
    """Without the byte order mark, which no editor shows as text."""
    return tuple(edit for edit in edits if edit.span.start >= 0)


def _excuse(one: Diagnostic, text: SourceText) -> Offered | None:
    """A comment at the end of the line, or above it where something stands there already."""
    if one.code.startswith(("DS0", "DS9")):
        return None  # what could not be read has no line, and comments about comments help nobody
    line = one.place.start.line
    start, content = text.line_start(line), text.line_text(line)
    comment = f"# dsec: ignore[{one.code}] "
    title = say("excuse it here (say why)")
    if "#" in content or content.rstrip().endswith(("|", ">", "|-", ">-", "|+", ">+")):
        indent = content[: len(content) - len(content.lstrip())]
        return Offered(title, (Edit(Span(start, start), f"{indent}{comment}\n"),), False)
    end = start + len(content.rstrip())
    return Offered(title, (Edit(Span(end, end), f"  {comment}"),), False)
