"""Variables of a dvc.yaml: those it states, and those of the parameter files beside it."""

from __future__ import annotations

from dsec_cli.importing.kind import ImportProblem
from dsec_cli.importing.tables import Table, documents, span_of
from dsec_cli.source.resolve import plain_value
from dsec_cli.source.tree import Mapping, Scalar
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.importing.kind import Beside
    from dsec_cli.source.resolve import Value
    from dsec_cli.source.text import SourceText

DEFAULT = "params.yaml"
READABLE = (".yaml", ".yml", ".json")


def file_names(source: SourceText) -> tuple[str, ...]:
    """Parameter files that a dvc.yaml reads its variables from, if they lie beside it or below."""
    from dsec_cli.importing.notes import Notes

    try:
        roots = documents(source)
    except ImportProblem:
        return ()  # told when the file itself is read
    table = Table(source, roots[0], Notes()) if roots else None
    items = () if table is None else table.items("vars")
    named = [item.text.partition(":")[0] for item in items if isinstance(item, Scalar)]
    return tuple(dict.fromkeys(name for name in (DEFAULT, *named) if _is_near(name)))


def _is_near(name: str) -> bool:
    return name.endswith(READABLE) and not name.startswith("/") and ".." not in name.split("/")


def context_of(table: Table, beside: Beside, before: dict[str, Value]) -> dict[str, Value]:
    """`before` and what `vars` of the table adds."""
    context = dict(before)
    for item in table.items("vars"):
        if isinstance(item, Mapping):
            found = plain_value(item)
            assert isinstance(found, dict)
            context = _merged(context, found)
        elif isinstance(item, Scalar):
            name, _, keys = item.text.partition(":")
            values = file_values(name, beside, table)
            if values is None:
                why = "no such YAML or JSON file beside it, so its values are not known"
                table.notes.left(table.source, span_of(item), f"vars: {item.text}", why)
                continue
            wanted = [key.strip() for key in keys.split(",")] if keys else list(values)
            context = _merged(context, {key: values[key] for key in wanted if key in values})
    return context


def file_values(name: str, beside: Beside, table: Table) -> dict[str, Value] | None:
    """What a parameter file holds; None where there is none, or it cannot be read."""
    if name not in beside:
        return None
    try:
        roots = documents(beside[name])
    except ImportProblem as problem:
        table.notes.left(table.source, table.span("vars"), say("file {name}", name=name), problem.what)
        return None
    found = plain_value(roots[0]) if roots else {}
    assert isinstance(found, dict)
    return found


def _merged(one: dict[str, Value], two: dict[str, Value]) -> dict[str, Value]:
    """Mappings of the same name are joined, everything else is replaced."""
    joined = dict(one)
    for key, value in two.items():
        old = joined.get(key)
        joined[key] = {**old, **value} if isinstance(old, dict) and isinstance(value, dict) else value
    return joined
