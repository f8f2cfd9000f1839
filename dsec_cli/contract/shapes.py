"""From a model's annotations to the plain shapes of the fast checker's table."""

from __future__ import annotations

import types
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from pydantic import Discriminator, Tag

from dsec_cli.contract.leaves import NotEmpty
from dsec_cli.contract.section import Section

Shape = tuple[Any, ...]


def fields(section: type[Section]) -> dict[str, Shape]:
    """Shape of each key of a section, in the order of the model."""
    hints = get_type_hints(section, include_extras=True)
    return {field.alias or name: shape(hints[name]) for name, field in section.model_fields.items()}


def required_keys(section: type[Section]) -> tuple[str, ...]:
    """Keys that the section must have."""
    return tuple(field.alias or name for name, field in section.model_fields.items() if field.is_required())


def shape(annotation: Any, extras: tuple[Any, ...] = ()) -> Shape:
    """The shape that an annotation stands for."""
    origin, args = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return shape(args[0], (*args[1:], *extras))
    for extra in extras:
        if hasattr(extra, "shape"):
            marked: Shape = extra.shape
            return marked
    if origin in (Union, types.UnionType):
        return _union(args, extras)
    if origin is Literal:
        return ("enum", args)
    if origin is tuple:
        return (
            "list",
            shape(args[0]),
            next((extra.least for extra in extras if isinstance(extra, NotEmpty)), 0),
        )
    if origin is dict:
        return ("free",) if args[1] is Any else ("dict", shape(args[0]), shape(args[1]))
    if annotation is bool:
        return ("bool",)
    if isinstance(annotation, type) and issubclass(annotation, Section):
        return ("section", annotation.__name__)
    raise AssertionError(f"the model uses {annotation!r}, for which the checker has no shape")


def _union(members: tuple[Any, ...], extras: tuple[Any, ...]) -> Shape:
    present = [member for member in members if member is not type(None)]
    if not any(isinstance(extra, Discriminator) for extra in extras):
        if len(present) != 1:
            raise AssertionError(f"a union without a discriminator: {members!r}")
        return shape(present[0])
    tagged = {_tag(member): shape(member) for member in present}
    if "<else>" in tagged:
        [(tag, chosen)] = [item for item in tagged.items() if item[0] != "<else>"]
        return ("keyed", tag.strip("<>"), chosen[1], tagged["<else>"][1])
    return ("either", *(tagged.get(tag, ()) for tag in ("<scalar>", "<sequence>", "<mapping>")))


def _tag(member: Any) -> str:
    tags = [extra.tag for extra in get_args(member)[1:] if isinstance(extra, Tag)]
    if len(tags) != 1:
        raise AssertionError(f"union member {member!r} needs exactly one tag")
    return tags[0]


def reachable(roots: list[type[Section]]) -> dict[str, type[Section]]:
    """All sections under the roots, by class name, in the order in which they are met."""
    found: dict[str, type[Section]] = {}
    queue = list(roots)
    for section in queue:
        if section.__name__ in found:
            continue
        found[section.__name__] = section
        for hint in get_type_hints(section, include_extras=True).values():
            queue.extend(_inner_sections(hint))
    return found


def _inner_sections(annotation: Any) -> list[type[Section]]:
    if isinstance(annotation, type) and issubclass(annotation, Section):
        return [annotation]
    return [section for arg in get_args(annotation) for section in _inner_sections(arg)]
