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
from dsec_cli.source.resolve import MERGE, follow, is_text, pairs, resolve
from dsec_cli.source.tree import Alias, Document, Mapping, Node, Path, Scalar, Sequence
from dsec_cli.words import joined, say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from dsec_cli.contract.memory import Memory

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


def check(document: Document, kind: str, memory: Memory | None = None) -> Checked:
    """Check a document of a kind (`contract.kinds`) against the language; all findings at once."""
    reading = _Reading(kind, whole=not document.gaps, memory=memory)
    node = follow(document.root)
    if node is None:
        return Checked({}, reading.findings)
    return Checked(_fields(reading, node, ROOTS[kind], ()) or {}, reading.findings)


def root_keys(root: Node | None) -> frozenset[str]:
    """The keys that a document has, right or wrong."""
    node = follow(root)
    return frozenset(pair.key for pair in pairs(node)) if isinstance(node, Mapping) else frozenset()


def _value(node: Node) -> bool | int | float | str | None:
    """Value of a scalar; None for everything else."""
    return resolve(node)[1] if isinstance(node, Scalar) else None


class _Reading:
    """One pass over one document; collects its findings."""

    __slots__ = ("findings", "kind", "memory", "quantities", "whole")

    def __init__(self, kind: str, *, whole: bool, memory: Memory | None) -> None:
        self.kind = kind
        self.memory = memory
        self.whole = whole
        """All of the text could be read, so what is not there is missing."""
        self.findings: list[Finding] = []
        self.quantities: dict[tuple[str, str], object] = {}
        """What is known to be right, by kind and text: a contract says `30s` in many places."""

    def read(self, node: Node, shape: Shape, at: Path, part: str | int) -> object:
        """The value of the node under `part` of the one at `at`, or None and a finding."""
        if isinstance(node, Alias):
            followed = follow(node)
            if followed is None:
                return None
            node = followed
        return _READERS[shape[0]](self, node, shape, at, part)

    def wrong(self, node: Node, at: Path, want: str) -> None:
        """Report a node of the wrong type; where text could not be read, an empty place is none."""
        value = _value(node)
        if not self.whole and isinstance(node, Scalar) and not node.text and value is None:
            return
        self.findings.append(complaints.wrong_type(node, value, at, want))


def _section(reading: _Reading, node: Node, shape: Shape, at: Path, part: str | int) -> Values | None:
    return _fields(reading, node, shape[1], (*at, part))


def _fields(reading: _Reading, node: Node, name: str, at: Path) -> Values | None:
    """The values of the section called `name` that stands at `at`."""
    _, required, fields = SECTIONS[name]
    if not isinstance(node, Mapping):
        keys = ", ".join(list(fields)[:3])
        reading.wrong(node, at, say("a mapping with keys such as {keys}", keys=keys))
        return None
    values: Values = {}
    whole = reading.whole
    where: complaints.Where | None = None
    for key_node, value in _stated(node):
        key = key_node.text
        inner = fields.get(key)
        if inner is not None:
            values[key] = (
                reading.read(value, inner, at, key)
                if type(value) is Alias
                else _READERS[inner[0]](reading, value, inner, at, key)
            )
        elif key == MERGE and follow(value) is None:
            whole = False
        else:
            where = where or _where(reading, node, name)
            reading.findings.append(complaints.unknown_key(key, key_node, (*at, key), where, value))
    if not node.plain and len(pairs(node)) != len(node.entries):
        reading.findings.extend(_nameless(node))
    for key in required:
        if key not in values and whole:
            reading.findings.append(
                complaints.missing_key(key, at, kind=reading.kind, section=name, called=values.get("name"))
            )
    return values


def _where(reading: _Reading, node: Mapping, name: str) -> complaints.Where:
    taken = {pair.key for pair in pairs(node)}
    return complaints.Where(name, reading.kind, tuple(key for key in SECTIONS[name][2] if key not in taken))


def _stated(node: Mapping) -> Iterable[tuple[Scalar, Node]]:
    """Keys and values as they count: in nearly all mappings, as they are written."""
    if node.plain:
        return node.entries  # type: ignore[return-value]  # all keys of a plain mapping are scalars
    return [(pair.key_node, pair.value) for pair in pairs(node)]


def _nameless(mapping: Mapping) -> list[Finding]:
    """Keys that are collections: no section can have them."""
    keys = [entry.key for entry in mapping.entries]
    return [complaints.key_not_text(key.span) for key in keys if isinstance(follow(key), Sequence | Mapping)]


def _keyed(reading: _Reading, node: Node, shape: Shape, at: Path, part: str | int) -> Values | None:
    """One of two sections, told apart by a key that only the first has."""
    first = isinstance(node, Mapping) and any(pair.key == shape[1] for pair in pairs(node))
    return _fields(reading, node, shape[2] if first else shape[3], (*at, part))


def _either(reading: _Reading, node: Node, shape: Shape, at: Path, part: str | int) -> object:
    """One of several shapes, told apart by the kind of node."""
    place = 1 if isinstance(node, Scalar) else 2 if isinstance(node, Sequence) else 3
    if shape[place]:
        return reading.read(node, shape[place], at, part)
    reading.wrong(node, (*at, part), joined(" or ", [_want(inner) for inner in shape[1:] if inner]))
    return None


def _list(reading: _Reading, node: Node, shape: Shape, at: Path, part: str | int) -> list[object] | None:
    if not isinstance(node, Sequence):
        reading.wrong(node, (*at, part), _want(shape))
        return None
    here = (*at, part)
    if len(node.items) < shape[2]:
        reading.findings.append(complaints.too_few(here, shape[2]))
    inner = shape[1]
    if reading.memory is not None and here == ("steps",):
        return reading.memory.values(
            node.items, reading.kind, lambda item, at: reading.read(item, inner, here, at), reading.findings
        )
    return [reading.read(item, inner, here, index) for index, item in enumerate(node.items)]


def _dict(reading: _Reading, node: Node, shape: Shape, at: Path, part: str | int) -> Values | None:
    if not isinstance(node, Mapping):
        reading.wrong(node, (*at, part), _want(shape))
        return None
    here = (*at, part)
    accepts = FORMS[shape[1][1]].accepts
    values: Values = {}
    for key_node, value in _stated(node):
        key = key_node.text
        if not accepts(key):
            reading.findings.append(complaints.bad_form(key, (*here, key), shape[1][1], part="key"))
        values[key] = reading.read(value, shape[2], here, key)
    return values


def _free(reading: _Reading, node: Node, shape: Shape, at: Path, part: str | int) -> Mapping | None:
    """A mapping whose content is not ours to judge."""
    if isinstance(node, Mapping):
        return node
    reading.wrong(node, (*at, part), _want(shape))
    return None


def _text(reading: _Reading, node: Node, shape: Shape, at: Path, part: str | int) -> str | None:
    if not isinstance(node, Scalar) or not is_text(node):
        reading.wrong(node, (*at, part), _want(shape))
        return None
    if not node.text:
        reading.findings.append(complaints.empty_text((*at, part), _want(shape)))
        return None
    return node.text


def _command(reading: _Reading, node: Node, shape: Shape, at: Path, part: str | int) -> Command | None:
    text = _text(reading, node, shape, at, part)
    if text is None or not isinstance(node, Scalar):
        return None
    return Command._make((text, node.style in ("literal", "folded")))


def _written(reading: _Reading, node: Node, shape: Shape, at: Path, part: str | int) -> str | None:
    """Any scalar but null, as it is written."""
    if isinstance(node, Scalar) and (is_text(node) or _value(node) is not None):
        return node.text
    reading.wrong(node, (*at, part), _want(shape))
    return None


def _form(reading: _Reading, node: Node, shape: Shape, at: Path, part: str | int) -> str | None:
    """Text of a named form; kept when wrong, so that an id still finds those who need it."""
    form = FORMS[shape[1]]
    if not isinstance(node, Scalar) or not is_text(node):
        reading.wrong(node, (*at, part), form.says)
        return node.text if isinstance(node, Scalar) and _value(node) is not None else None
    if not form.accepts(node.text):
        reading.findings.append(complaints.bad_form(node.text, (*at, part), shape[1]))
    return node.text or None


def _enum(reading: _Reading, node: Node, shape: Shape, at: Path, part: str | int) -> str | None:
    legal: tuple[str, ...] = shape[1]
    value = _value(node)
    if not isinstance(node, Scalar) or value is None:
        reading.wrong(node, (*at, part), say("one of {words}", words=", ".join(legal)))
        return None
    if value in legal:
        return node.text
    reading.findings.append(complaints.not_in_enum(node, (*at, part), legal))
    return None


def _bool(reading: _Reading, node: Node, shape: Shape, at: Path, part: str | int) -> bool | None:
    value = _value(node)
    if isinstance(value, bool):
        return value
    reading.wrong(node, (*at, part), _want(shape))
    return None


def _whole(reading: _Reading, node: Node, shape: Shape, at: Path, part: str | int) -> int | None:
    value = _value(node)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool):
        reading.wrong(node, (*at, part), _want(shape))
        return None
    return value if _within(reading, node, shape, (*at, part), value=value) else None


def _number(reading: _Reading, node: Node, shape: Shape, at: Path, part: str | int) -> int | float | None:
    value = _value(node)
    if not isinstance(value, int | float) or isinstance(value, bool):
        reading.wrong(node, (*at, part), _want(shape))
        return None
    return value if _within(reading, node, shape, (*at, part), value=value) else None


def _within(reading: _Reading, node: Node, shape: Shape, at: Path, *, value: int | float) -> bool:
    if shape[1] <= value <= shape[2]:
        return True
    want = _want(shape)
    if value > shape[2] >= _NO_LIMIT:
        want = say("{want}, at most {most}", want=want, most=shape[2])
    reading.findings.append(complaints.out_of_range(node, value, at, want))
    return False


def _quantity(reading: _Reading, node: Node, shape: Shape, at: Path, part: str | int) -> object:
    if isinstance(node, Scalar):
        known = reading.quantities.get((shape[1], node.text))
        if known is not None and node.tag is None:
            return known
    value = _value(node)
    if not isinstance(node, Scalar) or value is None or isinstance(value, bool):
        reading.wrong(node, (*at, part), _want(shape))
        return None
    try:
        found = quantities.read(shape[1], node.text)
    except UnitProblem as problem:
        path = (*at, part)
        reading.findings.append(complaints.bad_quantity(path, shape[1], problem, text=node.text))
        return None
    reading.quantities[shape[1], node.text] = found
    return found


def _want(shape: Shape) -> str:
    """What a shape asks for, in words."""
    kind = shape[0]
    if kind in ("whole", "number"):
        word = say("a whole number") if kind == "whole" else say("a number")
        most = say(" and at most {most}", most=shape[2]) if shape[2] < _NO_LIMIT else ""
        return say("{number}, at least {least}{most}", number=word, least=shape[1], most=most)
    if kind == "form":
        return FORMS[shape[1]].says
    if kind == "quantity":
        sample = quantities.example(shape[1])
        return say("{kind} such as {sample}", kind=complaints.with_article(shape[1]), sample=sample)
    return _WANTS.get(kind, _MAPPING)


_NO_LIMIT = 1_000_000
"""Bounds from here on only keep numbers sane and are not worth a word."""

_WANTS = {
    "text": say("text"),
    "command": say("text, the command"),
    "written": say("a single value"),
    "bool": say("true or false"),
    "list": say("a list"),
}
_MAPPING = say("a mapping")

_READERS: dict[str, Callable[[_Reading, Node, Shape, Path, str | int], object]] = {
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
