"""Renders `contract/table.py`: the language as plain literals, for a checker that must start in no time."""

from __future__ import annotations

from dsec_cli.contract.model import KINDS, Statement
from dsec_cli.contract.shapes import fields, reachable, required_keys

HEAD = '''"""The contract language as plain data, generated from `contract.model` by `contract.generate`."""

from __future__ import annotations

# ruff: noqa: E501
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# fmt: off
SECTIONS: dict[str, tuple[str, tuple[str, ...], dict[str, tuple[Any, ...]]]] = {
'''


def render() -> str:
    """The module's text."""
    sections = reachable([Statement, *KINDS.values()])
    shared = fields(Statement)
    out = [HEAD]
    tail = []
    for name, section in sections.items():
        keys = fields(section)
        if keys == shared and section is not Statement:
            tail.append(
                f'SECTIONS["{name}"] = ({_text(section.heading)}, {_tuple(required_keys(section))}, '
                'SECTIONS["Statement"][2])\n'
            )
            continue
        out.append(f'    "{name}": ({_text(section.heading)}, {_tuple(required_keys(section))}, {{\n')
        out.extend(f"        {_text(key)}: {_tuple(shape)},\n" for key, shape in keys.items())
        out.append("    }),\n")
    out.append("}\n")
    out.extend(tail)
    out.append("ROOTS = {\n")
    out.extend(f"    {_text(kind)}: {_text(section.__name__)},\n" for kind, section in KINDS.items())
    out.append("}\n# fmt: on\n")
    return "".join(out)


def _text(value: str) -> str:
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _literal(value: object) -> str:
    if isinstance(value, tuple):
        return _tuple(value)
    return _text(value) if isinstance(value, str) else repr(value)


def _tuple(values: tuple[object, ...]) -> str:
    inner = ", ".join(_literal(value) for value in values)
    return f"({inner},)" if len(values) == 1 else f"({inner})"
