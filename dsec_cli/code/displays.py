"""Lists and dictionaries as they are written, through `*` and `**`: entries by key, and all that they hold.

A display may hold itself (`c = {**c, "a": 1}`), or hold another twice, which holds a third twice: each one
is entered once per question, without recursion, and the number of them is bounded.
"""

from __future__ import annotations

import ast

from dsec.record import Record
from dsec_cli.code.abstract import TOO_MANY, Const, Shape, Text, Unknown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.code.abstract import Value
    from dsec_cli.code.evaluate import Evaluator
    from dsec_cli.code.symbols import Scope

MOST_DISPLAYS = 256
"""Displays that one is put together from, by `*` and `**`."""
MOST_COMPUTED = 64
"""Keys of one dictionary that are no constants, and are compared one by one."""
MOST_ITEMS = 64
TOO_MANY_PARTS = Unknown("it is put together from too many parts")


class Part(Record):
    """One entry or item: a key where there is one, and whether `*` or `**` stands in front of the value."""

    key: ast.expr | str | None
    value: ast.expr
    spread: bool


class Place(Record):
    """A part, and the scope that it is to be read in."""

    part: Part
    scope: Scope


class Hits(Record):
    """What a key was found to lead to."""

    entries: tuple[tuple[ast.expr, Scope], ...]
    others: tuple[Value, ...]
    """What `**` lays over them that is no display: it may hold the key, too."""


class Table:
    """The entries of a dictionary by key, so that reading many of a large one takes no long search."""

    __slots__ = ("computed", "constant", "spreads")

    def __init__(self, node: ast.expr) -> None:
        self.constant: dict[tuple[type, object], tuple[int, ast.expr]] = {}
        self.computed: list[tuple[int, ast.expr, ast.expr]] = []
        self.spreads: list[tuple[int, ast.expr]] = []
        for at, part in enumerate(parts(node)):
            if part.spread:
                self.spreads.append((at, part.value))
            elif isinstance(part.key, ast.Constant):
                self.constant[_key(part.key.value)] = (at, part.value)
            elif isinstance(part.key, str):
                self.constant[_key(part.key)] = (at, part.value)
            elif part.key is not None:
                self.computed.append((at, part.key, part.value))


def parts(node: ast.expr) -> Iterator[Part]:
    """What a display holds, in order; nothing of what is none."""
    if isinstance(node, ast.Dict):
        for key, value in zip(node.keys, node.values, strict=True):
            yield Part(key, value, spread=key is None)
    elif isinstance(node, ast.List | ast.Tuple | ast.Set):
        for one in node.elts:
            starred = isinstance(one, ast.Starred)
            yield Part(None, one.value if isinstance(one, ast.Starred) else one, spread=starred)
    elif isinstance(node, ast.Call):  # dict(other, name=value, **others)
        for one in node.args[:1]:
            yield Part(None, one, spread=True)
        for keyword in node.keywords:
            yield Part(keyword.arg, keyword.value, spread=keyword.arg is None)


def word(key: ast.expr | str | None) -> str:
    """The text that a key is; "" where it is none, or not known."""
    if isinstance(key, ast.Constant):
        key = key.value if isinstance(key.value, str) else None
    return key if isinstance(key, str) else ""


def is_dictionary(node: ast.expr) -> bool:
    """Whether a display has keys."""
    return isinstance(node, ast.Dict | ast.Call)


def flattened(ev: Evaluator, shape: Shape) -> Iterator[Place | Value]:
    """Every part of a display and of those that it spreads; values of what is spread and is no display."""
    seen = {(shape.node, shape.scope)}
    stack = [(parts(shape.node), shape.scope)]
    while stack:
        part = next(stack[-1][0], None)
        scope = stack[-1][1]
        if part is None:
            stack.pop()
        elif not part.spread:
            yield Place(part, scope)
        else:
            for other in ev.values(part.value, scope):
                if not isinstance(other, Shape) or _is_made_by_loop(other.node):
                    yield other
                elif len(seen) > MOST_DISPLAYS:
                    yield TOO_MANY_PARTS
                elif (other.node, other.scope) not in seen:
                    seen.add((other.node, other.scope))
                    stack.append((parts(other.node), other.scope))


def _is_made_by_loop(node: ast.expr) -> bool:
    return isinstance(node, ast.ListComp | ast.SetComp | ast.GeneratorExp)


def find(ev: Evaluator, shape: Shape, keys: tuple[Value, ...]) -> Hits:
    """The entries that any of `keys` may lead to; every one where a key is not known."""
    plain = [_plain(key) for key in keys]
    entries: list[tuple[ast.expr, Scope]] = []
    others: list[Value] = []
    waiting, seen = [shape], {(shape.node, shape.scope)}
    while waiting:
        here = waiting.pop()
        if not is_dictionary(here.node):
            others.append(here)
            continue
        table = ev.table(here.node)
        latest = -1
        for at, value in _matching(ev, table, here.scope, plain):
            latest = max(latest, at)
            entries.append((value, here.scope))
        found = len(entries)
        for at, node in reversed(table.spreads):
            for other in ev.values(node, here.scope):
                if not isinstance(other, Shape):
                    others += (other,) if at > latest or not found else ()
                elif len(seen) > MOST_DISPLAYS:
                    others.append(TOO_MANY_PARTS)
                elif (other.node, other.scope) not in seen:
                    seen.add((other.node, other.scope))
                    waiting.append(other)
    return Hits(tuple(entries), tuple(dict.fromkeys(others)))


def _matching(
    ev: Evaluator, table: Table, scope: Scope, plain: list[object]
) -> Iterator[tuple[int, ast.expr]]:
    if None in plain:
        yield from table.constant.values()
        yield from ((at, value) for at, _, value in table.computed)
        return
    for key in plain:
        found = table.constant.get(_key(key))
        if found is not None:
            yield found
    wanted = [Text(key) if isinstance(key, str) else Const(key) for key in plain]
    for at, node, value in table.computed[:MOST_COMPUTED]:
        if any(one in wanted or isinstance(one, Unknown) for one in ev.values(node, scope)):
            yield at, value
    if len(table.computed) > MOST_COMPUTED:
        yield from ((at, value) for at, _, value in table.computed[MOST_COMPUTED : MOST_COMPUTED + 2])


def _plain(key: Value) -> object:
    """The constant that a key is; None where it is not known."""
    return key.text if isinstance(key, Text) else key.value if isinstance(key, Const) else None


def _key(value: object) -> tuple[type, object]:
    return type(value), value


def items(ev: Evaluator, shape: Shape) -> Iterator[Place | Value]:
    """What a loop over the display meets, as far as the limit; beyond it, that there are too many."""
    for count, one in enumerate(flattened(ev, shape)):
        if count == MOST_ITEMS:
            yield TOO_MANY
            return
        yield one
