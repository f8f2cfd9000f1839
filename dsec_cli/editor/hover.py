"""What the key or value under the cursor means, as Markdown."""

from __future__ import annotations

from dsec import cards
from dsec.record import Record
from dsec_cli.contract import quantities
from dsec_cli.contract.complaints import with_article
from dsec_cli.contract.describe import KeyText, below, descriptions, sections_under
from dsec_cli.contract.forms import FORMS
from dsec_cli.editor import page
from dsec_cli.editor.page import Page, Spot
from dsec_cli.source.text import Span


class Hover(Record):
    """A text, and the place it speaks of."""

    markdown: str
    span: Span


def hover(here: Page, offset: int) -> Hover | None:
    """The key's page or what the value means; None where there is nothing to say."""
    spot = page.spot_at(here, offset)
    if spot is None:
        return None
    said = _of_value(here, spot) if spot.part == "value" else ""
    said = said or _of_path(here, spot, offset)
    return Hover(said, spot.span) if said else None


def _of_path(here: Page, spot: Spot, offset: int) -> str:
    """The page of the key at the end of the path."""
    keys = tuple(None if isinstance(part, int) else part for part in spot.path)
    while keys and keys[-1] is None:
        keys = keys[:-1]
    if not keys:
        return ""
    kind = page.kind_at(here, offset)
    for shape in below(kind, keys[:-1]):
        for section in sections_under(shape):
            text = descriptions()[section].get(str(keys[-1]))
            if text is not None:
                inner = next(iter(below(kind, keys)), ("text",))
                return of_key(text, inner)
    return ""


def of_key(text: KeyText, shape: tuple[object, ...]) -> str:
    """A key's page: meaning, what it takes, default and example."""
    parts = [f"**{text.name}**{' (required)' if text.required else ''}", text.meaning]
    takes = _takes(shape)
    if takes:
        parts.append(f"Takes {takes}.")
    if text.default:
        parts.append(f"Default: {text.default}.")
    if text.example:
        parts.append(f"Example: `{text.name}: {text.example}`")
    return "\n\n".join(part for part in parts if part)


def _takes(shape: tuple[object, ...]) -> str:
    kind = shape[0]
    if kind == "enum" and isinstance(shape[1], tuple):
        return ", ".join(f"`{word}`" for word in shape[1])
    if kind == "quantity":
        return f"{with_article(str(shape[1]))} such as `{quantities.example(str(shape[1]))}`"
    if kind == "form":
        return FORMS[str(shape[1])].says
    if kind in ("whole", "number"):
        return f"a {'whole ' if kind == 'whole' else ''}number from {shape[1]} to {shape[2]}"
    return {"bool": "`true` or `false`", "list": "a list"}.get(str(kind), "")


def _of_value(here: Page, spot: Spot) -> str:
    """What a Step's id or a GPU type stands for."""
    text = getattr(spot.node, "text", "")
    if page.names_a_step(spot.path):
        step = next((one for one in page.steps(here) if one.id == text), None)
        if step is None:
            return ""
        lines = here.text.text[step.whole.start : step.whole.end].rstrip().splitlines()
        more = ["..."] if len(lines) > 12 else []
        return "\n".join([f"Step **{text}**", "", "```yaml", *lines[:12], *more, "```"])
    card = cards.card(text) if spot.path[-1:] == ("type",) else None
    return f"**{text}**: {cards.has(card)}" if card is not None else ""
