"""Texts that remember how they were made, so that whoever shows them may say them in another language.

An English text is its own key: `say("{a} is more than {b}", a=8, b=2)` reads as the filled text, and
keeps template and arguments for the catalogue of another language and for machine formats.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


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
    return refilled(template.format_map(args) if args else template, template, name, args)


def refilled(text: str, template: str, name: str, args: dict[str, object]) -> Said:
    """The text, as made of these."""
    made = Said(text)
    made.template, made.args, made.id = template, args, name
    return made


def joined(between: str, texts: Sequence[str]) -> str:
    """The texts in a row; each of them, and what stands between them, can still be translated."""
    if len(texts) < 2:
        return texts[0] if texts else ""
    # By halves, so that one template serves any number of texts and a thousand are ten deep.
    half = (len(texts) + 1) // 2
    first, rest = joined(between, texts[:half]), joined(between, texts[half:])
    return say(f"{{first}}{between}{{rest}}", first=first, rest=rest)


def said(text: str) -> Said:
    """A text that may stand for itself, as one that can be said in another language."""
    return text if isinstance(text, Said) else say(text)


def system(problem: OSError) -> Said:
    """What the operating system said, or we in its place."""
    if isinstance(problem.strerror, Said):
        return problem.strerror
    return say(problem.strerror or str(problem))
