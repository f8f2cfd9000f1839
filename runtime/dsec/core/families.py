"""Metrics in the form that Prometheus reads: families of lines with a name, a kind and a help text."""

from __future__ import annotations

from dsec.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import TypeAlias

    Labels: TypeAlias = tuple[tuple[str, str], ...]
    Value: TypeAlias = tuple[str, Labels, float | int | None]
    """Suffix of the name, labels, and the value; None: not known."""

MOST_STEPS = 200
OTHER = "other"
"""What Steps beyond the first MOST_STEPS are called together."""
_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n"})


class Family(Record):
    """One metric with all its lines."""

    name: str
    kind: str
    help: str
    values: tuple[Value, ...]


def text(family: Family) -> str:
    """The lines of a family; "" where nothing of it is known."""
    name = family.name
    lines = [
        f"{name}{suffix}{_labels(labels)} {_number(value)}\n"
        for suffix, labels, value in family.values
        if value is not None
    ]
    if not lines:
        return ""
    told = family.help.replace("\\", "\\\\").replace("\n", "\\n")
    return f"# HELP {name} {told}\n# TYPE {name} {family.kind}\n{''.join(lines)}"


def _labels(labels: Labels) -> str:
    if not labels:
        return ""
    return "{" + ",".join(f'{name}="{value.translate(_ESCAPES)}"' for name, value in labels) + "}"


def _number(value: float) -> str:
    if isinstance(value, int):
        return str(int(value))
    if value != value:
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "+Inf" if value > 0 else "-Inf"
    return repr(value)


def one(name: str, kind: str, told: str, value: float | int | None) -> Family:
    """A family of one line."""
    return Family(name, kind, told, (("", (), value),))


def by(
    name: str, kind: str, told: str, label: str, values: Iterable[tuple[str, float | int | None]]
) -> Family:
    """A family with a line for each value of a label."""
    return Family(name, kind, told, tuple(("", ((label, key),), value) for key, value in values))
