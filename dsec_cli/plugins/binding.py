"""Data bound to a plugin by its schema.json: `input` and `output` are JSON Schemas of either side."""

from __future__ import annotations

import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class NotBound(Exception):
    """Data is not as the plugin's schema has it, or the schema is none; the text says where and how."""


def read_schema(data: bytes) -> dict[str, Any]:
    """The schemas by `input` and `output`, each {} where it is not given; raises NotBound."""
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError

    try:
        held = json.loads(data)
    except (ValueError, RecursionError) as problem:
        raise NotBound(f"schema.json is no JSON: {problem}") from None
    if not isinstance(held, dict):
        raise NotBound("schema.json is no object with `input` and `output`")
    found: dict[str, Any] = {}
    for side in ("input", "output"):
        found[side] = held.get(side, {})
        try:
            Draft202012Validator.check_schema(found[side])
        except SchemaError as problem:
            raise NotBound(f"schema.json: {side} is no JSON Schema: {problem.message}") from None
    return found


def bound(schema: Any, data: bytes, what: str) -> None:
    """Check one document against its schema; raises NotBound."""
    from jsonschema import Draft202012Validator

    try:
        held = json.loads(data)
    except (ValueError, RecursionError) as problem:
        raise NotBound(f"the {what} is no JSON: {problem}") from None
    first = min(
        Draft202012Validator(schema).iter_errors(held), key=lambda one: list(map(str, one.path)), default=None
    )
    if first is not None:
        place = "".join(f"[{part!r}]" for part in first.path)
        raise NotBound(f"the {what}{place} is not as the plugin's schema has it: {first.message}")
