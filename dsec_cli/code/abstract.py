"""What an expression can be, as far as reading tells: texts with holes, displays, things made and unknown."""

from __future__ import annotations

from dsec.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    import ast
    from collections.abc import Iterable

    from dsec_cli.code.symbols import Class, Function, Module, Scope

HOLE = "\ufdd0"
"""Stands in a text for a part that is not known; no character at all, by Unicode's own word."""
MOST_VALUES = 16
MOST_BITS = 1024
"""Of a number that is written out: Python itself refuses to write a few thousand digits."""


class Text(Record):
    """A string; `why` says why there are holes in it.

    `variable` is the environment variable that fills a hole, or whose default the string is.
    """

    text: str
    why: str = ""
    variable: str = ""


class FilePath(Record):
    """A `pathlib` path."""

    text: str
    why: str = ""
    variable: str = ""


class Const(Record):
    """A number, a truth value, bytes or None."""

    value: object


class Shape(Record):
    """A list, tuple, set, dictionary or `dict(...)` as it is written."""

    node: ast.expr
    scope: Scope


class Symbol(Record):
    """Something outside the project, by its dotted name: `requests.get`."""

    name: str


class Made(Record):
    """What calling something outside the project gave; `call` is None where only the type is known."""

    name: str
    call: ast.Call | None
    scope: Scope | None


class Method(Record):
    """Something of a value that is not the project's: `requests.Session().get` of that session."""

    name: str
    receiver: Value


class Bound(Record):
    """A function of the project, with the instance or class it was taken from."""

    function: Function
    owner: Value | None


class ClassOf(Record):
    """A class of the project."""

    cls: Class


class Instance(Record):
    """An object of a class of the project; `call` is None where it is not known which."""

    cls: Class
    call: ast.Call | None
    scope: Scope | None


class ModuleOf(Record):
    """A module of the project."""

    module: Module


class Unknown(Record):
    """It cannot be known, and why."""

    why: str
    variable: str = ""


class Choice(Record):
    """One of several things that go together: a call of a function, a round of a loop, a made object."""

    what: object
    """The Function, the loop's expression, or the Class whose objects are made in several places."""


Value = (
    Text | FilePath | Const | Shape | Symbol | Made | Method | Bound | ClassOf | Instance | ModuleOf | Unknown
)
Values = tuple[Value, ...]

TOO_MANY = Unknown(f"it has more than {MOST_VALUES} possible values")


def distinct(values: Iterable[Value]) -> Values:
    """Each value once, in order; what is beyond the limit becomes one unknown."""
    found: dict[tuple[type, Value], None] = {}
    for value in values:
        found[type(value), value] = None
        if len(found) > MOST_VALUES:
            return (*(one for _, one in list(found)[: MOST_VALUES - 1]), TOO_MANY)
    return tuple(one for _, one in found)


def as_text(value: Value) -> Text:
    """How a value reads inside a text."""
    if isinstance(value, Text):
        return value
    if isinstance(value, FilePath):
        return Text(*value)
    if isinstance(value, Const):
        number = value.value
        if isinstance(number, int) and number.bit_length() > MOST_BITS:
            return Text(HOLE, "it is a number of too many digits")
        return Text(str(number)[:1000])
    if isinstance(value, Unknown):
        return Text(HOLE, value.why, value.variable)
    return Text(HOLE, "it is computed")


def joined(parts: list[Values], between: str = "") -> Values:
    """All texts that one value of each part makes; too many become a text with a hole."""
    made: tuple[Text, ...] = (Text(""),)
    for at, part in enumerate(parts):
        choices = distinct(as_text(value) for value in part) or (Text(HOLE, "it depends on itself"),)
        if len(made) * len(choices) > MOST_VALUES:
            choices = (Text(HOLE, TOO_MANY.why),)
        glue = between if at else ""
        made = tuple(_glued(left, glue, as_text(right)) for left in made for right in choices)
    return distinct(made)


def _glued(left: Text, glue: str, right: Text) -> Text:
    text = left.text + glue + right.text
    if len(text) > 4000:
        text = text[:4000] + HOLE
    # A variable whose default stands behind the host does not say where the call goes.
    decides = HOLE in right.text or not left.text or left.text.endswith("://")
    return Text(text, left.why or right.why, left.variable or (right.variable if decides else ""))
