"""GPU types as importers meet them, in the spelling of the card table."""

from __future__ import annotations

from dsec import cards
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.importing.notes import Notes
    from dsec_cli.source.text import SourceText, Span


def gpu_type(text: str, source: SourceText, span: Span, notes: Notes) -> str:
    """The type that a contract names; one that the table does not know is kept, and told."""
    found = cards.resolve(text)
    if found and text.startswith(">="):
        return text.lower()
    if len(found) == 1:
        return found[0]
    if not found:
        near = cards.nearest(text)
        hint = say("; did you mean {near}?", near=near) if near else ""
        notes.left(
            source,
            span,
            say("GPU type {text}", text=text),
            say("not in the table of GPU types, kept as it is{hint}", hint=hint),
        )
        return text
    return text.lower()
