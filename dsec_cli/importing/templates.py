"""`${name.of[0].value}` in texts of a dvc.yaml, filled in from its variables."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from dsec_cli.source.resolve import Value

OPEN, CLOSE = "${", "}"
MISSING = object()


def lookup(expression: str, context: Mapping[str, Value]) -> object:
    """The value that `a.b[0].c` names, or MISSING."""
    at: object = dict(context)
    for part in expression.replace("[", ".").replace("]", "").split("."):
        name = part.strip()
        if isinstance(at, dict) and name in at:
            at = at[name]
        elif isinstance(at, list) and name.isdecimal() and len(name) < 10 and int(name) < len(at):
            at = at[int(name)]
        else:
            return MISSING
    return at


def whole(text: str) -> str:
    """The expression that all of the text is (`${models}` -> `models`), or ""."""
    bare = text.strip()
    inner = bare[len(OPEN) : -1]
    if bare.startswith(OPEN) and bare.endswith(CLOSE) and OPEN not in inner and CLOSE not in inner:
        return inner
    return ""


def fill(text: str, context: Mapping[str, Value]) -> tuple[str, tuple[str, ...]]:
    """The text with all that is known filled in, and the expressions that are not known."""
    parts: list[str] = []
    unknown: list[str] = []
    rest = text
    while True:
        before, mark, after = rest.partition(OPEN)
        expression, close, tail = after.partition(CLOSE)
        if not mark or not close:
            parts.append(rest)
            return "".join(parts), tuple(unknown)
        if before.endswith("\\"):
            parts.append(f"{before[:-1]}{OPEN}")
            rest = after
            continue
        value = lookup(expression, context)
        if value is MISSING or isinstance(value, (dict, list)):
            unknown.append(expression)
            parts.append(f"{before}{OPEN}{expression}{CLOSE}")
        else:
            parts.append(before + _word(value))
        rest = tail


def _word(value: object) -> str:
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)
