"""The outline of a file: its sections and, below them, its Steps."""

from __future__ import annotations

from dsec.record import Record
from dsec_cli.editor import page
from dsec_cli.editor.page import Page
from dsec_cli.source.resolve import follow
from dsec_cli.source.text import Span
from dsec_cli.source.tree import Mapping, Scalar


class Heading(Record):
    """A section or a Step, with what lies below it."""

    name: str
    whole: Span
    head: Span
    below: tuple[Heading, ...]
    step: bool


def outline(here: Page) -> tuple[Heading, ...]:
    """Root keys of every document in order; Steps stand below the key that lists them."""
    steps = page.steps(here)
    found: list[Heading] = []
    for document in here.tree.documents:
        root = follow(document.root)
        if not isinstance(root, Mapping):
            continue
        for key, value in root.entries:
            if isinstance(key, Scalar):
                whole = Span(key.span.start, max(key.span.end, value.span.end))
                below = tuple(
                    Heading(step.id, step.whole, step.name, (), True)
                    for step in steps
                    if whole.start <= step.whole.start < whole.end
                    and step.whole.start <= step.name.start <= step.name.end <= step.whole.end
                )
                found.append(Heading(key.text, whole, key.span, below, False))
    return tuple(found)
