"""The small values of a state as JSON: numbers, texts, lists, bytes."""

from __future__ import annotations

import base64

from dsec.state.problems import StateError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_BYTES = "__bytes__"


def written(name: str, value: Any) -> Any:
    """A value as JSON can hold it (tuples become lists); raises StateError for what would not come back."""
    if value is None or isinstance(value, (bool, int, str, float)):
        return value
    if isinstance(value, (bytes, bytearray)):
        return {_BYTES: base64.b64encode(value).decode()}
    if isinstance(value, (list, tuple)):
        return [written(name, one) for one in value]
    if isinstance(value, dict) and all(isinstance(key, str) for key in value) and _BYTES not in value:
        return {key: written(name, one) for key, one in value.items()}
    raise StateError(
        f"{name}: a {type(value).__name__} is no plain value (number, text, bytes, list, dict of these); "
        "tensors and arrays, also those of a state_dict(), go into `tensors`"
    )


def read(value: Any) -> Any:
    """The value that `written` took."""
    if isinstance(value, list):
        return [read(one) for one in value]
    if isinstance(value, dict):
        if set(value) == {_BYTES}:
            return base64.b64decode(value[_BYTES])
        return {key: read(one) for key, one in value.items()}
    return value
