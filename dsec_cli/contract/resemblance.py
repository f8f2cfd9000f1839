"""How much of a document is a contract's: its root keys, each with the form of its value.

Imported only for documents with a root key that no contract has, and none of the three by which it is known.
"""

from __future__ import annotations

from dsec_cli.contract import suggest
from dsec_cli.contract.table import ROOTS, SECTIONS
from dsec_cli.source.resolve import follow, pairs
from dsec_cli.source.tree import Mapping, Scalar, Sequence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dsec_cli.source.tree import Node

_COMMON = frozenset(("version", "name", "description"))
"""Keys that nearly every kind of document has."""
_DECISIVE = frozenset(
    (
        *("baseline", "elasticity", "fault_tolerance", "steps", "tasks"),
        *("runtime_context", "security_policy", "include-code"),
    )
)
"""Keys whose value, where its form is right, is a contract's and hardly anything else's."""
_OUTWEIGHED = 4
"""Keys of something else for each key of a contract that make a document another kind."""
_LOOKED_AT = 3
"""Entries of a list by which its form is judged."""


def strange_keys(root: Node | None, kind: str) -> list[str]:
    """The root keys of a document of another kind, which no contract has; none: it resembles a contract.

    A key counts for a contract where it is one of its keys, or near one, and its value has that key's form:
    a contract with slips is judged key by key. Keys that belong elsewhere in a contract count where most do.
    """
    mapping = follow(root)
    if not isinstance(mapping, Mapping):
        return []
    fields = SECTIONS[ROOTS[kind]][2]
    own = displaced = 0
    strange = []
    for pair in pairs(mapping):
        word = pair.key if pair.key in fields else _meant(pair.key, fields)
        fits = word in fields and _fits(pair.value, fields[word])
        if fits and word in _DECISIVE:
            return []
        if pair.key in _COMMON:
            continue
        if fits and word not in _COMMON:
            own += 1
        elif fits or (pair.key not in fields and suggest.homes(pair.key, ROOTS[kind], kind)):
            displaced += 1
        else:
            strange.append(pair.key)
    if own:
        return strange if own * _OUTWEIGHED <= len(strange) else []
    return strange if displaced <= len(strange) else []


def _meant(key: str, fields: dict[str, tuple[Any, ...]]) -> str:
    near = suggest.nearest(key, fields)
    return near.word if near else ""


def _fits(node: Node, shape: tuple[Any, ...]) -> bool:
    """Whether a value has the form of a shape: a section by one of its keys, a list by its first entries."""
    value = follow(node)
    match shape:
        case ("section", name):
            return _has_key(value, name)
        case ("keyed", _, *names):
            return any(_has_key(value, name) for name in names)
        case ("list", entry, _):
            entries = value.items[:_LOOKED_AT] if isinstance(value, Sequence) else (node,)
            return all(_fits(one, entry) for one in entries)
        case ("dict", *_):
            return isinstance(value, Mapping)
        case _:
            return isinstance(value, Scalar)


def _has_key(value: Node | None, section: str) -> bool:
    return isinstance(value, Mapping) and any(pair.key in SECTIONS[section][2] for pair in pairs(value))
