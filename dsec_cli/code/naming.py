"""What a name means: through scopes, imports, parameters and the calls that fill them."""

from __future__ import annotations

import ast
import builtins

from dsec_cli.code import access
from dsec_cli.code.abstract import (
    HOLE,
    Bound,
    Choice,
    ClassOf,
    Const,
    FilePath,
    Instance,
    Made,
    ModuleOf,
    Symbol,
    Text,
    Unknown,
    Value,
    Values,
    distinct,
)
from dsec_cli.code.project import module_name
from dsec_cli.code.symbols import (
    ADD,
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
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from dsec_cli.code.evaluate import Evaluator
    from dsec_cli.code.symbols import Module, Scope

_BUILTIN = frozenset(dir(builtins))
MOST_CALLERS = 64
_FOLDERS = ("tempfile.TemporaryDirectory", "tempfile.mkdtemp")


def named(ev: Evaluator, name: str, scope: Scope) -> Values:
    """What `name` can be in `scope`."""
    home = holder(name, scope)
    if home is None:
        return ev.once(name, scope.module.scope, lambda: _outside(ev, name, scope.module))
    return ev.once(name, home, lambda: bound(ev, home.bindings[name]))


def holder(name: str, scope: Scope) -> Scope | None:
    """The scope whose binding of `name` is seen from `scope`."""
    at: Scope | None = scope
    while at is not None:
        if at.kind != "class" or at is scope:
            if name in at.elsewhere and at.outer is not None:
                at = at.module.scope if at.elsewhere[name] else at.outer
                continue
            if name in at.bindings:
                return at
        at = at.outer
    return None


def _outside(ev: Evaluator, name: str, module: Module) -> Iterable[Value]:
    """A name that the module does not bind: from `import *`, or Python's own."""
    if name == "__file__":
        return (Text(module.path),)
    if name == "__name__":
        return (Text(module.name), Text("__main__"))
    for star in module.stars:
        found = member(ev, module.path, Imported(star, name), missing=())
        if found:
            return found
    if name in _BUILTIN:
        return (Symbol(f"builtins.{name}"),)
    outside = [star for star in module.stars if _path(ev, module.path, star) is None]
    return [Symbol(f"{star}.{name}") for star in outside] or (Unknown(f"{name} is defined nowhere"),)


def _path(ev: Evaluator, importer: str, dotted: str) -> str | None:
    """The project's file that an import names."""
    if dotted.startswith("."):
        return ev.imports.path("", dotted[1:])
    return ev.imports.path(importer, dotted)


def member(ev: Evaluator, importer: str, what: Imported, *, missing: Values | None = None) -> Values:
    """What an import gives; `missing` when the project's module has no such name."""
    path = _path(ev, importer, what.module)
    if what.name is None:
        return (ModuleOf(ev.modules[path]),) if path in ev.modules else (Symbol(what.module.lstrip(".")),)
    if path in ev.modules:
        found = of_module(ev, ev.modules[path], what.name)
        if found:
            return found
    below = _path(ev, importer, f"{what.module}.{what.name}" if what.module != "." else f".{what.name}")
    if below in ev.modules:
        return (ModuleOf(ev.modules[below]),)
    if path in ev.modules:
        why = f"{what.name} is not found in {ev.modules[path].path}"
        return (Unknown(why),) if missing is None else missing
    dotted = what.module.lstrip(".")
    if missing is not None or path is not None:
        return missing if missing is not None else (Unknown(f"{path} could not be read"),)
    return (Symbol(f"{dotted}.{what.name}"),)


def of_module(ev: Evaluator, module: Module, name: str) -> Values:
    """A name of a module, seen from outside; () when it has none."""
    if name in module.scope.bindings:
        return named(ev, name, module.scope)
    for star in module.stars:
        found = ev.once(
            (name, star),
            module.scope,
            lambda star=star: member(ev, module.path, Imported(star, name), missing=()),  # type: ignore[misc]
        )
        if found:
            return found
    return ()


def below_module(ev: Evaluator, module: Module, name: str) -> Values:
    """`package.module` by attribute."""
    dotted = f"{module_name(module.path)}.{name}".lstrip(".")
    path = ev.imports.path("", dotted)
    return (ModuleOf(ev.modules[path]),) if path in ev.modules else ()


def bound(ev: Evaluator, bindings: list[Binding]) -> Iterable[Value]:
    """What any of several bindings of one name gives."""
    added = any(one.kind == ADD for one in bindings)
    telling = [one for one in bindings if one.kind != UNKNOWN] or bindings
    for binding in telling:
        if binding.kind == ADD:
            continue
        for value in meaning(ev, binding):
            yield value
            if added and isinstance(value, Text):
                yield Text(value.text + HOLE, value.why or "it is added to", value.variable)


def meaning(ev: Evaluator, binding: Binding) -> Iterable[Value]:
    """What one binding gives its name."""
    what = binding.what
    if binding.kind == IMPORT and isinstance(what, Imported):
        return member(ev, binding.scope.module.path, what)
    if binding.kind == PARAM and isinstance(what, Function):
        return _parameter(ev, what, binding)
    if isinstance(what, Function):
        return (Bound(what, None),)
    if isinstance(what, Class):
        return (ClassOf(what),)
    if binding.kind == UNKNOWN or not isinstance(what, ast.expr):
        return typed(ev, binding.note, binding.scope) or (Unknown(str(what)),)
    return _assigned(ev, binding, what)


def _assigned(ev: Evaluator, binding: Binding, what: ast.expr) -> Iterable[Value]:
    values = ev.values(what, binding.scope)
    if binding.kind == ITEM:
        values = access.elements(ev, values)
        only = ev.chosen(Choice(what), len(values))
        values = values if only is None else values[only : only + 1]
    elif binding.kind == ENTER:
        values = tuple(_entered(value) for value in values)
    for at in binding.path:
        values = access.part(ev, values, at)
    if binding.kind == VALUE and binding.note is not None and all(isinstance(v, Unknown) for v in values):
        return typed(ev, binding.note, binding.scope) or values
    return values


def _entered(value: Value) -> Value:
    """What `with value as name` gives: nearly always the value itself."""
    if isinstance(value, Made) and value.name in _FOLDERS:
        return Text(f"/tmp/{HOLE}", "it is a temporary folder")  # noqa: S108 # where Python makes them
    if isinstance(value, Bound):
        return Unknown("a context manager gives it")
    return value


def typed(ev: Evaluator, note: ast.expr | None, scope: Scope) -> Values:
    """A value of an annotation's type, where that says more than nothing."""
    if note is None or isinstance(note, ast.Constant):
        return ()
    if isinstance(note, ast.Subscript):  # Optional[X], Annotated[X, ...]: the first is what counts
        inner = note.slice.elts[0] if isinstance(note.slice, ast.Tuple) and note.slice.elts else note.slice
        outer = {v.name for v in ev.values(note.value, scope) if isinstance(v, Symbol)}
        return typed(ev, inner, scope) if outer & {"typing.Optional", "typing.Annotated"} else ()
    return tuple(made for value in ev.values(note, scope) for made in _of_type(value))


def _of_type(value: Value) -> Values:
    if isinstance(value, ClassOf):
        return (Instance(value.cls, None, None),)
    if isinstance(value, Symbol) and value.name.startswith("pathlib."):
        return (FilePath(HOLE, "only its type is known"),)
    if isinstance(value, Symbol) and not value.name.startswith(("builtins.", "typing.")):
        return (Made(value.name, None, None),)
    return ()


def _parameter(ev: Evaluator, function: Function, binding: Binding) -> Iterable[Value]:
    """Defaults, what every call gives, and unknown where somebody else may call."""
    at = binding.path[0]
    listed = [*function.node.args.posonlyargs, *function.node.args.args]
    if function.cls is not None and at == 0 and listed:
        owner = _own(function)
        if owner is not None:
            return (owner,)
    known = typed(ev, binding.note, function.outer)
    if ev.linking:
        return known or (Unknown("callers are not known yet"),)
    values = _from_callers(ev, function, at)
    if known and all(isinstance(value, Unknown) or value == Const(None) for value in values):
        return known
    return values


def _from_callers(ev: Evaluator, function: Function, at: int) -> Values:
    callers = function.callers[:MOST_CALLERS]
    outside = _outsiders(function, at)
    choice = Choice(function)
    only = ev.chosen(choice, len(callers) + bool(outside))
    values: list[Value] = []
    for number, caller in enumerate(callers):
        if only in (None, number):
            values += ev.during(choice, None, lambda caller=caller: _given(ev, function, caller, at))  # type: ignore[misc]
    if outside and only in (None, len(callers)):
        default = default_of(function.node.args, at)
        values += ev.values(default, function.outer) if default is not None else ()
        values += outside
    return distinct(values)


def _outsiders(function: Function, at: int) -> Values:
    """Why callers that are not seen may give the parameter something else; () when there are none."""
    name = _parameter_name(function, at)
    if function.tool:
        return (Unknown(f"{name} is chosen by whoever calls {function.tool}"),)
    if len(function.callers) > MOST_CALLERS:
        return (Unknown(f"{function.name} is called in more than {MOST_CALLERS} places"),)
    if function.handed:
        return (Unknown(f"{function.name} is handed on, and its {name} comes from whoever calls it then"),)
    if not function.callers:
        return (Unknown(f"no call in the project gives {function.name} its {name}"),)
    return ()


def _parameter_name(function: Function, at: int) -> str:
    args = function.node.args
    return [*args.posonlyargs, *args.args, *args.kwonlyargs][at].arg


def _own(function: Function) -> Value | None:
    """`self` or `cls`; None for a static method."""
    for decorator in function.node.decorator_list:
        if isinstance(decorator, ast.Name) and decorator.id == "staticmethod":
            return None
        if isinstance(decorator, ast.Name) and decorator.id == "classmethod":
            return ClassOf(function.cls) if function.cls is not None else None
    return Instance(function.cls, None, None) if function.cls is not None else None


def default_of(args: ast.arguments, at: int) -> ast.expr | None:
    """The default of parameter `at`."""
    listed = len(args.posonlyargs) + len(args.args)
    if at >= listed:
        return args.kw_defaults[at - listed]
    back = at - (listed - len(args.defaults))
    return args.defaults[back] if back >= 0 else None


def _given(
    ev: Evaluator, function: Function, caller: tuple[ast.Call, Scope, int], at: int
) -> Iterable[Value]:
    """What one call gives a parameter, or the default."""
    call, scope, shift = caller
    listed = at < len(function.node.args.posonlyargs) + len(function.node.args.args)
    name = _parameter_name(function, at)
    found = access.argument(ev, call, scope, at=at - shift if listed else None, names=(name,))
    if found is not None:
        return ev.values(*found)
    if access.opaque(call):
        return (Unknown(f"{name} is given by * or **"),)
    default = default_of(function.node.args, at)
    return ev.values(default, function.outer) if default is not None else (Unknown(f"{name} is not given"),)
