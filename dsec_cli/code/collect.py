"""One pass over a module's tree, without recursion: names, scopes, and every call that may matter."""

from __future__ import annotations

import ast

from dsec_cli.code.project import absolute
from dsec_cli.code.symbols import (
    ADD,
    CLASS,
    DEF,
    ENTER,
    IMPORT,
    ITEM,
    PARAM,
    UNKNOWN,
    VALUE,
    Binding,
    Class,
    Function,
    Imported,
    Module,
    Scope,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_FLAT = frozenset(
    ("ctx", "op", "ops", "id", "attr", "arg", "name", "names", "kind", "level", "conversion", "lineno")
) | {"type_comment", "type_ignores", "is_async", "simple", "rest", "kwd_attrs", "tag", "str"}
"""Fields that hold no code."""
_LEAVES = frozenset(
    (ast.Constant, ast.MatchSingleton, str, int, bool, type(None), ast.Pass, ast.Break, ast.Continue)
)
_FIELDS: dict[type, tuple[str, ...]] = {
    kind: tuple(name for name in reversed(kind._fields) if name not in _FLAT)
    for kind in vars(ast).values()
    if isinstance(kind, type) and issubclass(kind, ast.AST)
}
_MARKS = ("type", "function", "name", "input_schema")
"""Keys that tell a dictionary that describes a tool."""


def collect(module: Module, tree: ast.Module) -> None:
    """Fill `module` from its tree."""
    walk = _Walk(module)
    walk.push(tree.body, module.scope)
    while walk.stack:
        node, scope = walk.stack.pop()
        _HANDLERS.get(type(node), _children)(walk, node, scope)


class _Walk:
    """What is still to be visited; the last is the next."""

    __slots__ = ("module", "stack")

    def __init__(self, module: Module) -> None:
        self.module = module
        self.stack: list[tuple[ast.AST, Scope]] = []

    def push(self, nodes: Iterable[ast.AST], scope: Scope) -> None:
        """Visit these next, in their order."""
        rows = [(node, scope) for node in nodes if node.__class__ not in _LEAVES]
        rows.reverse()
        self.stack += rows

    def bind(self, scope: Scope, name: str, binding: Binding) -> None:
        """Add a binding of `name`, where `global` or `nonlocal` sends it."""
        while scope.kind == "comprehension" and scope.outer is not None and binding.kind == VALUE:
            scope = scope.outer  # a walrus belongs to the function around
        target = scope
        if name in scope.elsewhere:
            target = self.module.scope if scope.elsewhere[name] else scope.outer or scope
        target.bindings.setdefault(name, []).append(binding)


def _children(walk: _Walk, node: ast.AST, scope: Scope) -> None:
    stack = walk.stack
    for name in _FIELDS[node.__class__]:
        value = getattr(node, name, None)
        if value.__class__ is list:
            stack += [(item, scope) for item in reversed(value) if item.__class__ not in _LEAVES]
        elif value.__class__ not in _LEAVES:
            stack.append((value, scope))  # type: ignore[arg-type]


def _bottom(node: ast.expr) -> ast.expr:
    while isinstance(node, ast.Attribute):
        node = node.value
    return node


def _name(walk: _Walk, node: ast.Name, scope: Scope) -> None:
    if node.ctx.__class__ is ast.Load:
        walk.module.names.append((node, scope))


def _attribute(walk: _Walk, node: ast.Attribute, scope: Scope) -> None:
    if node.ctx.__class__ is ast.Load:
        walk.module.attributes.append((node, scope))
    bottom = _bottom(node)
    if bottom.__class__ is not ast.Name:
        walk.push((bottom,), scope)


def _call(walk: _Walk, node: ast.Call, scope: Scope) -> None:
    walk.module.calls.append((node, scope))
    walk.push((keyword.value for keyword in node.keywords), scope)
    walk.push(node.args, scope)
    bottom = _bottom(node.func)
    if bottom.__class__ is not ast.Name:
        walk.push((bottom,), scope)


def _subscript(walk: _Walk, node: ast.Subscript, scope: Scope) -> None:
    walk.module.subscripts.append((node, scope))
    walk.push((node.slice,), scope)
    bottom = _bottom(node.value)
    if bottom.__class__ is not ast.Name:
        walk.push((bottom,), scope)


def _compare(walk: _Walk, node: ast.Compare, scope: Scope) -> None:
    last = node.comparators[-1]
    if (
        len(node.ops) == 1
        and isinstance(node.ops[0], ast.In | ast.NotIn)
        and isinstance(last, ast.Attribute | ast.Name)
    ):
        walk.module.tests.append((node.left, last, scope))
        walk.push((node.left,), scope)
        return
    _children(walk, node, scope)


def _either(walk: _Walk, node: ast.BoolOp, scope: Scope) -> None:
    if isinstance(node.op, ast.Or):
        walk.module.fallbacks[node.values[0]] = node.values[-1]
    _children(walk, node, scope)


def _dict(walk: _Walk, node: ast.Dict, scope: Scope) -> None:
    if any(isinstance(key, ast.Constant) and key.value in _MARKS for key in node.keys):
        walk.module.dicts.append((node, scope))
    _children(walk, node, scope)


def _targets(
    walk: _Walk, target: ast.expr, binding: Binding, scope: Scope, *, path: tuple[int, ...] = ()
) -> None:
    """Bind every name of an assignment's left side."""
    if isinstance(target, ast.Name):
        walk.bind(scope, target.id, _at(binding, path))
    elif isinstance(target, ast.Tuple | ast.List):
        starred = False
        for at, item in enumerate(target.elts):
            starred = starred or isinstance(item, ast.Starred)
            inner = item.value if isinstance(item, ast.Starred) else item
            _targets(walk, inner, binding, scope, path=(*path, -1 if starred else at))
    elif isinstance(target, ast.Attribute):
        _on_self(target, _at(binding, path), scope)
        walk.push((_bottom(target),), scope)
    elif isinstance(target, ast.Subscript):
        if isinstance(target.value, ast.Name) and binding.kind == VALUE and not path:
            rows = scope.stores.setdefault(target.value.id, [])
            rows.append((target.slice, binding.what, scope))  # type: ignore[arg-type]
        walk.push((target,), scope)


def _at(binding: Binding, path: tuple[int, ...]) -> Binding:
    return (
        Binding(binding.kind, binding.what, binding.scope, path=path, note=binding.note) if path else binding
    )


def _on_self(target: ast.Attribute, binding: Binding, scope: Scope) -> None:
    """`self.name = value` inside a method."""
    function = scope.function
    if function is None or function.cls is None or not isinstance(target.value, ast.Name):
        return
    first = [*function.node.args.posonlyargs, *function.node.args.args][:1]
    if first and first[0].arg == target.value.id:
        function.cls.attributes.setdefault(target.attr, []).append(binding)


def _assign(walk: _Walk, node: ast.Assign, scope: Scope) -> None:
    walk.push((node.value,), scope)
    for target in node.targets:
        _targets(walk, target, Binding(VALUE, node.value, scope), scope)


def _annotated(walk: _Walk, node: ast.AnnAssign, scope: Scope) -> None:
    kind, what = (UNKNOWN, "it has no value here") if node.value is None else (VALUE, node.value)
    if node.value is not None:
        walk.push((node.value,), scope)
    _targets(walk, node.target, Binding(kind, what, scope, note=node.annotation), scope)


def _augmented(walk: _Walk, node: ast.AugAssign, scope: Scope) -> None:
    walk.push((node.value,), scope)
    _targets(walk, node.target, Binding(ADD, node.value, scope), scope)


def _walrus(walk: _Walk, node: ast.NamedExpr, scope: Scope) -> None:
    walk.push((node.value,), scope)
    _targets(walk, node.target, Binding(VALUE, node.value, scope), scope)


def _loop(walk: _Walk, node: ast.For | ast.AsyncFor, scope: Scope) -> None:
    _targets(walk, node.target, Binding(ITEM, node.iter, scope), scope)
    walk.push((node.iter, *node.body, *node.orelse), scope)


def _with(walk: _Walk, node: ast.With | ast.AsyncWith, scope: Scope) -> None:
    walk.push(node.body, scope)
    for item in node.items:
        walk.module.entered.append((item.context_expr, scope))
        walk.push((item.context_expr,), scope)
        if item.optional_vars is not None:
            _targets(walk, item.optional_vars, Binding(ENTER, item.context_expr, scope), scope)


def _caught(walk: _Walk, node: ast.ExceptHandler, scope: Scope) -> None:
    if node.name:
        walk.bind(scope, node.name, Binding(UNKNOWN, "it is an exception", scope))
    _children(walk, node, scope)


def _pattern(walk: _Walk, node: ast.MatchAs | ast.MatchStar, scope: Scope) -> None:
    if node.name:
        walk.bind(scope, node.name, Binding(UNKNOWN, "a pattern binds it", scope))
    _children(walk, node, scope)


def _comprehension(
    walk: _Walk, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp, scope: Scope
) -> None:
    inner = Scope("comprehension", walk.module, scope, function=scope.function, cls=scope.cls)
    walk.module.inner[node] = inner
    parts: list[ast.expr] = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
    for part in node.generators:
        _targets(walk, part.target, Binding(ITEM, part.iter, inner), inner)
        parts += [part.iter, *part.ifs]
    walk.push(parts, inner)


def _lambda(walk: _Walk, node: ast.Lambda, scope: Scope) -> None:
    inner = Scope("comprehension", walk.module, scope, function=scope.function, cls=scope.cls)
    for argument in _arguments(node.args):
        inner.bindings[argument.arg] = [Binding(UNKNOWN, f"{argument.arg} is a lambda's parameter", inner)]
    walk.push((*node.args.defaults, *(one for one in node.args.kw_defaults if one is not None)), scope)
    walk.push((node.body,), inner)


def _arguments(args: ast.arguments) -> list[ast.arg]:
    extra = [one for one in (args.vararg, args.kwarg) if one is not None]
    return [*args.posonlyargs, *args.args, *args.kwonlyargs, *extra]


def _function(walk: _Walk, node: ast.FunctionDef | ast.AsyncFunctionDef, scope: Scope) -> None:
    cls = scope.cls if scope.kind == "class" else None
    holder = cls.name if cls else scope.function.name if scope.function else walk.module.name
    function = Function(f"{holder}.{node.name}".lstrip("."), node, scope, cls)
    walk.module.functions.append(function)
    walk.bind(scope, node.name, Binding(DEF, function, scope))
    for at, argument in enumerate(_arguments(node.args)):
        special = argument in (node.args.vararg, node.args.kwarg)
        kind, what = (UNKNOWN, f"*{argument.arg} takes any arguments") if special else (PARAM, function)
        binding = Binding(kind, what, function.scope, path=(at,), note=argument.annotation)
        function.scope.bindings[argument.arg] = [binding]
    walk.push(node.body, function.scope)
    walk.push((one for one in node.args.kw_defaults if one is not None), scope)
    walk.push((*node.decorator_list, *node.args.defaults), scope)


def _class(walk: _Walk, node: ast.ClassDef, scope: Scope) -> None:
    holder = scope.cls.name if scope.cls else scope.function.name if scope.function else walk.module.name
    cls = Class(f"{holder}.{node.name}".lstrip("."), node, scope)
    walk.module.classes.append(cls)
    walk.bind(scope, node.name, Binding(CLASS, cls, scope))
    walk.push(node.body, cls.scope)
    walk.push((*node.decorator_list, *node.bases, *(one.value for one in node.keywords)), scope)


def _import(walk: _Walk, node: ast.Import, scope: Scope) -> None:
    for alias in node.names:
        name = alias.asname or alias.name.partition(".")[0]
        module = alias.name if alias.asname else name
        walk.module.imported.add(name)
        walk.bind(scope, name, Binding(IMPORT, Imported(module, None), scope))


def _import_from(walk: _Walk, node: ast.ImportFrom, scope: Scope) -> None:
    module = absolute(walk.module.path, node.module, node.level)
    if node.level:
        module = f".{module}"  # the leading dot says: counted from the project's folder, not searched
    for alias in node.names:
        if alias.name == "*":
            walk.module.stars.append(module)
            continue
        name = alias.asname or alias.name
        walk.module.imported.add(name)
        walk.bind(scope, name, Binding(IMPORT, Imported(module, alias.name), scope))


def _elsewhere(walk: _Walk, node: ast.Global | ast.Nonlocal, scope: Scope) -> None:
    for name in node.names:
        scope.elsewhere[name] = isinstance(node, ast.Global)


def _return(walk: _Walk, node: ast.Return, scope: Scope) -> None:
    if node.value is not None:
        if scope.function is not None:
            scope.function.returns.append((node.value, scope))
        walk.push((node.value,), scope)


def _yield(walk: _Walk, node: ast.Yield | ast.YieldFrom, scope: Scope) -> None:
    if scope.function is not None:
        scope.function.generator = True
    _children(walk, node, scope)


_HANDLERS: dict[type, Callable[..., None]] = {
    ast.Name: _name, ast.Attribute: _attribute, ast.Call: _call, ast.Subscript: _subscript,
    ast.Compare: _compare, ast.BoolOp: _either, ast.Dict: _dict, ast.Assign: _assign,
    ast.AnnAssign: _annotated, ast.AugAssign: _augmented, ast.NamedExpr: _walrus, ast.For: _loop,
    ast.AsyncFor: _loop, ast.With: _with, ast.AsyncWith: _with, ast.ExceptHandler: _caught,
    ast.MatchAs: _pattern, ast.MatchStar: _pattern, ast.ListComp: _comprehension,
    ast.SetComp: _comprehension, ast.GeneratorExp: _comprehension, ast.DictComp: _comprehension,
    ast.Lambda: _lambda, ast.FunctionDef: _function, ast.AsyncFunctionDef: _function,
    ast.ClassDef: _class, ast.Import: _import, ast.ImportFrom: _import_from, ast.Global: _elsewhere,
    ast.Nonlocal: _elsewhere, ast.Return: _return, ast.Yield: _yield, ast.YieldFrom: _yield,
}  # fmt: skip
