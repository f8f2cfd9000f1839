"""What DSec tells people, said in Chinese or taken apart again for machine formats."""

from __future__ import annotations

from dsec.words import Said as Said
from dsec.words import joined as joined
from dsec.words import refilled
from dsec.words import said as said
from dsec.words import say as say
from dsec.words import system as system

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def rewritten(text: str, change: Callable[[str], str]) -> str:
    """The text with `change` applied: to the whole, and to every argument it is made of."""
    new = change(text)
    if not isinstance(text, Said):
        return new
    args = {name: rewritten(arg, change) if isinstance(arg, str) else arg for name, arg in text.args.items()}
    return refilled(new, text.template, text.id, args)


def translated(text: str, catalogue: Mapping[str, str]) -> str:
    """The text in the catalogue's language; what the catalogue lacks stays English."""
    if not isinstance(text, Said):
        return catalogue.get(text, text)
    template = catalogue.get(text.template, text.template)
    if not text.args:
        return refilled(template, text.template, text.id, text.args)
    args = {
        name: translated(arg, catalogue) if isinstance(arg, Said) else arg for name, arg in text.args.items()
    }
    return refilled(_close(template, args).format_map(args), text.template, text.id, text.args)


_WIDE = "\u2e80"
"""From here on are the letters of scripts that put no spaces between words."""


def _close(template: str, args: Mapping[str, object]) -> str:
    """The template without spaces between a wide letter and a text of ours that is wide there, or empty."""
    for name, arg in args.items():
        if not isinstance(arg, str) or (arg and not isinstance(arg, Said)):
            continue
        before, place, after = template.partition(f"{{{name}}}")
        if before[-1:] == " " and before[-2:-1] >= _WIDE and (not arg or arg[0] >= _WIDE):
            before = before[:-1]
        if after[:1] == " " and after[1:2] >= _WIDE and (not arg or arg[-1] >= _WIDE):
            after = after[1:]
        template = before + place + after
    return template


def message_id(text: str) -> str:
    """Stable name of a message within its rule; "" for a text that has none."""
    return text.id if isinstance(text, Said) else ""


def arguments(text: str) -> dict[str, object]:
    """What a message was filled with, the same in every language."""
    if not isinstance(text, Said):
        return {}
    return {name: english(arg) if isinstance(arg, str) else arg for name, arg in text.args.items()}


def english(text: str) -> str:
    """The text as it was before any translation."""
    if not isinstance(text, Said) or not text.args:
        return text.template if isinstance(text, Said) else text
    args = {name: english(arg) if isinstance(arg, str) else arg for name, arg in text.args.items()}
    return text.template.format_map(args)
