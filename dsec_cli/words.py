"""What DSec tells people: texts that remember how they were made, so that they can be said in Chinese.

An English text is its own key: `say("{a} is more than {b}", a=8, b=2)` reads as the filled text, and
keeps template and arguments for the catalogue of another language and for machine formats.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


class Said(str):
    """A text with the template and the arguments it was made of."""

    __slots__ = ("args", "id", "template")

    template: str
    args: dict[str, object]
    id: str
    """Stable name of a message within its rule; "" for reasons, advice and labels."""

    def __getnewargs__(self) -> tuple[str]:
        return (str(self),)


def say(template: str, name: str = "", /, **args: object) -> Said:
    """`template` with its `{names}` filled; one without arguments is taken as it stands.

    `name` is the stable id of a message; reasons, advice and labels need none.
    """
    return _said(template.format_map(args) if args else template, template, name, args)


def _said(text: str, template: str, name: str, args: dict[str, object]) -> Said:
    said = Said(text)
    said.template, said.args, said.id = template, args, name
    return said


def joined(between: str, texts: Sequence[str]) -> str:
    """The texts in a row; each of them, and what stands between them, can still be translated."""
    if len(texts) < 2:
        return texts[0] if texts else ""
    # By halves, so that one template serves any number of texts and a thousand are ten deep.
    half = (len(texts) + 1) // 2
    first, rest = joined(between, texts[:half]), joined(between, texts[half:])
    return say(f"{{first}}{between}{{rest}}", first=first, rest=rest)


def rewritten(text: str, change: Callable[[str], str]) -> str:
    """The text with `change` applied: to the whole, and to every argument it is made of."""
    new = change(text)
    if not isinstance(text, Said):
        return new
    args = {name: rewritten(arg, change) if isinstance(arg, str) else arg for name, arg in text.args.items()}
    return _said(new, text.template, text.id, args)


def translated(text: str, catalogue: Mapping[str, str]) -> str:
    """The text in the catalogue's language; what the catalogue lacks stays English."""
    if not isinstance(text, Said):
        return catalogue.get(text, text)
    template = catalogue.get(text.template, text.template)
    if not text.args:
        return _said(template, text.template, text.id, text.args)
    args = {
        name: translated(arg, catalogue) if isinstance(arg, Said) else arg for name, arg in text.args.items()
    }
    return _said(_close(template, args).format_map(args), text.template, text.id, text.args)


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
