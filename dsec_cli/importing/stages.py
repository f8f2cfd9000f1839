"""Stages of a dvc.yaml one by one: `foreach` and `matrix` are written out, each with its variables."""

from __future__ import annotations

import itertools

from dsec.record import Record
from dsec_cli.importing.kind import ImportProblem
from dsec_cli.importing.tables import Table
from dsec_cli.importing.templates import MISSING, lookup, whole
from dsec_cli.importing.variables import context_of
from dsec_cli.source.resolve import plain_value
from dsec_cli.source.tree import Mapping
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.importing.kind import Beside
    from dsec_cli.source.resolve import Value
    from dsec_cli.source.tree import Node

MOST = 10_000
"""Stages that one dvc.yaml may become."""


class Stage(Record):
    """One stage with the variables that its texts may name."""

    name: str
    declared: str
    """As the file has it, without the item of a foreach."""
    table: Table
    context: dict[str, Value]


def stages(declared: Table, context: dict[str, Value], beside: Beside) -> Iterator[Stage]:
    """Every stage in the order of the file; raises ImportProblem where they are too many."""
    count = 0
    for name, table in declared.tables():
        for stage in _written_out(name, table, context_of(table, beside, context)):
            count += 1
            if count > MOST:
                raise ImportProblem(
                    say(
                        "{name} has more than {most:,} stages, foreach and matrix written out",
                        name=table.source.name,
                        most=MOST,
                    ),
                    hint="split the file",
                )
            yield stage


def _written_out(name: str, table: Table, context: dict[str, Value]) -> Iterator[Stage]:
    if "foreach" in table.rows:
        inner = table.table("do")
        if inner is None:
            table.left("foreach", "there is no stage below do")
            return
        for label, variables in _each(table, context):
            yield _stage(name, label, inner, {**context, **variables})
        table.close({})
    elif "matrix" in table.rows:
        for label, variables in _product(table, context):
            yield _stage(name, label, table, {**context, **variables})
    else:
        table.label = name
        yield Stage(name, name, table, context)


def _stage(name: str, label: str, table: Table, context: dict[str, Value]) -> Stage:
    fresh = Table(table.source, table.mapping, table.notes, label=name)
    fresh.drop("matrix")
    return Stage(f"{name}@{label}", name, fresh, context)


def _value(table: Table, key: str, context: dict[str, Value], node: Node | None) -> object:
    """A value as it stands, or the one that `${name}` names."""
    value = plain_value(node)
    expression = whole(value) if isinstance(value, str) else ""
    if not expression:
        return value
    found = lookup(expression, context)
    if found is MISSING:
        table.left(key, say("no variable is called {expression}", expression=expression))
        return None
    return found


def _each(table: Table, context: dict[str, Value]) -> Iterator[tuple[str, dict[str, Value]]]:
    value = _value(table, "foreach", context, table.take("foreach"))
    if isinstance(value, dict):
        for key, item in value.items():
            yield key, {"key": key, "item": item}
    elif isinstance(value, list):
        for at, item in enumerate(value):
            yield (str(at) if isinstance(item, (dict, list)) else _label(item)), {"item": item}
    elif value is not None:
        table.left("foreach", "a list or a mapping is expected")


def _label(item: object) -> str:
    return str(item).lower() if isinstance(item, bool) else str(item)


def _product(table: Table, context: dict[str, Value]) -> Iterator[tuple[str, dict[str, Value]]]:
    node = table.take("matrix")
    axes: dict[str, list[Value]] = {}
    if isinstance(node, Mapping):
        inner = Table(table.source, node, table.notes, label=table.label)
        for key, row in inner.rows.items():
            value = _value(table, "matrix", context, row.value)
            axes[key] = value if isinstance(value, list) else []
    if not axes or not all(axes.values()):
        table.left("matrix", "a mapping of lists is expected")
        return
    for row_of in itertools.product(*(enumerate(values) for values in axes.values())):
        words = [
            f"{key}{at}" if isinstance(item, (dict, list)) else _label(item)
            for key, (at, item) in zip(axes, row_of, strict=True)
        ]
        yield "-".join(words), {"item": {key: item for key, (_, item) in zip(axes, row_of, strict=True)}}
