"""Fixes that add to a list of the contract, and to the sections around it that do not exist yet."""

from __future__ import annotations

from dsec_cli.diagnostics import Edit, Fix
from dsec_cli.lint.edits import appended, inserted
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.lint.rule import Facts
    from dsec_cli.source.tree import Path

STAND_IN = "ITEM"
"""A plain word in place of YAML that is put in as it is; edits of scalars would quote that."""


def addition(facts: Facts, path: Path, item: str) -> tuple[Fix, ...]:
    """A fix that puts `item` (YAML in flow style) into the list at `path`; none where nobody can say how.

    It lets the job do more, so it is never applied unasked.
    """
    edits, value = appended(facts, path, STAND_IN), item
    for depth in range(len(path) - 1, -1, -1):
        if edits or facts.states(path[: depth + 1]):
            break
        value = _nested(path[depth + 1 :], item)
        edits = inserted(facts, path[:depth], str(path[depth]), STAND_IN)
    if not edits:
        return ()
    put = tuple(Edit(edit.span, edit.text.replace(STAND_IN, value)) for edit in edits)
    return (Fix(say("add {item}", item=item), put, safe=False),)


def _nested(keys: Path, item: str) -> str:
    value = f"[{item}]"
    for key in reversed(keys):
        value = f"{{{key}: {value}}}"
    return value
