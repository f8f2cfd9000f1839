"""Follows values through a project: every expression gives the values that it can have, or says why not.

Nothing of the agent is run. Order of execution is not followed: a name has every value it is given
anywhere. Nodes, depth and values are budgeted, so that no text can make this endless.
"""

from __future__ import annotations

import ast

from dsec_cli.code import access, naming, results
from dsec_cli.code.abstract import (
    HOLE,
    Choice,
    Const,
    FilePath,
    Shape,
    Text,
    Unknown,
    Value,
    Values,
    as_text,
    distinct,
    joined,
)
from dsec_cli.code.displays import Table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from dsec_cli.code.project import Imports
    from dsec_cli.code.symbols import Binding, Class, Module, Scope

    _Answer = tuple[Values, frozenset[Choice]]
    _Store = tuple[ast.expr, ast.expr, Scope]

MOST_ALTERNATIVES = 64
MOST_DEPTH = 60
"""Steps from one expression to the next that its value depends on."""
STEPS, STEPS_PER_FILE, STEPS_PER_CALL = 50_000, 2_000, 20
STEPS_ON_TOP = 150_000
"""For files that come after one that took more than its share, all together."""

TOO_DEEP = Unknown("it is computed over too many steps")
TOO_LARGE = Unknown("the project is too large to follow everything")
COMPUTED = Unknown("it is computed")


class Evaluator:
    """The values of a project's expressions, each worked out once.

    A value that hangs on a choice can be asked for under one alternative of it (`during`), so that what
    belongs together stays together: the host and the port of one call, not of two.
    """

    def __init__(self, modules: dict[str, Module], imports: Imports, environment: Mapping[str, str]) -> None:
        self.modules = modules
        """By path."""
        self.imports = imports
        self.environment = environment
        """Variables whose values are given."""
        self.linking = True
        """Calls are still being matched with functions: what a caller passes is not known yet."""
        self.derived: dict[Class, list[Class]] = {}
        """Subclasses in the project, by class."""
        self.steps = STEPS + STEPS_PER_CALL * sum(len(module.calls) for module in modules.values())
        self._on_top = STEPS_ON_TOP
        self._counts: dict[Choice, tuple[int, int]] = {}
        """Number of alternatives of every choice that was met, and which was met first."""
        self._known: dict[tuple[object, Scope], _Answer] = {}
        self._framed: dict[frozenset[tuple[Choice, int]], dict[tuple[object, Scope], _Answer]] = {}
        self._fixed: dict[Choice, int] = {}
        self._frame: frozenset[tuple[Choice, int]] = frozenset()
        self._touched: list[set[Choice]] = [set()]
        self._pairs: dict[tuple[ast.expr, ast.expr], ast.Tuple] = {}
        self._words: dict[str, ast.Constant] = {}
        self._tables: dict[ast.expr, Table] = {}
        self._stores: dict[tuple[Scope, str], dict[object, list[_Store]]] = {}
        self._busy: set[tuple[object, Scope, frozenset[tuple[Choice, int]]]] = set()
        self._depth = 0
        self._cut = 0
        self._looped = 0
        self._passing: dict[tuple[object, Scope, frozenset[tuple[Choice, int]]], _Answer] = {}
        """Answers that were cut off for their depth, until the question that led there is answered: asked
        for again on each of two ways, they would be worked out twice at every level."""

    def allow(self, module: Module) -> None:
        """Give one file its share of the steps, whatever those before it took."""
        share = STEPS_PER_FILE + STEPS_PER_CALL * len(module.calls)
        more = min(max(share - self.steps, 0), self._on_top)
        self._on_top -= more
        self.steps = max(self.steps, 0) + more

    def spend(self, steps: int) -> None:
        """Count work that is no question of its own."""
        self.steps -= steps

    def forget(self) -> None:
        """Callers are known from here on."""
        self.linking = False
        self._known.clear()
        self._framed.clear()

    def values(self, node: ast.expr, scope: Scope) -> Values:
        """What `node`, read in `scope`, can be."""
        return self.once(node, scope, lambda: _KINDS.get(type(node), _computed)(self, node, scope))

    def once(self, key: object, scope: Scope, work: Callable[[], Iterable[Value]]) -> Values:
        """The answer to a question, from memory where it has been asked; () when it depends on itself."""
        found = self._remembered((key, scope))
        if found is not None:
            return found
        mark = (key, scope, self._frame)
        if mark in self._busy:
            self._cut += 1
            self._looped += 1
            return ()
        if mark in self._passing:
            answer, choices = self._passing[mark]
            self._touched[-1] |= choices
            self._cut += 1
            self.steps -= 1
            return answer
        if self._depth > MOST_DEPTH or self.steps <= 0:
            self._cut += 1
            return (TOO_DEEP if self.steps > 0 else TOO_LARGE,)
        self.steps -= 1
        before, looped = self._cut, self._looped
        self._busy.add(mark)
        self._depth += 1
        self._touched.append(set())
        try:
            answer = distinct(work())
        except RecursionError:  # MOST_DEPTH prevents it, unless the caller's own stack is deep already
            if self._depth > 1:
                raise
            self._cut += 1
            answer = (TOO_DEEP,)
        finally:
            self._depth -= 1
            self._busy.discard(mark)
            touched = self._touched.pop()
            self._touched[-1] |= touched
        if self._cut == before or not self._depth:
            self._remember((key, scope), answer, touched)
        elif self._looped == looped:
            self._passing[mark] = (answer, frozenset(touched))
        if not self._depth:
            self._passing.clear()
        return answer

    def _remembered(self, mark: tuple[object, Scope]) -> Values | None:
        found = self._known.get(mark)
        if self._fixed and (found is None or not found[1].isdisjoint(self._fixed)):
            found = self._framed.get(self._frame, {}).get(mark)
        if found is None:
            return None
        if found[1]:
            self._touched[-1] |= found[1]
        return found[0]

    def _remember(self, mark: tuple[object, Scope], answer: Values, touched: set[Choice]) -> None:
        if touched.isdisjoint(self._fixed):
            self._known[mark] = (answer, frozenset(touched))
        else:
            self._framed.setdefault(self._frame, {})[mark] = (answer, frozenset(touched))

    def chosen(self, choice: Choice, count: int) -> int | None:
        """Which of `count` alternatives is to be taken; None: all of them."""
        if count < 2:
            return None
        self._counts.setdefault(choice, (count, len(self._counts)))
        self._touched[-1].add(choice)
        return self._fixed.get(choice)

    def during(self, choice: Choice, at: int | None, work: Callable[[], Iterable[Value]]) -> Values:
        """The answers of `work` under one alternative; under none in particular for None."""
        fixed, frame = self._fixed, self._frame
        self._fixed = {key: value for key, value in fixed.items() if key != choice}
        if at is not None:
            self._fixed[choice] = at
        self._frame = frozenset(self._fixed.items())
        self._touched.append(set())
        try:
            return tuple(work())
        finally:
            self._fixed, self._frame = fixed, frame
            touched = self._touched.pop()
            self._touched[-1] |= touched - {choice} if at is not None else touched

    def alternatives(self, work: Callable[[], None]) -> tuple[dict[Choice, int], ...]:
        """Run `work`; the alternatives under which it would have to be run for exact answers."""
        self._touched.append(set())
        work()
        rows: list[dict[Choice, int]] = [{}]
        for choice in sorted(self._touched.pop(), key=self._counts.__getitem__):
            count = self._counts[choice][0]
            if len(rows) * count > MOST_ALTERNATIVES:
                break
            rows = [{**row, choice: at} for row in rows for at in range(count)]
        return tuple(row for row in rows if row)

    def under(self, row: dict[Choice, int], work: Callable[[], None]) -> None:
        """Run `work` under these alternatives."""
        self._fixed, self._frame = row, frozenset(row.items())
        try:
            work()
        finally:
            self._fixed, self._frame = {}, frozenset()

    def of_module(self, module: Module, name: str) -> Values:
        """A name of a module, or a module below it; () when there is neither."""
        return naming.of_module(self, module, name) or naming.below_module(self, module, name)

    def bound(self, bindings: list[Binding]) -> Iterable[Value]:
        """What any of several bindings gives."""
        return naming.bound(self, bindings)

    def pair(self, key: ast.expr, value: ast.expr) -> ast.Tuple:
        """The tuple that a loop over a dictionary's items gives; one and the same each time."""
        if (key, value) not in self._pairs:
            self._pairs[key, value] = ast.Tuple(elts=[key, value], ctx=ast.Load())
        return self._pairs[key, value]

    def word(self, text: str) -> ast.Constant:
        """The constant that the name of a keyword is as a key; one and the same each time."""
        if text not in self._words:
            self._words[text] = ast.Constant(text)
        return self._words[text]

    def table(self, node: ast.expr) -> Table:
        """The entries of a dictionary as written, by key."""
        if node not in self._tables:
            self._tables[node] = Table(node)
        return self._tables[node]

    def stores(self, scope: Scope, name: str, keys: Iterable[object]) -> list[_Store]:
        """What `name[key] = value` in `scope` puts under these keys, or under a computed one."""
        found = self._stores.get((scope, name))
        if found is None:
            found = self._stores[scope, name] = {}
            for row in scope.stores.get(name, ()):
                # Numbers, texts and truth values are told apart later, when values are compared.
                key = row[0].value if isinstance(row[0], ast.Constant) else None
                found.setdefault(key, []).append(row)
        return [row for key in dict.fromkeys((*keys, None)) for row in found.get(key, ())]

    def texts(self, node: ast.expr, scope: Scope) -> tuple[Text, ...]:
        """What `node` reads as, when it is used as a text."""
        found = distinct(as_text(value) for value in self.values(node, scope))
        return tuple(as_text(one) for one in found) or (Text(HOLE, "it depends on itself"),)


def _computed(ev: Evaluator, node: ast.expr, scope: Scope) -> Values:
    return (COMPUTED,)


def _constant(ev: Evaluator, node: ast.Constant, scope: Scope) -> Values:
    if isinstance(node.value, bytes):
        return (Text(node.value.decode("utf-8", "replace")),)
    return (Text(node.value) if isinstance(node.value, str) else Const(node.value),)


def _name(ev: Evaluator, node: ast.Name, scope: Scope) -> Values:
    return naming.named(ev, node.id, scope)


def _attribute(ev: Evaluator, node: ast.Attribute, scope: Scope) -> Iterable[Value]:
    for base in ev.values(node.value, scope):
        yield from access.attribute(ev, base, node.attr)


def _subscript(ev: Evaluator, node: ast.Subscript, scope: Scope) -> Iterable[Value]:
    if isinstance(node.slice, ast.Slice):  # part of a list: any of its items can be meant
        yield from (one if isinstance(one, Shape) else COMPUTED for one in ev.values(node.value, scope))
        return
    keys = ev.values(node.slice, scope)
    put = list(access.stored(ev, node.value.id, keys, scope)) if isinstance(node.value, ast.Name) else []
    for base in ev.values(node.value, scope):
        for value in access.item(ev, base, keys):
            if value != access.NO_ENTRY or not put:
                yield value
    yield from put


def _call(ev: Evaluator, node: ast.Call, scope: Scope) -> Iterable[Value]:
    for target in ev.values(node.func, scope):
        yield from results.result(ev, target, node, scope)


def _template(ev: Evaluator, node: ast.JoinedStr, scope: Scope) -> Values:
    return joined([_piece(ev, part, scope) for part in node.values])


def _piece(ev: Evaluator, part: ast.expr, scope: Scope) -> Values:
    if not isinstance(part, ast.FormattedValue):
        return ev.values(part, scope)
    if part.format_spec is not None or part.conversion not in (-1, 115):
        return (Text(HOLE, "it is formatted"),)
    return ev.values(part.value, scope)


def _operation(ev: Evaluator, node: ast.BinOp, scope: Scope) -> Iterable[Value]:
    if isinstance(node.op, ast.Add):
        return _sum(ev, node, scope)
    if isinstance(node.op, ast.Div):
        return _quotient(ev, node, scope)
    if isinstance(node.op, ast.Mod):
        return _percent(ev, node, scope)
    if isinstance(node.op, ast.BitOr):  # a union of types, or of dictionaries
        return (*ev.values(node.left, scope), *ev.values(node.right, scope))
    return (COMPUTED,)


def _sum(ev: Evaluator, node: ast.BinOp, scope: Scope) -> Iterable[Value]:
    """`a + b + c`, however long, without a call per sign."""
    terms: list[ast.expr] = []
    left: ast.expr = node
    while isinstance(left, ast.BinOp) and isinstance(left.op, ast.Add):
        terms.append(left.right)
        left = left.left
    parts = [ev.values(term, scope) for term in (left, *reversed(terms))]
    flat = [value for part in parts for value in part]
    if any(isinstance(value, Text) for value in flat):
        return joined(parts)
    if any(isinstance(value, Shape) for value in flat):
        return flat  # lists laid end to end: any of their items can be meant
    numbers = [value.value for value in flat if isinstance(value, Const)]
    if len(numbers) == len(parts) == len(flat) and all(type(number) is int for number in numbers):
        return (Const(sum(number for number in numbers if isinstance(number, int))),)
    return (next((value for value in flat if isinstance(value, Unknown)), COMPUTED),)


def _quotient(ev: Evaluator, node: ast.BinOp, scope: Scope) -> Iterable[Value]:
    """`path / "part"`; nothing else is divided that could matter."""
    left = ev.values(node.left, scope)
    right = ev.values(node.right, scope)
    if not any(isinstance(value, FilePath) for value in (*left, *right)):
        return (next((value for value in left if isinstance(value, Unknown)), COMPUTED),)
    return (FilePath(*as_text(value)) for value in results.paths_joined([left, right]))


def _percent(ev: Evaluator, node: ast.BinOp, scope: Scope) -> Iterable[Value]:
    """`"https://%s/" % host`: each mark is filled in order, or becomes a hole."""
    right = ev.values(node.right, scope)
    given = [right]
    if len(right) == 1 and isinstance(right[0], Shape) and isinstance(right[0].node, ast.Tuple):
        given = [ev.values(item, right[0].scope) for item in right[0].node.elts]
    for value in ev.values(node.left, scope):
        if isinstance(value, Text):
            yield from results.filled(value, "%s", given)
        else:
            yield COMPUTED


def _choice(ev: Evaluator, node: ast.IfExp, scope: Scope) -> Values:
    return (*ev.values(node.body, scope), *ev.values(node.orelse, scope))


def _either(ev: Evaluator, node: ast.BoolOp, scope: Scope) -> Iterable[Value]:
    values = [value for part in node.values for value in ev.values(part, scope)]
    if not isinstance(node.op, ast.Or):
        return values
    # What counts as false gives way to what follows, and what follows a variable is its default.
    variable = next((value.variable for value in values if isinstance(value, Unknown)), "")
    return [
        Text(value.text, value.why, value.variable or variable) if isinstance(value, Text) else value
        for value in values
        if value not in (Const(None), Text("")) or value is values[-1]
    ]


def _awaited(ev: Evaluator, node: ast.Await | ast.Starred | ast.NamedExpr, scope: Scope) -> Values:
    return ev.values(node.value, scope)


def _display(ev: Evaluator, node: ast.expr, scope: Scope) -> Values:
    return (Shape(node, scope),)


def _negative(ev: Evaluator, node: ast.UnaryOp, scope: Scope) -> Iterable[Value]:
    for value in ev.values(node.operand, scope):
        number = value.value if isinstance(value, Const) else None
        yield Const(-number) if isinstance(node.op, ast.USub) and type(number) is int else COMPUTED


_KINDS: dict[type, Callable[..., Iterable[Value]]] = {
    ast.Constant: _constant, ast.Name: _name, ast.Attribute: _attribute, ast.Subscript: _subscript,
    ast.Call: _call, ast.JoinedStr: _template, ast.BinOp: _operation, ast.IfExp: _choice,
    ast.BoolOp: _either, ast.Await: _awaited, ast.Starred: _awaited, ast.NamedExpr: _awaited,
    ast.List: _display, ast.Tuple: _display, ast.Set: _display, ast.Dict: _display,
    ast.ListComp: _display, ast.SetComp: _display, ast.GeneratorExp: _display, ast.UnaryOp: _negative,
}  # fmt: skip
