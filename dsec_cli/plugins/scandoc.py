"""A scan as a document, and back: the JSON that programs read, and what `--diff` takes as the old side.

    {"format": "dsec.plugin-scan/1", "verdict": "ok" | "incomplete" | "violations",
     "identity": {...}, "signature": {"status", "detail"},
     "permissions": [{"permission", "targets", "tier", "chain", "uses", "note"}],
     "syscalls": [{"name", "number", "tier", "chain", "direct"}] | null, "loader_syscalls": [name],
     "findings": [{"code", "severity", "message", "action", "blind", "tier", "file", "address",
                   "chain", "allowed"}],
     "coverage": {...}, "assumptions": [text], "tools": {name: version}}

Addresses are numbers; null is what is not known. Order and bytes are the same for the same input.
"""

from __future__ import annotations

from dataclasses import fields

from dsec_cli.plugins.result import Call, Coverage, Finding, Identity, Need, Scan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    T = TypeVar("T", Call, Coverage, Finding, Identity, Need)

FORMAT = "dsec.plugin-scan/1"
UNSIGNED = ("unsigned", "no MANIFEST.json.minisig beside the file")


class NotAScan(Exception):
    """A document that is none of ours; the text says why."""


def document(found: Scan, signature: tuple[str, str] = UNSIGNED) -> dict[str, Any]:
    """The whole answer as plain data."""
    return {
        "format": FORMAT,
        "verdict": found.verdict(),
        "identity": _plain(found.identity),
        "signature": {"status": signature[0], "detail": signature[1]},
        "permissions": [_plain(one) for one in found.needs],
        "syscalls": None if found.calls is None else [_plain(one) for one in found.calls],
        "loader_syscalls": list(found.loader),
        "findings": [_plain(one) for one in found.findings],
        "coverage": _plain(found.coverage),
        "assumptions": list(found.assumptions),
        "tools": dict(found.tools),
    }


def _plain(value: Call | Coverage | Finding | Identity | Need) -> dict[str, Any]:
    found = {}
    for field in fields(value):
        held = getattr(value, field.name)
        found[field.name] = list(held) if isinstance(held, tuple) else held
    return found


def parsed(found: Any) -> Scan:
    """The scan that a document holds; NotAScan where it is none."""
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise NotAScan(f"it does not begin as {FORMAT}")
    try:
        calls = found["syscalls"]
        return Scan(
            _value(Identity, found["identity"]),
            tuple(_value(Need, one) for one in found["permissions"]),
            None if calls is None else tuple(_value(Call, one) for one in calls),
            tuple(map(str, found["loader_syscalls"])),
            tuple(_value(Finding, one) for one in found["findings"]),
            _value(Coverage, found["coverage"]),
            tuple(map(str, found["assumptions"])),
            tuple((str(name), str(version)) for name, version in found["tools"].items()),
        )
    except (KeyError, TypeError, AttributeError) as problem:
        raise NotAScan(f"a part of it is missing or has another shape: {problem}") from None


def _value(kind: Callable[..., T], held: dict[str, Any]) -> T:
    names = kind.__dataclass_fields__  # type: ignore[attr-defined]  # each kind is a dataclass
    known = {key: one for key, one in held.items() if key in names}
    return kind(**{key: tuple(one) if isinstance(one, list) else one for key, one in known.items()})
