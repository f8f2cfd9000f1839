"""The fast structural checker: located tree in, typed values and findings out, by a table.

What pydantic would say of the document (a test holds the two together), said with places and in
words, at the cost of walking the tree once. A wrong value is None, and a finding of its own.
"""

from __future__ import annotations

from dsec.record import Record
from dsec.units import UnitProblem
from dsec_cli.contract import complaints, quantities
from dsec_cli.contract.forms import FORMS
from dsec_cli.contract.table import ROOTS, SECTIONS
from dsec_cli.diagnostics import Finding
from dsec_cli.source.resolve import MERGE, follow, pairs, resolve
from dsec_cli.source.tree import Alias, Document, Mapping, Node, Path, Scalar, Sequence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Shape = tuple[Any, ...]
    Values = dict[str, object]


class Command(Record):
    """Text of a command, and whether it is a block scalar, which makes it a shell script."""

    text: str
    script: bool


class Checked(Record):
    """What a document states: typed values by key (None where wrong), and the findings."""

    values: Values
    findings: list[Finding]


def check(document: Document, kind: str) -> Checked:
    """Check a document of a kind (`contract.kinds`) against the language; all findings at once."""
    reading = _Reading(kind, whole=not document.gaps)
    node = follow(document.root)
    if node is None:
        return Checked({}, reading.findings)
    values = _section(reading, node, ("section", ROOTS[kind]), ())
    return Checked(values or {}, reading.findings)


def root_keys(root: Node | None) -> frozenset[str]:
    """The keys that a document has, right or wrong."""
    node = follow(root)
    return frozenset(pair.key for pair in pairs(node)) if isinstance(node, Mapping) else frozenset()


def _value(node: Node) -> bool | int | float | str | None:
    """Value of a scalar; None for everything else."""
    return resolve(node)[1] if isinstance(node, Scalar) else None


class _Reading:
    """One pass over one document; collects its findings."""

    __slots__ = ("findings", "kind", "whole")

    def __init__(self, kind: str, *, whole: bool) -> None:
        self.kind = kind
        self.whole = whole
        """All of the text could be read, so what is not there is missing."""
        self.findings: list[Finding] = []

    def read(self, node: Node, shape: Shape, at: Path) -> object:
        """The value of a node of the given shape, or None and a finding."""
        if isinstance(node, Alias):
            followed = follow(node)
            if followed is None:
                return None
            node = followed
        return _READERS[shape[0]](self, node, shape, at)

    def wrong(self, node: Node, at: Path, want: str) -> None:
        """Report a node of the wrong type; where text could not be read, an empty place is none."""
        value = _value(node)
        if not self.whole and isinstance(node, Scalar) and not node.text and value is None:
            return
        self.findings.append(complaints.wrong_type(node, value, at, want))


def _section(reading: _Reading, node: Node, shape: Shape, at: Path) -> Values | None:
    _, required, fields = SECTIONS[shape[1]]
    if not isinstance(node, Mapping):
        reading.wrong(node, at, f"a mapping with keys such as {', '.join(list(fields)[:3])}")
        return None
    values: Values = {}
    whole = reading.whole
    entries = pairs(node)
    where: complaints.Where | None = None
    for key, key_node, value, _ in entries:
        inner = fields.get(key)
        if inner is not None:
            values[key] = reading.read(value, inner, (*at, key))
        elif key == MERGE and follow(value) is None:
            whole = False
        else:
            if where is None:
                taken = frozenset(pair.key for pair in entries)
                where = complaints.Where(shape[1], reading.kind, taken)
            reading.findings.append(complaints.unknown_key(key, key_node, (*at, key), where))
    if len(entries) != len(node.entries):
        reading.findings.extend(_nameless(node))
    for key in required:
        if key not in values and whole:
            reading.findings.append(complaints.missing_key(key, at, kind=reading.kind))
    return values


def _nameless(mapping: Mapping) -> list[Finding]:
    """Keys that are collections: no section can have them."""
    keys = [entry.key for entry in mapping.entries]
    return [complaints.key_not_text(key.span) for key in keys if isinstance(follow(key), Sequence | Mapping)]


def _keyed(reading: _Reading, node: Node, shape: Shape, at: Path) -> Values | None:
    """One of two sections, told apart by a key that only the first has."""
    first = isinstance(node, Mapping) and any(pair.key == shape[1] for pair in pairs(node))
    return _section(reading, node, ("section", shape[2] if first else shape[3]), at)


def _either(reading: _Reading, node: Node, shape: Shape, at: Path) -> object:
    """One of several shapes, told apart by the kind of node."""
    place = 1 if isinstance(node, Scalar) else 2 if isinstance(node, Sequence) else 3
    if shape[place]:
        return reading.read(node, shape[place], at)
    reading.wrong(node, at, " or ".join(_want(inner) for inner in shape[1:] if inner))
    return None


def _list(reading: _Reading, node: Node, shape: Shape, at: Path) -> list[object] | None:
    if not isinstance(node, Sequence):
        reading.wrong(node, at, "a list")
        return None
    if len(node.items) < shape[2]:
        reading.findings.append(complaints.too_few(at, shape[2]))
    return [reading.read(item, shape[1], (*at, index)) for index, item in enumerate(node.items)]


def _dict(reading: _Reading, node: Node, shape: Shape, at: Path) -> Values | None:
    if not isinstance(node, Mapping):
        reading.wrong(node, at, "a mapping")
        return None
    values: Values = {}
    for key, _, value, _ in pairs(node):
        if not FORMS[shape[1][1]].accepts(key):
            reading.findings.append(complaints.bad_form(key, (*at, key), shape[1][1], part="key"))
        values[key] = reading.read(value, shape[2], (*at, key))
    return values


def _free(reading: _Reading, node: Node, shape: Shape, at: Path) -> Mapping | None:
    """A mapping whose content is not ours to judge."""
    if isinstance(node, Mapping):
        return node
    reading.wrong(node, at, _want(shape))
    return None


def _text(reading: _Reading, node: Node, shape: Shape, at: Path) -> str | None:
    if not isinstance(node, Scalar) or not isinstance(_value(node), str):
        reading.wrong(node, at, _want(shape))
        return None
    if not node.text:
        reading.findings.append(complaints.empty_text(at, _want(shape)))
        return None
    return node.text


def _command(reading: _Reading, node: Node, shape: Shape, at: Path) -> Command | None:
    text = _text(reading, node, shape, at)
    if text is None or not isinstance(node, Scalar):
        return None
    return Command(text, node.style in ("literal", "folded"))


def _written(reading: _Reading, node: Node, shape: Shape, at: Path) -> str | None:
    """Any scalar but null, as it is written."""
    if isinstance(node, Scalar) and _value(node) is not None:
        return node.text
    reading.wrong(node, at, _want(shape))
    return None


def _form(reading: _Reading, node: Node, shape: Shape, at: Path) -> str | None:
    """Text of a named form; kept when wrong, so that an id still finds those who need it."""
    form = FORMS[shape[1]]
    if not isinstance(node, Scalar) or not isinstance(_value(node), str):
        reading.wrong(node, at, form.says)
        return node.text if isinstance(node, Scalar) and _value(node) is not None else None
    if not form.accepts(node.text):
        reading.findings.append(complaints.bad_form(node.text, at, shape[1]))
    return node.text or None


def _enum(reading: _Reading, node: Node, shape: Shape, at: Path) -> str | None:
    legal: tuple[str, ...] = shape[1]
    value = _value(node)
    if not isinstance(node, Scalar) or value is None:
        reading.wrong(node, at, f"one of {', '.join(legal)}")
        return None
    if value in legal:
        return node.text
    reading.findings.append(complaints.not_in_enum(node, at, legal))
    return None


def _bool(reading: _Reading, node: Node, shape: Shape, at: Path) -> bool | None:
    value = _value(node)
    if isinstance(value, bool):
        return value
    reading.wrong(node, at, _want(shape))
    return None


def _whole(reading: _Reading, node: Node, shape: Shape, at: Path) -> int | None:
    value = _value(node)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool):
        reading.wrong(node, at, _want(shape))
        return None
    return value if _within(reading, node, shape, at, value=value) else None


def _number(reading: _Reading, node: Node, shape: Shape, at: Path) -> int | float | None:
    value = _value(node)
    if not isinstance(value, int | float) or isinstance(value, bool):
        reading.wrong(node, at, _want(shape))
        return None
    return value if _within(reading, node, shape, at, value=value) else None


def _within(reading: _Reading, node: Node, shape: Shape, at: Path, *, value: int | float) -> bool:
    if shape[1] <= value <= shape[2]:
        return True
    above = f", at most {shape[2]}" if value > shape[2] >= _NO_LIMIT else ""
    reading.findings.append(complaints.out_of_range(node, value, at, _want(shape) + above))
    return False


def _quantity(reading: _Reading, node: Node, shape: Shape, at: Path) -> object:
    value = _value(node)
    if not isinstance(node, Scalar) or value is None or isinstance(value, bool):
        reading.wrong(node, at, _want(shape))
        return None
    try:
        return quantities.read(shape[1], node.text)
    except UnitProblem as problem:
        reading.findings.append(complaints.bad_quantity(at, shape[1], problem, text=node.text))
        return None


def _want(shape: Shape) -> str:
    """What a shape asks for, in words."""
    kind = shape[0]
    if kind in ("whole", "number"):
        word = "a whole number" if kind == "whole" else "a number"
        most = f" and at most {shape[2]}" if shape[2] < _NO_LIMIT else ""
        return f"{word}, at least {shape[1]}{most}"
    if kind == "form":
        return FORMS[shape[1]].says
    if kind == "quantity":
        return f"{complaints.with_article(shape[1])} such as {quantities.example(shape[1])}"
    return _WANTS.get(kind, "a mapping")


_NO_LIMIT = 1_000_000
"""Bounds from here on only keep numbers sane and are not worth a word."""

_WANTS = {
    "text": "text",
    "command": "text, the command",
    "written": "a single value",
    "bool": "true or false",
    "list": "a list",
}

_READERS: dict[str, Callable[[_Reading, Node, Shape, Path], object]] = {
    "section": _section,
    "keyed": _keyed,
    "either": _either,
    "list": _list,
    "dict": _dict,
    "free": _free,
    "text": _text,
    "command": _command,
    "written": _written,
    "form": _form,
    "enum": _enum,
    "bool": _bool,
    "whole": _whole,
    "number": _number,
    "quantity": _quantity,
}
