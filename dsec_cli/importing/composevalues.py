"""`${NAME:-default}` in a compose file, as far as the file itself says what it is."""

from __future__ import annotations

_LETTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789")


def fill(text: str) -> tuple[str, tuple[str, ...]]:
    """The text with defaults filled in and `$$` made `$`, and the names that have no value."""
    parts: list[str] = []
    unknown: list[str] = []
    rest = text
    while True:
        before, mark, after = rest.partition("$")
        parts.append(before)
        if not mark:
            return "".join(parts), tuple(dict.fromkeys(unknown))
        if after[:1] == "$":
            parts.append("$")
            rest = after[1:]
            continue
        name, default, rest = _expression(after)
        if not name:
            parts.append("$")
        elif default is None:
            unknown.append(name)
            parts.append(f"${{{name}}}")
        else:
            parts.append(default)


def _expression(after: str) -> tuple[str, str | None, str]:
    """Name, default and rest of what follows a `$`; no name where it is no variable."""
    if after[:1] == "{":
        inner, close, rest = after[1:].partition("}")
        if not close:
            return "", None, after
        name = inner[: next((at for at, ch in enumerate(inner) if ch not in _LETTERS), len(inner))]
        sign = inner[len(name) :]
        for mark in (":-", "-"):
            if sign.startswith(mark):
                return name, sign[len(mark) :], rest
        return name, None, rest
    end = next((at for at, ch in enumerate(after) if ch not in _LETTERS), len(after))
    return (after[:end], None, after[end:]) if end and not after[0].isdecimal() else ("", None, after)
