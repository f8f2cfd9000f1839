"""JSON with an indent, value by value; the standard library writes it in two to three times the time."""

from __future__ import annotations

from json.encoder import encode_basestring as _text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

INDENT = "  "


def pretty(value: object, margin: str = "\n") -> str:
    """`value` as `json.dumps(value, ensure_ascii=False, indent=2)` writes it; `margin` begins each line."""
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, dict) and value:
        inner = margin + INDENT
        entries = [f"{_text(key)}: {pretty(one, inner)}" for key, one in value.items()]
        return f"{{{inner}{f',{inner}'.join(entries)}{margin}}}"
    if isinstance(value, (list, tuple)) and value:
        inner = margin + INDENT
        return f"[{inner}{f',{inner}'.join([pretty(one, inner) for one in value])}{margin}]"
    return _bare(value)


def _bare(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return int.__repr__(value)  # quantities are numbers whose words are for people
    if isinstance(value, dict):
        return "{}"
    assert isinstance(value, (list, tuple)), f"a report holds no {type(value).__name__}"
    return "[]"


def listed(values: Iterable[object], margin: str = "\n") -> Iterator[str]:
    """The same of a list, a piece for each item: the whole of many findings is never held."""
    inner = margin + INDENT
    before = f"[{inner}"
    for one in values:
        yield before + pretty(one, inner)
        before = f",{inner}"
    yield "[]" if before[0] == "[" else f"{margin}]"


def opened(entries: dict[str, object], name: str, margin: str = "\n") -> str:
    """An object with these entries, up to where the value of the next one begins."""
    return pretty({**entries, name: None}, margin).removesuffix(f"null{margin}}}")
