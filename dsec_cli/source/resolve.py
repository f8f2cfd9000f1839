"""What a node means: YAML 1.2 core scalars, aliases and merge keys, without losing where it was written."""

from __future__ import annotations

from dsec.record import Record
from dsec_cli.source.tree import Alias, Entry, Mapping, Node, Problem, Scalar, Sequence
from dsec_cli.words import say

_NULL = frozenset(("", "~", "null", "Null", "NULL"))
_TRUE = frozenset(("true", "True", "TRUE"))
_FALSE = frozenset(("false", "False", "FALSE"))
_INFINITE = frozenset((".inf", ".Inf", ".INF"))
_NAN = frozenset((".nan", ".NaN", ".NAN"))
_BASES = {"0o": (8, frozenset("01234567")), "0x": (16, frozenset("0123456789abcdefABCDEF"))}
_MAY_START_OTHER = frozenset("0123456789+-.~ntfNTF")
"""First characters of everything that is not a string: most scalars are decided by this."""
_MOST_DIGITS = 4000
"""Longer integers take quadratic time to read, and Python refuses them from 4300 on."""
_CORE = "tag:yaml.org,2002:"

MERGE = "<<"

Value = bool | int | float | str | list["Value"] | dict[str, "Value"] | None


class Pair(Record):
    """One entry of a mapping as it counts, after merge keys and duplicates."""

    key: str
    key_node: Scalar
    value: Node
    """As written: an alias is not followed."""
    merged: bool
    """Comes from a merge key, so it is written in another mapping."""


def resolve(scalar: Scalar) -> tuple[str, bool | int | float | str | None]:
    """Kind (`null`, `bool`, `int`, `float`, `str`) and value of a scalar.

    An explicit core tag decides where the text fits it; unknown tags make strings. An integer of
    thousands of digits is a float (infinite where it exceeds one).
    """
    text, tag = scalar.text, scalar.tag
    if tag is None:
        return ("str", text) if scalar.style != "plain" else _plain(text)
    kind, value = _plain(text)
    if tag == _CORE + kind:
        return kind, value
    if tag == _CORE + "float" and isinstance(value, int) and not isinstance(value, bool):
        return "float", float(value)
    return "str", text


def is_text(scalar: Scalar) -> bool:
    """Whether a scalar is a string; told at the first character of most."""
    if scalar.tag is None:
        if scalar.style != "plain":
            return True
        if scalar.text and scalar.text[0] not in _MAY_START_OTHER:
            return True
    return resolve(scalar)[0] == "str"


def _plain(text: str) -> tuple[str, bool | int | float | str | None]:
    if text and text[0] not in _MAY_START_OTHER:
        return "str", text
    if text in _NULL:
        return "null", None
    if text in _TRUE or text in _FALSE:
        return "bool", text in _TRUE
    return _number(text)


def _number(text: str) -> tuple[str, int | float | str]:
    """By hand: importing `re` costs two thirds of an interpreter start."""
    unsigned = text[1:] if text[0] in "+-" else text
    if unsigned in _INFINITE:
        return "float", float(text.replace(".", "").lower())
    if text in _NAN:
        return "float", float("nan")
    if not text.isascii():
        return "str", text
    if unsigned.isdigit():
        return ("int", int(text)) if len(text) <= _MOST_DIGITS else ("float", float(text))
    if text[:2] in _BASES:
        return _based(text)
    return ("float", float(text)) if _is_float(unsigned) else ("str", text)


def _based(text: str) -> tuple[str, int | float | str]:
    base, digits = _BASES[text[:2]]
    if len(text) == 2 or not digits.issuperset(text[2:]):
        return "str", text
    return "int", int(text[2:], base)


def _is_float(unsigned: str) -> bool:
    mantissa, mark, exponent = unsigned.replace("E", "e").partition("e")
    if mark and not (exponent[1:] if exponent[:1] in ("+", "-") else exponent).isdigit():
        return False
    whole, _, fraction = mantissa.partition(".")
    return (whole + fraction).isdigit() and (not whole or whole.isdigit())


def follow(node: Node | None) -> Scalar | Sequence | Mapping | None:
    """The node that is meant: an alias's anchored node, None where that cannot be known."""
    while isinstance(node, Alias):
        node = node.target
    return node


def pairs(mapping: Mapping) -> tuple[Pair, ...]:
    """Effective entries: own keys in document order (the last of duplicates), then merged ones.

    A merged key gives way to an own key and to an earlier merge source. Keys that are no scalars
    are left out.
    """
    if mapping.pairs is None:
        mapping.pairs = tuple(map(_own, mapping.entries)) if mapping.plain else _effective(mapping)
    return mapping.pairs


def _own(entry: Entry) -> Pair:
    key, value = entry
    assert isinstance(key, Scalar)  # the mapping is a plain one
    return Pair._make((key.text, key, value, False))


def _effective(mapping: Mapping) -> tuple[Pair, ...]:
    found: dict[str, Pair] = {}
    sources: list[Mapping] = []
    for entry in mapping.entries:
        if is_merge(entry):
            sources.extend(merge_sources(entry.value))
            continue
        key = follow(entry.key)
        if isinstance(key, Scalar):
            found[key.text] = Pair(key.text, key, entry.value, merged=False)
    for source in sources:
        for pair in pairs(source):
            if pair.key not in found:
                found[pair.key] = pair._replace(merged=True)
    return tuple(found.values())


def is_merge(entry: Entry) -> bool:
    """True for a plain `<<` key whose value can be merged; a quoted one is an ordinary key."""
    key = entry.key
    return (
        isinstance(key, Scalar)
        and key.text == MERGE
        and key.style == "plain"
        and isinstance(follow(entry.value), Mapping | Sequence)
    )


def merge_sources(value: Node) -> tuple[Mapping, ...]:
    """Mappings that a merge value names, the strongest first; other things are left out."""
    node = follow(value)
    if isinstance(node, Mapping):
        return (node,)
    if isinstance(node, Sequence):
        return tuple(item for item in map(follow, node.items) if isinstance(item, Mapping))
    return ()


def plain_value(node: Node | None) -> Value:
    """Value for free-form parts, as JSON would hold it; what is unknown becomes None."""
    match follow(node):
        case None:
            return None
        case Scalar() as scalar:
            return resolve(scalar)[1]
        case Sequence(items=items):
            values: list[Value] = []
            for item in items:
                values.append(plain_value(item))  # noqa: PERF401 - a comprehension doubles the stack depth
            return values
        case Mapping() as mapping:
            table: dict[str, Value] = {}
            for pair in pairs(mapping):
                table[pair.key] = plain_value(pair.value)
            return table


def key_problems(mapping: Mapping) -> list[Problem]:
    """Duplicate keys (DS003), and merge keys that are doubled or without full effect (DS004)."""
    problems: list[Problem] = []
    first: dict[str, Scalar] = {}
    merge: Entry | None = None
    for entry in mapping.entries:
        key = entry.key
        if is_merge(entry):
            if merge is not None:
                problems.append(_second_merge(entry, merge))
            merge = merge or entry
            problems.extend(_overridden(entry, first))
        elif isinstance(key, Scalar):
            if key.text in first:
                problems.append(_duplicate(key, first[key.text]))
            else:
                first[key.text] = key
    return problems


def _duplicate(key: Scalar, first: Scalar) -> Problem:
    return Problem(
        "DS003",
        key.span,
        say("duplicate key `{key}`: the value above is lost", "duplicate", key=key.text),
        say("remove one of the two"),
        ((first.span, say("first here")),),
    )


def _second_merge(entry: Entry, first: Entry) -> Problem:
    return Problem(
        "DS004",
        entry.key.span,
        say("second merge key `<<` in one mapping: parsers disagree about it", "second-merge"),
        say("merge both with one key: `<<: [*a, *b]`"),
        ((first.key.span, say("first here")),),
    )


def _overridden(entry: Entry, own: dict[str, Scalar]) -> list[Problem]:
    """Merged keys that have no effect although a reader from top to bottom expects one."""
    problems: list[Problem] = []
    given: dict[str, Pair] = {}
    for source in merge_sources(entry.value):
        for pair in pairs(source):
            if pair.key in own:
                why = say("stands above the merge key")
                problems.append(_shadowed(entry, pair, own[pair.key], why))
            elif pair.key in given:
                why = say("comes from an earlier source")
                problems.append(_shadowed(entry, pair, given[pair.key].key_node, why))
            else:
                given[pair.key] = pair
    return problems


def _shadowed(entry: Entry, pair: Pair, winner: Scalar, why: str) -> Problem:
    return Problem(
        "DS004",
        entry.key.span,
        say("merged key `{key}` has no effect: `{key}` {why}", "no-effect", key=pair.key, why=why),
        say("write `<<` first and the keys that differ after it, or remove one of the two"),
        ((winner.span, say("this one counts")), (pair.key_node.span, say("this one does not"))),
    )
