"""The JSON Schema of a knowledge file, for editors: what `form.parse` accepts."""

from __future__ import annotations

from dsec_cli.code.knowledge.form import ACCESS, CALLS, ENV, FIELDS, HOST, KINDS, RATE, URL, VERSION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dsec_cli.code.knowledge.form import Field

DIALECT = "https://json-schema.org/draft/2020-12/schema"
_TEXT = {"type": "string", "pattern": r"^(?=.*\S)[^\u0000-\u001f\u007f]+$"}
_WORD = {"type": "string", "pattern": r"^\S([^\u0000-\u001f\u007f]*\S)?$", "maxLength": 200}


def schema() -> dict[str, Any]:
    """The whole schema."""
    return {
        "$schema": DIALECT,
        "$id": "knowledge.schema.json",
        "title": "DSec knowledge: what agent tools and client libraries do",
        "type": "object",
        "additionalProperties": False,
        "required": ["version", "entries"],
        "properties": {
            "version": {"const": VERSION, "description": "Version of this form."},
            "entries": {"type": "array", "items": _entry(), "description": "The entries."},
        },
    }


def _entry() -> dict[str, Any]:
    return {
        "type": "object",
        "additionalProperties": False,
        "required": [field.key for field in FIELDS if field.required],
        "properties": {field.key: _property(field) for field in FIELDS},
    }


def _property(field: Field) -> dict[str, Any]:
    body = _shapes()[field.shape]
    if not field.required or field.shape == "flag":
        body = {"anyOf": [body, {"type": "null"}]}
    return {"description": field.meaning, **body}


def _shapes() -> dict[str, dict[str, Any]]:
    return {
        "word": _WORD,
        "text": _TEXT,
        "kind": {"enum": list(KINDS)},
        "words": _array(_WORD),
        "egress": _array({"type": "string", "pattern": rf"^({HOST}|unknown: .*\S.*)$"}),
        "env": _array(_record(name=_whole(ENV), required={"type": "boolean"}, secret={"type": "boolean"})),
        "files": _array(_record(access={"enum": list(ACCESS)}, path=_TEXT)),
        "flag": {"type": "boolean"},
        "rate": _whole(RATE),
        "calls": {"enum": list(CALLS)},
        "url": _whole(URL),
        "date": _whole(r"[0-9]{4}-[0-9]{2}-[0-9]{2}"),
    }


def _whole(pattern: str) -> dict[str, Any]:
    return {"type": "string", "pattern": f"^({pattern})$"}


def _array(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


def _record(**properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "additionalProperties": False,
        "required": list(properties),
        "properties": properties,
    }
