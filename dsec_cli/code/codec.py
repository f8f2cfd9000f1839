"""Needs as plain data, ready for JSON."""

from __future__ import annotations

from dsec_cli.code.needs import Needs
from dsec_cli.diagnostics import Place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FORMAT = "dsec-code-needs/1"


def render(needs: Needs) -> dict[str, Any]:
    """The needs as dictionaries and lists; the first key says which form this is."""
    return {"format": FORMAT, **{name: _plain(value) for name, value in needs._asdict().items()}}


def _plain(value: Any) -> Any:
    if isinstance(value, Place):
        return {
            "file": value.file,
            "line": value.start.line,
            "column": value.start.column,
            "end_line": value.end.line,
            "end_column": value.end.column,
        }
    if isinstance(value, tuple):
        fields = getattr(value, "_fields", None)
        if fields is None:
            return [_plain(one) for one in value]
        return {name: _plain(one) for name, one in zip(fields, value, strict=True)}
    return value
