"""Stored forms: records and dataclasses to canonical JSON and back, strictly.

Unknown keys, missing keys and wrong types are refused in words. The plan is decoded on every
`dsec run`, so this walks the fields itself instead of importing pydantic (100 ms).
"""

from __future__ import annotations

import json
import sys
import types

from dsec.errors import StoredFormError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeVar

    T = TypeVar("T")


def canonical(value: object) -> bytes:
    """Canonical JSON: sorted keys, no spaces, UTF-8, integers only; raises TypeError on a float."""
    text = json.dumps(_plain(value), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return text.encode("utf-8")


def encode(value: object) -> object:
    """A tree of records as plain dicts and lists."""
    return _plain(value)


def _plain(value: object) -> object:
    # Asked by exact type first: a plan of 100,000 Steps has 15 million values.
    kind = type(value)
    if kind is str or kind is int or kind is bool or value is None:
        return value
    if kind is tuple or kind is list:
        # Of a kind that is known to iterate; and most lists that are long are of names.
        return [item if type(item) is str else _plain(item) for item in value]  # type: ignore[attr-defined]
    names = _FIELDS.get(kind)
    if names is not None:
        plain = {name: _plain(getattr(value, name)) for name in names}
        for name in _LATER.get(kind, ()):
            if plain[name] is None:
                del plain[name]
        return plain
    return _plain_other(value)


_FIELDS: dict[type, tuple[str, ...]] = {}
"""Field names of the records met so far."""
_LATER: dict[type, tuple[str, ...]] = {}
"""Of these, the fields that are None by default: added to a form that was stored without them.

They are left out when they are None, so what was stored before keeps its bytes and its hash.
"""


def _plain_other(value: object) -> object:
    """Subclasses, dicts, and records that were not met before."""
    if isinstance(value, str):
        return str(value)
    if isinstance(value, int):
        return int(value)
    names = getattr(type(value), "_fields", None) or getattr(type(value), "__dataclass_fields__", None)
    if names is not None:
        _FIELDS[type(value)] = tuple(names)
        later = _later(type(value))
        if later:
            _LATER[type(value)] = later
        return _plain(value)
    if isinstance(value, (tuple, list)):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    raise TypeError(f"{type(value).__name__} has no canonical form")


def _later(cls: type) -> tuple[str, ...]:
    defaults: dict[str, object] = getattr(cls, "_field_defaults", {})
    return tuple([name for name, value in defaults.items() if value is None])


def decode(cls: type[T], data: object, *, where: str = "document") -> T:
    """Build the record `cls` from plain data; raises StoredFormError naming the place that does not fit."""
    built: T = _build(cls, data, where)  # type: ignore[assignment]  # it makes what it is asked for
    return built


_HINTS: dict[type, dict[str, object]] = {}


def _hints(cls: type) -> dict[str, object]:
    found = _HINTS.get(cls)
    if found is None:
        found = _HINTS[cls] = {}
        for base in reversed(cls.__mro__):
            known = vars(sys.modules[base.__module__])
            for name, hint in vars(base).get("__annotations__", {}).items():
                # As typing.get_type_hints does, whose module costs half as much as an interpreter.
                found[name] = eval(hint, known) if isinstance(hint, str) else hint  # noqa: S307  # our own text
    return found


def _build(want: object, data: object, where: str) -> object:
    if isinstance(want, type) and (hasattr(want, "_fields") or hasattr(want, "__dataclass_fields__")):
        return _build_record(want, data, where)
    if isinstance(want, types.GenericAlias) and want.__origin__ is tuple:
        return _build_tuple(want.__args__, data, where)
    if isinstance(want, types.UnionType):
        if data is None:
            return None
        return _build(next(arm for arm in want.__args__ if arm is not type(None)), data, where)
    if want is int and isinstance(data, bool):
        raise StoredFormError(f"{where} is {data!r}, not an integer")
    if isinstance(want, type) and isinstance(data, want):
        return data
    name = want.__name__ if isinstance(want, type) else str(want)
    raise StoredFormError(f"{where} is {type(data).__name__}, not {name}")


def _build_tuple(args: tuple[object, ...], data: object, where: str) -> tuple[object, ...]:
    if not isinstance(data, list):
        raise StoredFormError(f"{where} is {type(data).__name__}, not a list")
    if len(args) == 2 and args[1] is Ellipsis:
        return tuple(_build(args[0], item, f"{where}[{at}]") for at, item in enumerate(data))
    if len(args) != len(data):
        raise StoredFormError(f"{where} has {len(data)} items, not {len(args)}")
    return tuple(
        _build(arg, item, f"{where}[{at}]") for at, (arg, item) in enumerate(zip(args, data, strict=True))
    )


def _build_record(cls: type, data: object, where: str) -> object:
    if not isinstance(data, dict):
        raise StoredFormError(f"{where} is {type(data).__name__}, not an object")
    hints = _hints(cls)
    unknown = sorted(set(data) - set(hints))
    if unknown:
        raise StoredFormError(f"{where} has the unknown key {unknown[0]!r}")
    missing = [name for name in hints if name not in data]
    if missing and not set(missing) <= set(_later(cls)):
        raise StoredFormError(f"{where} lacks {missing[0]!r}")
    return cls(
        **{name: _build(hint, data[name], f"{where}.{name}") for name, hint in hints.items() if name in data}
    )
