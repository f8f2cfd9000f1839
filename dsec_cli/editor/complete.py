"""What may be written at the cursor: keys of the section, and the values a key takes."""

from __future__ import annotations

from dsec import cards
from dsec.record import Record
from dsec_cli.contract import quantities
from dsec_cli.contract.describe import below, descriptions, sections_under
from dsec_cli.contract.forms import FORMS
from dsec_cli.contract.table import SECTIONS
from dsec_cli.editor import cursor as cursors
from dsec_cli.editor import hover, page
from dsec_cli.editor.page import Page
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    Tell = Callable[[str], str]


class Item(Record):
    """One thing that may be written."""

    label: str
    kind: str
    """`key`, `value`, `step` or `sample`."""
    detail: str
    text: str
    """What takes the place of the word at the cursor."""
    about: str
    """Markdown."""


class Offer(Record):
    """Items, and how many code points before the cursor they replace."""

    items: tuple[Item, ...]
    back: int


def complete(here: Page, offset: int, *, tell: Tell = str) -> Offer:
    """Everything that fits at `offset`, required keys first."""
    cursor = cursors.at(here.text, offset)
    if cursor is None:
        return Offer((), 0)
    kind = page.kind_at(here, offset)
    shapes = below(kind, cursor.keys)
    items: list[Item] = []
    if not cursor.value:
        items += [item for shape in shapes for item in _keys(shape, cursor, tell)]
    if cursor.value or cursor.keys[-1:] == (None,):
        items += [item for shape in shapes for item in _values(shape, cursor.keys, here)]
    unique = {item.label: item for item in reversed(items)}
    return Offer(tuple(item for item in items if unique.get(item.label) is item), len(cursor.word))


def _keys(shape: tuple[object, ...], cursor: cursors.Cursor, tell: Tell) -> list[Item]:
    found = []
    for section in sections_under(shape):
        texts = descriptions()[section]
        for key, inner in SECTIONS[section][2].items():
            if key in cursor.present and key != cursor.word:
                continue
            text = texts[key]
            detail = ""
            if text.required:
                detail = tell(say("required"))
            elif text.default:
                detail = tell(say("default: {default}", default=tell(text.default)))
            written = f"{key}{_after(inner)}" if cursor.bare else key
            found.append(
                (not text.required, Item(key, "key", detail, written, hover.of_key(text, inner, tell=tell)))
            )
    return [item for _, item in sorted(found, key=lambda one: one[0])]


def _after(shape: tuple[object, ...]) -> str:
    """What follows a key: a space where its value stands on the same line."""
    block = shape[0] in ("section", "list", "dict", "free", "keyed")
    return ":" if block else ": "


def _values(shape: tuple[object, ...], keys: tuple[str | None, ...], here: Page) -> list[Item]:
    path = tuple(0 if key is None else key for key in keys)
    if page.names_a_step(path):
        return [Item(step.id, "step", "Step", step.id, "") for step in page.steps(here)]
    if keys[-1:] == ("type",) and "gpu" in keys:
        return [
            Item(name, "value", cards.has(card), name, "")
            for name in cards.types()
            if (card := cards.card(name))
        ]
    if shape[0] == "list" and isinstance(shape[1], tuple):
        return [item._replace(text=f"[{item.text}]") for item in _values(shape[1], (*keys, None), here)]
    if shape[0] == "either":
        return [
            item
            for inner in shape[1:]
            if isinstance(inner, tuple) and inner
            for item in _values(inner, keys, here)
        ]
    return [Item(word, what, detail, word, "") for word, what, detail in _words(shape)]


def _words(shape: tuple[object, ...]) -> list[tuple[str, str, str]]:
    """Words a scalar may be, with what they are."""
    if shape[0] == "enum" and isinstance(shape[1], tuple):
        return [(str(word), "value", "") for word in shape[1]]
    if shape[0] == "bool":
        return [("true", "value", ""), ("false", "value", "")]
    if shape[0] == "quantity":
        return [(quantities.example(str(shape[1])), "sample", str(shape[1]))]
    if shape[0] == "form":
        return [(FORMS[str(shape[1])].example, "sample", FORMS[str(shape[1])].says)]
    return []
