"""What each key of the language means, in words: for editors, from the model's own descriptions."""

from __future__ import annotations

from functools import cache

from dsec.record import Record
from dsec_cli.contract.model import KINDS, Statement
from dsec_cli.contract.shapes import reachable
from dsec_cli.contract.table import ROOTS, SECTIONS


class KeyText(Record):
    """One key of a section, for people."""

    name: str
    meaning: str
    required: bool
    default: str
    """What its absence means; "" where nothing is said."""
    example: str


@cache
def descriptions() -> dict[str, dict[str, KeyText]]:
    """Every key by section and name; costs pydantic's import, so only long-lived programs ask."""
    found: dict[str, dict[str, KeyText]] = {}
    for name, section in reachable([Statement, *KINDS.values()]).items():
        texts = {}
        for attribute, field in section.model_fields.items():
            key = field.alias or attribute
            extra = field.json_schema_extra if isinstance(field.json_schema_extra, dict) else {}
            [example] = field.examples or [None]
            texts[key] = KeyText(
                key,
                field.description or "",
                field.is_required(),
                str(extra.get("x-default", "")),
                "" if example is None else _plain(example),
            )
        found[name] = texts
    return found


def _plain(example: object) -> str:
    return str(example).lower() if isinstance(example, bool) else str(example)


def root_section(kind: str) -> str:
    """Name of the section that a document of this kind is."""
    name: str = ROOTS[kind]
    return name


def sections_under(shape: tuple[object, ...]) -> tuple[str, ...]:
    """The sections that a mapping of this shape may be."""
    if shape[:1] == ("section",):
        return (str(shape[1]),)
    if shape[:1] == ("keyed",):
        return tuple(str(name) for name in shape[2:])
    if shape[:1] == ("either",):
        return tuple(
            name for inner in shape[1:] if isinstance(inner, tuple) for name in sections_under(inner)
        )
    return ()


def below(kind: str, keys: tuple[str | None, ...]) -> tuple[tuple[object, ...], ...]:
    """Shapes that stand under `keys` in a document of `kind`; None in `keys` is an item of a list."""
    shapes: list[tuple[object, ...]] = [("section", root_section(kind))]
    for key in keys:
        shapes = [inner for shape in shapes for inner in _child(shape, key)]
    return tuple(shapes)


def _child(shape: tuple[object, ...], key: str | None) -> list[tuple[object, ...]]:
    if shape[:1] == ("either",):
        return [found for inner in shape[1:] if isinstance(inner, tuple) for found in _child(inner, key)]
    if key is None:
        return [inner for inner in shape[1:2] if isinstance(inner, tuple)] if shape[:1] == ("list",) else []
    if shape[:1] == ("dict",):
        return [inner for inner in shape[2:3] if isinstance(inner, tuple)]
    return [SECTIONS[name][2][key] for name in sections_under(shape) if key in SECTIONS[name][2]]
