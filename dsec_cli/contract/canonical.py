"""Plain values as canonical JSON: what `json.dumps` writes with sorted keys, no blanks, no escapes.

Written out because importing `json` costs a lint more than reading its whole contract does.
"""

from __future__ import annotations

from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.source.resolve import Value

_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\f": "\\f", "\b": "\\b"}
_ESCAPED = {**{chr(code): f"\\u{code:04x}" for code in range(0x20)}, **_ESCAPES}
_TABLE = str.maketrans(_ESCAPED)


def canonical_json(value: Value) -> str:
    """`value` as JSON text; raises ValueError for a float that JSON has no word for."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return f'"{value.translate(_TABLE)}"'
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return _float(value)
    parts = []  # filled by loops, because a comprehension would double the stack's depth
    if isinstance(value, list):
        for item in value:
            parts.append(canonical_json(item))  # noqa: PERF401
        return f"[{','.join(parts)}]"
    for key in sorted(value):
        parts.append(f"{canonical_json(key)}:{canonical_json(value[key])}")  # noqa: PERF401
    return f"{{{','.join(parts)}}}"


def _float(value: float) -> str:
    if value != value or value in (float("inf"), float("-inf")):
        raise ValueError(say("{value} is not a number that JSON can hold", value=value))
    return repr(value)
