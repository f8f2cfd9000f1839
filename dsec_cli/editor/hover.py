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
from dsec_cli.words import joined, say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    Tell = Callable[[str], str]


class Hover(Record):
    """A text, and the place it speaks of."""

    markdown: str
    span: Span


def hover(here: Page, offset: int, *, tell: Tell = str) -> Hover | None:
    """The key's page or what the value means; None where there is nothing to say."""
    spot = page.spot_at(here, offset)
    if spot is None:
        return None
    said = _of_value(here, spot) if spot.part == "value" else ""
    said = said or _of_path(here, spot, offset, tell=tell)
    return Hover(said, spot.span) if said else None


def _of_path(here: Page, spot: Spot, offset: int, *, tell: Tell) -> str:
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
                return of_key(text, inner, tell=tell)
    return ""


def of_key(text: KeyText, shape: tuple[object, ...], *, tell: Tell = str) -> str:
    """A key's page: meaning, what it takes, default and example."""
    head = say("**{name}** (required)", name=text.name) if text.required else f"**{text.name}**"
    parts = [tell(head), tell(text.meaning)]
    takes = _takes(shape)
    if takes:
        parts.append(tell(say("Takes {takes}.", takes=takes)))
    if text.default:
        parts.append(tell(say("Default: {default}.", default=tell(text.default))))
    if text.example:
        parts.append(tell(say("Example: `{name}: {example}`", name=text.name, example=text.example)))
    return "\n\n".join(part for part in parts if part)


def _takes(shape: tuple[object, ...]) -> str:
    kind = shape[0]
    if kind == "enum" and isinstance(shape[1], tuple):
        return ", ".join(f"`{word}`" for word in shape[1])
    if kind == "quantity":
        kind = str(shape[1])
        return say("{kind} such as {sample}", kind=with_article(kind), sample=f"`{quantities.example(kind)}`")
    if kind == "form":
        return FORMS[str(shape[1])].says
    if kind in ("whole", "number"):
        number = say("a whole number") if kind == "whole" else say("a number")
        return say("{number} from {least} to {most}", number=number, least=shape[1], most=shape[2])
    if kind == "list":
        return say("a list")
    return joined(" or ", ["`true`", "`false`"]) if kind == "bool" else ""


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
