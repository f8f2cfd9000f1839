"""Writes plain values as people write YAML: blocks, short lists in one line, quotes where needed."""

from __future__ import annotations

from typing import Any

Values = dict[str, Any]
WIDTH = 90
SPECIAL = "!&*?|>%@`\"'#,[]{}:-"
WORDS = frozenset(("true", "false", "null", "yes", "no", "on", "off", "~", ""))


def written(values: Values, *, comment: str = "") -> str:
    """A document; `comment` is its first line."""
    head = f"# {comment}\n" if comment else ""
    return head + "".join(f"{line}\n" for line in _mapping(values, 0))


def _mapping(values: Values, depth: int) -> list[str]:
    lines: list[str] = []
    pad = "  " * depth
    for key, value in values.items():
        if isinstance(value, dict) and value:
            lines += [f"{pad}{key}:", *_mapping(value, depth + 1)]
        elif isinstance(value, list) and value and not _short(value):
            lines += [f"{pad}{key}:", *_list(value, depth + 1)]
        elif isinstance(value, str) and "\n" in value:
            lines += [f"{pad}{key}: |", *(f"{pad}  {line}" for line in value.rstrip("\n").split("\n"))]
        else:
            lines.append(f"{pad}{key}: {_inline(value)}")
    return lines


def _list(items: list[Any], depth: int) -> list[str]:
    pad = "  " * depth
    lines: list[str] = []
    for item in items:
        if isinstance(item, dict):
            first, *rest = _mapping(item, depth + 1)
            lines += [f"{pad}- {first.lstrip()}", *rest]
        else:
            lines.append(f"{pad}- {_inline(item)}")
    return lines


def _short(items: list[Any]) -> bool:
    return not any(isinstance(item, dict) for item in items) and len(_inline(items)) < WIDTH


def _inline(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return f"[{', '.join(_inline(item) for item in value)}]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {_inline(item)}" for key, item in value.items()) + "}"
    if isinstance(value, str):
        return value if _plain(value) else '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return f"{value:g}" if isinstance(value, float) else str(value)


def _plain(text: str) -> bool:
    """Whether a text needs no quotes."""
    if text.lower() in WORDS or text[0] in SPECIAL or text != text.strip():
        return False
    if ": " in text or " #" in text or text.endswith(":") or any(char in "[]{},*" for char in text):
        return False
    try:
        float(text)
    except ValueError:
        return True
    return False
