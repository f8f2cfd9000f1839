"""Parts of values: attributes, items, elements, and the arguments of a call."""

from __future__ import annotations

import ast

from dsec_cli.code import displays
from dsec_cli.code.abstract import (
    HOLE,
    MOST_VALUES,
    TOO_MANY,
    Bound,
    Choice,
    ClassOf,
    Const,
    FilePath,
    Instance,
    Made,
    Method,
    ModuleOf,
    Shape,
    Symbol,
    Text,
    Unknown,
    Value,
    Values,
    as_text,
)
from dsec_cli.code.symbols import Class, Function

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dsec_cli.code.evaluate import Evaluator
    from dsec_cli.code.symbols import Binding, Scope

ENVIRON = ("os.environ", "os.environb")
COMPUTED = Unknown("it is computed")
MANY = Unknown("it is one of many that are computed")
TOO_LONG = Unknown("it is computed over too many steps")
MOST_ENTRIES = 64
MOST_NAME = 400
"""Length of the dotted name by which a part of something is called."""
NO_ENTRY = Unknown("the dictionary or list has no such entry as written")
MOST_BASES = 32
_PARENTS = ("parent", "parents")
_SAME = ("value",)
"""Attributes that give the thing itself: members of an Enum are read as their values."""


def attribute(ev: Evaluator, base: Value, name: str) -> Iterable[Value]:
    """`base.name`."""
    if isinstance(base, Symbol | Made | Method) and len(base.name) + len(name) > MOST_NAME:
        return (TOO_LONG,)
    if isinstance(base, Symbol):
        return (Symbol(f"{base.name}.{name}"),)
    if isinstance(base, ModuleOf):
        return ev.of_module(base.module, name) or (Unknown(f"{name} is not found in {base.module.path}"),)
    if isinstance(base, Instance | ClassOf):
        return _of_object(ev, base, name)
    if isinstance(base, Made):
        return (Method(f"{base.name}().{name}", base),)
    if isinstance(base, Method):
        return (Method(f"{base.name}.{name}", base.receiver),)
    if isinstance(base, FilePath):
        return (_of_path(base, name),)
    if isinstance(base, Text | Const):
        return (base,) if name in _SAME else (Method(f"builtins.str.{name}", base),)
    if isinstance(base, Shape):
        return (Method(f"builtins.dict.{name}", base),)
    return (Method(f"?.{name}", base),)


def _of_path(base: FilePath, name: str) -> Value:
    if name in _PARENTS:
        return FilePath(folder_of(base.text), base.why, base.variable)
    if name in ("name", "stem", "suffix"):
        last = base.text.rpartition("/")[2]
        return Text(last if name == "name" else HOLE, base.why or "it is a part of a path", base.variable)
    return Method(f"pathlib.Path().{name}", base)


def folder_of(path: str) -> str:
    """The folder that a path lies in."""
    head, slash, last = path.rstrip("/").rpartition("/")
    if slash:
        return head or "/"
    return HOLE if HOLE in last else "." if last not in (".", "..", "") else f"{last or '.'}/.."


def mro(ev: Evaluator, cls: Class) -> Iterator[Value]:
    """The class, its bases, and theirs, each once, the nearest first."""
    waiting, seen = [cls], {cls}
    while waiting:
        here = waiting.pop(0)
        yield ClassOf(here)
        for base in here.node.bases:
            inner = base.value if isinstance(base, ast.Subscript) else base
            for value in ev.values(inner, here.outer):
                if isinstance(value, ClassOf) and value.cls not in seen and len(seen) < MOST_BASES:
                    seen.add(value.cls)
                    waiting.append(value.cls)
                elif isinstance(value, Symbol):
                    yield value


def _of_object(ev: Evaluator, base: Instance | ClassOf, name: str) -> Iterable[Value]:
    return ev.once((type(base), base, name), base.cls.scope, lambda: _found_on(ev, base, name))


def _found_on(ev: Evaluator, base: Instance | ClassOf, name: str) -> Iterable[Value]:
    given = _field(ev, base, name) if isinstance(base, Instance) else None
    if given is not None:
        return given
    made = next(_constructors(ev, base), None) if isinstance(base, Instance) and base.call else None
    at = made.called_at(base.call) if made is not None and isinstance(base, Instance) and base.call else None
    if made is not None and at is not None and len(made.callers) + bool(made.handed) > 1:
        return ev.during(Choice(made), at, lambda: _of_classes(ev, base, name))
    return _of_classes(ev, base, name)


def _constructors(ev: Evaluator, base: Instance) -> Iterator[Function]:
    """The `__init__` that made the object."""
    for one in mro(ev, base.cls):
        found = one.cls.method("__init__") if isinstance(one, ClassOf) else None
        if found is not None:
            yield found


def _of_classes(ev: Evaluator, base: Instance | ClassOf, name: str) -> Iterable[Value]:
    """The attribute of the class or its nearest base that has it; of `self`, of every subclass too."""
    found: list[Value] = []
    anything = isinstance(base, Instance) and base.call is None
    for cls in ev.derived.get(base.cls, ())[:16] if anything else ():
        bindings = _own_bindings(cls, name)
        found += _values_of(ev, Instance(cls, None, None), bindings, name) if bindings else ()
    for one in mro(ev, base.cls):
        if isinstance(one, ClassOf):
            bindings = _own_bindings(one.cls, name)
            if bindings:
                return (*_values_of(ev, base, bindings, name), *found)
        elif isinstance(one, Symbol) and one.name not in ("builtins.object", "abc.ABC", "typing.Protocol"):
            return (_inherited(base, one, name), *found)
    return found or (Unknown(f"attribute {name} of {base.cls.name} is set nowhere in the project"),)


def _own_bindings(cls: Class, name: str) -> list[Binding]:
    return [*cls.attributes.get(name, ()), *cls.scope.bindings.get(name, ())]


def _inherited(base: Instance | ClassOf, outside: Symbol, name: str) -> Value:
    if isinstance(base, ClassOf):
        return Symbol(f"{outside.name}.{name}")
    if outside.name.startswith("enum."):
        return Unknown(f"it is a member of {base.cls.name}")
    return Method(f"{outside.name}().{name}", Made(outside.name, base.call, base.scope))


def _field(ev: Evaluator, base: Instance, name: str) -> Values | None:
    """What the call gave a field of a dataclass or model; None when it left the default."""
    if base.call is None or base.scope is None or name not in base.cls.scope.bindings:
        return None
    if base.cls.method("__init__") is not None or base.cls.method(name) is not None:
        return None
    at = list(base.cls.scope.bindings).index(name)
    found = argument(ev, base.call, base.scope, at=at, names=(name,))
    return ev.values(*found) if found is not None else None


def _values_of(
    ev: Evaluator, base: Instance | ClassOf, bindings: list[Binding], name: str
) -> Iterator[Value]:
    for value in ev.bound(bindings):
        if isinstance(value, Bound) and value.function.cls is not None:
            if is_property(value.function):
                yield from returned(ev, value.function)
            else:
                yield Bound(value.function, base)
        else:
            yield value
    if isinstance(base, Instance) and base.call is None and not ev.linking:
        yield from _elsewhere(ev, base.cls, name)


def _elsewhere(ev: Evaluator, cls: Class, name: str) -> Iterator[Value]:
    """What calls of a dataclass or model give the field."""
    if cls.method("__init__") is not None or name not in cls.scope.bindings or cls.method(name) is not None:
        return
    calls = cls.calls[:16]
    only = ev.chosen(Choice(cls), len(calls))
    for at, (call, scope) in enumerate(calls):
        if only in (None, at):
            yield from _field(ev, Instance(cls, call, scope), name) or ()


def is_property(function: Function) -> bool:
    """Whether reading the attribute runs the function."""
    names = (getattr(one, "id", getattr(one, "attr", "")) for one in function.node.decorator_list)
    return any(name in ("property", "cached_property") for name in names)


def returned(ev: Evaluator, function: Function, call: ast.Call | None = None) -> Iterable[Value]:
    """What calling a function of the project gives; for one call where it is known which."""
    if function.generator:
        return (Unknown(f"{function.name} yields it"),)
    if not function.returns:
        return (Const(None),)
    at = function.called_at(call) if call is not None else None
    if at is not None and len(function.callers) + bool(function.handed or function.tool) > 1:
        return ev.during(Choice(function), at, lambda: _returns(ev, function))
    return _returns(ev, function)


def _returns(ev: Evaluator, function: Function) -> Iterable[Value]:
    return (value for node, scope in function.returns for value in ev.values(node, scope))


def item(ev: Evaluator, base: Value, keys: Values) -> Iterable[Value]:
    """`base[key]`."""
    if isinstance(base, Symbol) and base.name in ENVIRON:
        names = [as_text(key).text for key in keys]
        return [Text(ev.environment[one]) if one in ev.environment else environment(one) for one in names]
    if isinstance(base, Shape):
        return _in_shape(ev, base, keys) or (NO_ENTRY,)
    if isinstance(base, Symbol):
        return (base,)  # a generic type: list[int]
    if isinstance(base, FilePath):  # Path.parents[2]
        times = next((key.value for key in keys if isinstance(key, Const)), 0)
        text = base.text
        for _ in range(times if isinstance(times, int) and 0 < times < 20 else 0):
            text = folder_of(text)
        return (FilePath(text, base.why, base.variable),)
    if isinstance(base, Made | Method):
        return (_part_of(f"{base.name}[]", base),)
    return (base,) if isinstance(base, Unknown) else (COMPUTED,)


def _part_of(name: str, receiver: Value) -> Value:
    """A part of something made elsewhere; parts of parts without end are not followed."""
    return Method(name, receiver) if len(name) <= MOST_NAME else TOO_LONG


def environment(name: str) -> Unknown:
    """The value of an environment variable."""
    if HOLE in name:
        return Unknown("it comes from the environment")
    return Unknown(f"it comes from the environment variable {name}", name)


def _in_shape(ev: Evaluator, base: Shape, keys: Values) -> Values:
    if not displays.is_dictionary(base.node):
        return tuple(value for key in keys for value in _in_list(ev, base, key))
    hits = displays.find(ev, base, keys)
    found = [value for node, scope in hits.entries[:MOST_ENTRIES] for value in ev.values(node, scope)]
    found += [TOO_MANY] if len(hits.entries) > MOST_ENTRIES else []
    for other in hits.others:
        found += (COMPUTED,) if isinstance(other, Shape) else item(ev, other, keys)
    return tuple(found)


def _in_list(ev: Evaluator, base: Shape, key: Value) -> Iterable[Value]:
    elts = base.node.elts if isinstance(base.node, ast.List | ast.Tuple) else []
    at = key.value if isinstance(key, Const) else None
    if isinstance(at, int) and -len(elts) <= at < len(elts):
        before = elts[: at + 1] if at >= 0 else elts[at:]
        if not any(isinstance(one, ast.Starred) for one in before):
            return ev.values(elts[at], base.scope)
    return elements(ev, (base,))


def stored(ev: Evaluator, name: str, keys: Values, scope: Scope) -> Iterator[Value]:
    """What `name[key] = value` puts in, wherever it stands in the scope of the name."""
    at: Scope | None = scope
    plain = {key.text if isinstance(key, Text) else getattr(key, "value", None) for key in keys}
    while at is not None:
        rows = at.stores.get(name, ())
        if rows and None not in plain:
            rows = ev.stores(at, name, plain)
        ev.spend(len(rows[:MOST_VALUES]))
        for key, value, where in rows[:MOST_VALUES]:
            known = ev.values(key, where)
            if any(one in keys for one in known) or any(isinstance(one, Unknown) for one in (*known, *keys)):
                yield from ev.values(value, where)
        if len(rows) > MOST_VALUES:
            yield TOO_MANY
        at = at.outer


def elements(ev: Evaluator, values: Values) -> Values:
    """What a loop over any of `values` gives."""
    found: list[Value] = []
    for value in values:
        found += _elements(ev, value)
        if len(found) > MOST_ENTRIES:
            return (*found[:MOST_ENTRIES], TOO_MANY)
    return tuple(found)


def _elements(ev: Evaluator, value: Value) -> Iterator[Value]:
    if isinstance(value, Shape):
        if isinstance(value.node, ast.ListComp | ast.SetComp | ast.GeneratorExp):
            yield from ev.values(value.node.elt, value.scope.module.inner.get(value.node, value.scope))
        else:
            yield from _items(ev, value)
    elif isinstance(value, Method) and value.name.startswith("builtins.dict.") and value.name.endswith("()"):
        yield from _pairs(ev, value)
    elif isinstance(value, Unknown):
        yield value
    elif isinstance(value, ClassOf):  # an Enum
        for bindings in list(value.cls.scope.bindings.values())[:16]:
            yield from ev.bound(bindings)
    else:
        yield MANY


def _items(ev: Evaluator, shape: Shape) -> Iterator[Value]:
    """Items of a list, or keys of a dictionary, with those of what `*` and `**` spread."""
    for one in displays.items(ev, shape):
        if not isinstance(one, displays.Place):
            yield from _of_spread(ev, one)
        elif one.part.key is None:
            yield from ev.values(one.part.value, one.scope)
        elif isinstance(one.part.key, str):
            yield Text(one.part.key)
        else:
            yield from ev.values(one.part.key, one.scope)


def _of_spread(ev: Evaluator, value: Value) -> Values:
    """Items of what is spread and is no display; what a loop gave is one, and is asked once."""
    if isinstance(value, Shape) and isinstance(value.node, ast.ListComp | ast.SetComp | ast.GeneratorExp):
        return ev.values(value.node.elt, value.scope.module.inner.get(value.node, value.scope))
    return (value,) if isinstance(value, Unknown) else (MANY,)


def _pairs(ev: Evaluator, value: Method) -> Iterator[Value]:
    """`d.items()`, `d.keys()`, `d.values()` of a dictionary as written."""
    shape, how = value.receiver, value.name.split(".")[2].rstrip("()")
    for one in displays.items(ev, shape) if isinstance(shape, Shape) else ():
        if not isinstance(one, displays.Place):
            yield one if isinstance(one, Unknown) else MANY
            continue
        key = ev.word(one.part.key) if isinstance(one.part.key, str) else one.part.key
        if how == "values":
            yield from ev.values(one.part.value, one.scope)
        elif how == "keys" and key is not None:
            yield from ev.values(key, one.scope)
        elif how == "items" and key is not None:
            yield Shape(ev.pair(key, one.part.value), one.scope)


def part(ev: Evaluator, values: Values, at: int) -> Values:
    """Item `at` of each value, where a tuple is taken apart."""
    found: list[Value] = []
    for value in values:
        if isinstance(value, Shape):
            found += item(ev, value, (Const(at) if at >= 0 else COMPUTED,))
        else:
            found.append(value if isinstance(value, Unknown) else COMPUTED)
    return tuple(found)


def argument(
    ev: Evaluator, call: ast.Call, scope: Scope, *, at: int | None, names: tuple[str, ...]
) -> tuple[ast.expr, Scope] | None:
    """The argument of a call by place or name, through `**` of a dictionary that is written out."""
    for keyword in call.keywords:
        if keyword.arg in names:
            return keyword.value, scope
    if at is not None and 0 <= at < len(call.args):
        shifted = any(isinstance(one, ast.Starred) for one in call.args[: at + 1])
        return None if shifted else (call.args[at], scope)
    for keyword in call.keywords:
        if keyword.arg is None:
            for value in ev.values(keyword.value, scope):
                if isinstance(value, Shape) and displays.is_dictionary(value.node):
                    found = displays.find(ev, value, tuple(map(Text, names))).entries
                    if found:
                        return found[0]
    return None


def opaque(call: ast.Call) -> bool:
    """Whether `*` or `**` hides some of a call's arguments."""
    starred = any(isinstance(one, ast.Starred) for one in call.args)
    return starred or any(one.arg is None for one in call.keywords)
