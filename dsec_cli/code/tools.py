"""Finds the functions that are registered as tools of a model."""

from __future__ import annotations

import ast

from dsec_cli.code import access, displays
from dsec_cli.code.abstract import (
    HOLE,
    Bound,
    ClassOf,
    Instance,
    Made,
    Method,
    Shape,
    Symbol,
    Text,
    Value,
    as_text,
)
from dsec_cli.code.found import place, shown
from dsec_cli.code.known import registrations as known
from dsec_cli.code.needs import Tool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dsec_cli.code.evaluate import Evaluator
    from dsec_cli.code.symbols import Class, Function, Module, Scope
    from dsec_cli.diagnostics import Place


class Registered:
    """Tools found so far, with the functions behind them."""

    def __init__(self, ev: Evaluator) -> None:
        self.ev = ev
        self.tools: list[Tool] = []
        self.roots: list[tuple[str, Function]] = []
        """Names of tools with the functions that run when they are called."""
        self.seen: set[object] = set()
        self.by_name: dict[str, list[Function]] = {}
        for module in ev.modules.values():
            for function in module.functions:
                self.by_name.setdefault(function.node.name, []).append(function)

    def function(
        self,
        function: Function,
        framework: str,
        *,
        name: str = "",
        summary: str = "",
        cls: Class | None = None,
    ) -> None:
        """A tool that is a function of the project."""
        what = cls or function
        name = name or what.node.name
        self.roots.append((name, function))
        function.tool = function.tool or name
        if what in self.seen:
            return
        self.seen.add(what)
        said = summary or _docstring(function.node) or (_docstring(cls.node) if cls else "")
        where = _heading(what.outer.module, what.node)
        self.tools.append(Tool(name, framework, what.name, where, _first_line(said), _parameters(function)))

    def foreign(self, name: str, framework: str, node: ast.AST, module: Module, *, summary: str = "") -> None:
        """A tool whose code is not the project's."""
        where = place(module, node)
        if (name, where) not in self.seen:
            self.seen.add((name, where))
            self.tools.append(Tool(name, framework, "", where, _first_line(summary), ()))


def find(ev: Evaluator) -> Registered:
    """Every registration in the project."""
    found = Registered(ev)
    for module in ev.modules.values():
        for function in module.functions:
            _decorated(found, function)
        for cls in module.classes:
            _derived(found, cls)
    for module in ev.modules.values():
        for call, scope in module.calls:
            _constructed(found, call, scope)
        for node, scope in module.dicts:
            _described(found, node, scope)
    return found


def _docstring(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> str:
    return ast.get_docstring(node, clean=False) or ""


def _first_line(text: str) -> str:
    line = text.strip().partition("\n")[0].strip()
    return "".join(ch for ch in line if ch.isprintable()).replace(HOLE, "*")[:200]


def _heading(module: Module, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> Place:
    """The name in `def name` or `class Name`."""
    line = module.text.line_text(node.lineno)
    word = ast.Name(id=node.name)
    at = len(line[: line.find(node.name, _bytes(line, node.col_offset))].encode("utf-8", "replace"))
    word.lineno = word.end_lineno = node.lineno
    word.col_offset, word.end_col_offset = at, at + len(node.name.encode())
    return place(module, word)


def _bytes(line: str, column: int) -> int:
    return len(line.encode("utf-8", "replace")[:column].decode("utf-8", "ignore"))


_IMPLIED = ("self", "cls", "ctx", "context", "run_manager", "callbacks")


def _parameters(function: Function) -> tuple[str, ...]:
    args = function.node.args
    names = [one.arg for one in (*args.posonlyargs, *args.args, *args.kwonlyargs)]
    return tuple(
        name
        for at, name in enumerate(names)
        if not (at == 0 or name == "run_manager") or name not in _IMPLIED
    )


def _names(values: Iterable[Value]) -> Iterator[str]:
    for value in values:
        if isinstance(value, Symbol | Method | Made):
            yield value.name


def _decorated(found: Registered, function: Function) -> None:
    """A function under one or more decorators that register it; the first name and description count."""
    frameworks, names, summaries = [], [], []
    for decorator in function.node.decorator_list:
        call = decorator if isinstance(decorator, ast.Call) else None
        framework = _registers(found.ev, call.func if call else decorator, function.outer)
        if framework:
            frameworks.append(framework)
            name, summary = _said(found.ev, call, function.outer)
            names += [name] if name else []
            summaries += [summary] if summary else []
    if frameworks:
        found.function(function, frameworks[0], name="".join(names[:1]), summary="".join(summaries[:1]))


def _registers(ev: Evaluator, func: ast.expr, scope: Scope) -> str:
    """The framework whose decorator `func` is; "" when it is none."""
    last = func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "")
    for name in _names(ev.values(func, scope)):
        if name in known.DECORATORS:
            return known.DECORATORS[name]
        if last in known.METHODS and (name.startswith("?.") or last.startswith("register_for")):
            return known.METHODS[last]
    return ""


def _said(ev: Evaluator, call: ast.Call | None, scope: Scope) -> tuple[str, str]:
    """Name and description that a decorator gives."""
    if call is None:
        return "", ""
    name = _text(ev, call, scope, at=0, names=("name", "name_override", "name_or_callable"))
    return name, _text(ev, call, scope, at=None, names=("description", "description_override"))


def _text(ev: Evaluator, call: ast.Call, scope: Scope, *, at: int | None, names: tuple[str, ...]) -> str:
    given = access.argument(ev, call, scope, at=at, names=names)
    if given is None:
        return ""
    return next((one.text for one in ev.values(*given) if isinstance(one, Text) and HOLE not in one.text), "")


def _derived(found: Registered, cls: Class) -> None:
    """Classes that extend a framework's `BaseTool`."""
    for one in access.mro(found.ev, cls):
        if not isinstance(one, Symbol) or one.name.rpartition(".")[2] not in known.BASE_NAMES:
            continue
        framework = known.BASES.get(one.name.partition(".")[0])
        runs = [method for method in map(cls.method, known.RUNS) if method is not None]
        for method in runs if framework else ():
            name, summary = (_attribute(found.ev, cls, key) for key in ("name", "description"))
            found.function(method, framework or "", name=name, summary=summary, cls=cls)


def _attribute(ev: Evaluator, cls: Class, name: str) -> str:
    values = access.attribute(ev, Instance(cls, None, None), name) if name in cls.scope.bindings else ()
    return next((value.text for value in values if isinstance(value, Text)), "")


def _constructed(found: Registered, call: ast.Call, scope: Scope) -> None:
    func = call.func
    last = func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "")
    gives = any(keyword.arg == "tools" for keyword in call.keywords) or last in known.TAKING
    if not gives and last not in _LASTS and last not in scope.module.imported:
        return
    for name in _names(found.ev.values(func, scope)):
        form = known.CONSTRUCTORS.get(name)
        if form is not None:
            _by_form(found, form, call, scope)
        elif last == "register_function":
            _function_map(found, call, scope)
        elif gives:
            _taken(found, call, scope, known.FRAMEWORKS.get(name.partition(".")[0], known.PLAIN))


_LASTS = frozenset(name.rpartition(".")[2] for name in known.CONSTRUCTORS) | {"register_function"}


def _by_form(found: Registered, form: known.Form, call: ast.Call, scope: Scope) -> None:
    ev = found.ev
    name = _text(ev, call, scope, at=form.name_at, names=("name",))
    summary = _text(ev, call, scope, at=form.summary_at, names=("description",))
    metadata = access.argument(ev, call, scope, at=None, names=("metadata",))
    if metadata is not None and isinstance(metadata[0], ast.Call):
        name = name or _text(ev, metadata[0], scope, at=1, names=("name",))
        summary = summary or _text(ev, metadata[0], scope, at=0, names=("description",))
    given = access.argument(ev, call, scope, at=form.function_at, names=form.function)
    for value in ev.values(*given) if given is not None else ():
        if isinstance(value, Bound):
            found.function(value.function, form.framework, name=name, summary=summary)
            return
    last = getattr(call.func, "attr", getattr(call.func, "id", "tool"))
    found.foreign(name or last, form.framework, call.func, scope.module, summary=summary)
    for function in _unique(found, name) if form.framework == known.MCP else ():
        found.roots.append((name, function))


def _unique(found: Registered, name: str) -> list[Function]:
    """The one function of the project that is called like the tool."""
    named = found.by_name.get(name, [])
    return named if len(named) == 1 else []


def _function_map(found: Registered, call: ast.Call, scope: Scope) -> None:
    """AutoGen's `register_function(function_map={"name": function})`."""
    given = access.argument(found.ev, call, scope, at=0, names=("function_map",))
    for value in found.ev.values(*given) if given is not None else ():
        if not isinstance(value, Shape):
            continue
        for one in displays.items(found.ev, value):
            if not isinstance(one, displays.Place):
                continue
            for function in found.ev.values(one.part.value, one.scope):
                if isinstance(function, Bound):
                    found.function(function.function, known.AUTOGEN, name=displays.word(one.part.key))


def _taken(found: Registered, call: ast.Call, scope: Scope, framework: str) -> None:
    """`tools=[...]`, `bind_tools([...])`."""
    given = access.argument(found.ev, call, scope, at=None, names=("tools",))
    nodes = [given] if given is not None else [(one, scope) for one in call.args[:2]]
    for node, where in nodes:
        for value in access.elements(found.ev, tuple(_lists(found.ev.values(node, where)))):
            _element(found, value, framework, call, scope)


def _lists(values: Iterable[Value]) -> Iterator[Value]:
    for value in values:
        if isinstance(value, Shape) and not isinstance(value.node, ast.Dict | ast.Call):
            yield value


def _element(found: Registered, value: Value, framework: str, call: ast.Call, scope: Scope) -> None:
    if isinstance(value, Bound):
        if value.function.tool == "":
            found.function(value.function, framework)
    elif isinstance(value, ClassOf):
        if value.cls not in found.seen:
            found.seen.add(value.cls)
            found.foreign(value.cls.node.name, framework, value.cls.node, value.cls.outer.module)
    elif isinstance(value, Made) and value.name not in known.CONSTRUCTORS and value.call is not None:
        own = known.BASES.get(value.name.partition(".")[0], framework)
        module = value.scope.module if value.scope is not None else scope.module
        found.foreign(value.name.rpartition(".")[2], own, value.call.func, module)


def _described(found: Registered, node: ast.Dict, scope: Scope) -> None:
    """`{"type": "function", "function": {"name": ...}}`, flat, or with an `input_schema`."""
    fields = {
        key.value: one
        for key, one in zip(node.keys, node.values, strict=True)
        if isinstance(key, ast.Constant)
    }
    kind = fields.get("type")
    framework, inner = "openai", fields
    if "input_schema" in fields:
        framework = "input-schema"
    elif not (isinstance(kind, ast.Constant) and kind.value == "function"):
        return
    described = fields.get("function")
    if isinstance(described, ast.Dict):
        inner = {
            k.value: v
            for k, v in zip(described.keys, described.values, strict=True)
            if isinstance(k, ast.Constant)
        }
    name = _field_text(found.ev, inner.get("name"), scope)
    if not name:
        return
    summary = _field_text(found.ev, inner.get("description"), scope)
    named = _unique(found, name)
    for function in named:
        if function.tool == "":
            found.function(function, framework, name=name, summary=summary)
    if not named:
        found.foreign(name, framework, inner["name"], scope.module, summary=summary)


def _field_text(ev: Evaluator, node: ast.expr | None, scope: Scope) -> str:
    if node is None:
        return ""
    text = as_text(next(iter(ev.values(node, scope)), Text(HOLE))).text
    return "" if text.startswith(HOLE) else shown(text)
