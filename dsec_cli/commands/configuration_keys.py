"""What can be configured: the table that files are checked against and the schema is written from."""

from __future__ import annotations

from dsec.record import Record
from dsec_cli.languages import LANGUAGES
from dsec_cli.options_lint import FAIL_ON


class Key(Record):
    """One key; `kind` is texts (one or a list), text, choice, day or ignores."""

    name: str
    kind: str
    meaning: str
    choices: tuple[str, ...] = ()
    default: str = ""
    """As `--show-config` prints it."""
    run: bool = False
    """Taken from the current folder's configuration, not from the file's."""


KEYS = (
    Key("baseline", "text", "Baseline file whose findings do not count (--baseline).", run=True),
    Key("exclude", "texts", "Patterns of files that are left out (--exclude).", default="[]"),
    Key("fail-on", "choice", "Severity from which on the exit code is 1.", FAIL_ON, '"warning"', run=True),
    Key("ignore", "texts", "Codes or prefixes of rules that do not run (--ignore).", default="[]"),
    Key("lang", "choice", "Language of what people read.", ("auto", *LANGUAGES), run=True),
    Key("output", "texts", "Formats, each with :FILE or for standard output.", default='["text"]', run=True),
    Key("per-file-ignores", "ignores", "What does not count in some files, and why.", default="[]"),
    Key("select", "texts", "Codes or prefixes of the only rules that run (--select).", default="[]"),
)

IGNORE_KEYS = (
    Key("files", "texts", "Patterns of the files."),
    Key("codes", "texts", "Codes or prefixes of rules."),
    Key("reason", "text", "Why their findings do not count there."),
    Key("until", "day", "Last day on which this holds: 2027-01-31."),
)
NEEDED = ("files", "codes", "reason")


class Ignored(Record):
    """One entry of `per-file-ignores`."""

    files: tuple[str, ...]
    codes: tuple[str, ...]
    reason: str
    until: str = ""
    line: int = 1


def schema() -> dict[str, object]:
    """JSON Schema of `.dsec.toml`; its `$defs.lint` is also that of `[tool.dsec.lint]`."""
    lint = {
        "type": "object",
        "additionalProperties": False,
        "properties": {key.name: _shape(key, least=0) for key in KEYS},
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "lint-config.schema.json",
        "title": "DSec: configuration of the linter (.dsec.toml)",
        "type": "object",
        "additionalProperties": False,
        "properties": {"lint": {"$ref": "#/$defs/lint"}},
        "$defs": {"lint": lint},
    }


def _shape(key: Key, *, least: int) -> dict[str, object]:
    """Schema of one key's value; a list has at least `least` items."""
    text: dict[str, object] = {"type": "string", "pattern": r"\S"}
    if key.kind == "ignores":
        return {"description": key.meaning, "type": "array", "items": _entry_shape()}
    shapes: dict[str, dict[str, object]] = {
        "choice": {"enum": list(key.choices)},
        "day": {"type": "string", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"},
        "text": text,
        "texts": {"anyOf": [text, {"type": "array", "items": text, "minItems": least}]},
    }
    return {"description": key.meaning, **shapes[key.kind]}


def _entry_shape() -> dict[str, object]:
    properties = {key.name: _shape(key, least=1) for key in IGNORE_KEYS}
    return {
        "type": "object",
        "additionalProperties": False,
        "required": list(NEEDED),
        "properties": properties,
    }
