"""Renders `schemas/*.schema.json`: JSON Schema 2020-12 of every document kind, for editors."""

from __future__ import annotations

import json
from typing import Any

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from dsec_cli.contract.model import KINDS
from dsec_cli.contract.section import Section

DIALECT = "https://json-schema.org/draft/2020-12/schema"
LANGUAGE_VERSION = "1.0.0"
"""Version of the contract language; it ends the `$id` of each schema, and is their `x-dsec-version`."""

FILES = {
    "contract": "dsandbox",
    "environment": "environment",
    "tasks": "tasks",
    "steps": "ds_config",
    "health": "health",
    "deploy": "hermes-deploy",
    "plugin": "plugin",
}
"""File name of each document kind's schema."""


class _Generator(GenerateJsonSchema):
    """Pydantic's schema without what only Python needs: nulls and defaults for absent keys."""

    def nullable_schema(self, schema: core_schema.NullableSchema) -> JsonSchemaValue:
        return self.generate_inner(schema["schema"])

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        return self.generate_inner(schema["schema"])


def render() -> dict[str, str]:
    """Content by path from the repository's root."""
    return {
        f"schemas/{FILES[kind]}.schema.json": json.dumps(schema(kind), indent=2, ensure_ascii=False) + "\n"
        for kind in KINDS
    }


def schema(kind: str) -> dict[str, Any]:
    """JSON Schema of one document kind."""
    section = KINDS[kind]
    body = section.model_json_schema(schema_generator=_Generator)
    head = {
        "$schema": DIALECT,
        "$id": f"urn:dsec:schema:{FILES[kind]}:{LANGUAGE_VERSION}",
        "title": _title(kind, section),
        "x-dsec-version": LANGUAGE_VERSION,
    }
    cleaned: dict[str, Any] = _cleaned(body)
    return {**head, **{key: value for key, value in cleaned.items() if key not in head}}


def _title(kind: str, section: type[Section]) -> str:
    return f"DSec {kind}: {(section.__doc__ or '').strip().splitlines()[0].rstrip('.')}"


def _cleaned(value: Any, *, names: bool = False) -> Any:
    """Without pydantic's made-up titles, which editors show in place of descriptions; names kept to forms."""
    if isinstance(value, list):
        return [_cleaned(item) for item in value]
    if not isinstance(value, dict):
        return value
    cleaned = {
        key: _cleaned(inner, names=key in ("properties", "$defs") and not names)
        for key, inner in value.items()
        if names or key != "title"
    }
    if "patternProperties" in cleaned and not names:
        # A name of another form is refused by the model, which JSON Schema does only when told.
        cleaned.setdefault("additionalProperties", False)
    return cleaned
