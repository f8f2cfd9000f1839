"""Renders `docs/reference/contract.md`: every key of the language, from the model."""

from __future__ import annotations

from typing import Any

from dsec_cli.contract import quantities
from dsec_cli.contract.forms import FORMS
from dsec_cli.contract.kinds import DIMENSIONS
from dsec_cli.contract.model import KINDS, Statement
from dsec_cli.contract.section import Section
from dsec_cli.contract.shapes import Shape, fields, reachable, required_keys
from dsec_cli.source.resolve import resolve
from dsec_cli.source.text import SourceText
from dsec_cli.source.tree import Mapping, Scalar, Sequence
from dsec_cli.source.yaml import parse

HEAD = """# The contract language

Every key that DSec's documents may have. This page is written by `make generate` from the model in
`dsec_cli/contract/`; the JSON Schemas in `schemas/` and the linter's own table come from the same source.

The column *seed* names the place in the design documents where a key comes from (A: contract and Steps,
B: sandbox and tasks, C: training health; `SPEC` rows are this project's own).
An unknown key is an error everywhere. A key that is there must not be empty.

"""


def render() -> str:
    """The page's text."""
    sections = reachable([Statement, *KINDS.values()])
    body = [HEAD, _kinds(), _units()]
    body.extend(
        _section(section) for name, section in sections.items() if _own(section) or name == "Statement"
    )
    return "\n".join(body)


def _own(section: type[Section]) -> bool:
    return fields(section) != fields(Statement)


def _kinds() -> str:
    rows = ["## Documents\n", "| kind | what it is | required keys |", "| --- | --- | --- |"]
    for kind, section in KINDS.items():
        keys = ", ".join(f"`{key}`" for key in required_keys(section)) or "none"
        rows.append(f"| {kind} | {(section.__doc__ or '').strip()} | {keys} |")
    dimensions = ", ".join(f"`{key}`" for key in DIMENSIONS)
    rows.append(f"\nThe four mandatory dimensions of a contract are {dimensions}.\n")
    return "\n".join(rows)


def _units() -> str:
    rows = ["## Units\n", "| quantity | units | example |", "| --- | --- | --- |"]
    for name, kind in quantities.BY_NAME.items():
        units = " ".join(f"`{unit}`" for unit in kind.units)
        rows.append(f"| {name} | {units} | `{kind.example}` |")
    rows.append(
        f"| {quantities.GPU_MEMORY} | those of a size, or a card's nominal class | `24Gi`, `24GB-class` |\n"
    )
    rows.append("Decimal prefixes are powers of 1000, binary ones (`Ki`, `Mi`, `Gi`) powers of 1024.\n")
    return "\n".join(rows)


def _section(section: type[Section]) -> str:
    required = required_keys(section)
    rows = [
        f"## `{section.heading}`\n" if section is not Statement else "## Root keys\n",
        f"{(section.__doc__ or '').strip()}\n",
        "| key | type | required | default | seed | meaning |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    shapes = fields(section)
    for name, field in section.model_fields.items():
        key = field.alias or name
        extra: dict[str, Any] = field.json_schema_extra if isinstance(field.json_schema_extra, dict) else {}
        example = f" Example: `{_example(field.examples[0])}`." if field.examples else ""
        cells = (
            f"`{key}`",
            _type(shapes[key]),
            "yes" if key in required else "",
            str(extra.get("x-default", "")),
            str(extra["x-seed"]),
            f"{field.description}{example}",
        )
        rows.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(rows) + "\n"


def _example(value: object, *, inside: bool = False) -> str:
    """A value in YAML's flow style; `inside` brackets more texts need quotes."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return f"[{', '.join(_example(item, inside=True) for item in value)}]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {_example(item, inside=True)}" for key, item in value.items()) + "}"
    if isinstance(value, str) and not _reads_plain(value, inside=inside):
        return f'"{value}"'
    return str(value)


def _reads_plain(text: str, *, inside: bool) -> bool:
    """Whether our own reader takes the text, without quotes, for itself."""
    written = f"[{text}]" if inside else f"key: {text}"
    tree = parse(SourceText.from_bytes("example", written.encode()))
    root = tree.documents[0].root if not tree.problems else None
    match root:
        case Sequence(items=(Scalar() as read,)) | Mapping(entries=((_, Scalar() as read),)):
            return resolve(read) == ("str", text)
        case _:
            return False


def _type(shape: Shape) -> str:
    match shape[0]:
        case "section":
            return f"mapping `{_heading(shape[1])}`"
        case "keyed":
            return f"`{_heading(shape[2])}` or `{_heading(shape[3])}`"
        case "list":
            return f"list of {_type(shape[1])}"
        case "either":
            return " or ".join(_type(inner) for inner in shape[1:] if inner)
        case "enum":
            return ", ".join(f"`{word}`" for word in shape[1])
        case "whole" | "number":
            return f"{'whole number' if shape[0] == 'whole' else 'number'}, {shape[1]} to {shape[2]}"
        case "quantity":
            return str(shape[1])
        case "form":
            return f"{shape[1]}: {FORMS[shape[1]].says}"
        case "dict":
            return f"mapping of {_type(shape[1])} to {_type(shape[2])}"
        case simple:
            return _SIMPLE[simple]


_SIMPLE = {
    "free": "mapping, any content",
    "text": "text",
    "command": "command",
    "written": "text, number or true/false",
    "bool": "true or false",
}


def _heading(name: str) -> str:
    return reachable([Statement, *KINDS.values()])[name].heading
