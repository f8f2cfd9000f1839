"""Matches calls with the project's functions: who calls what with which arguments, and who hands what on."""

from __future__ import annotations

import ast

from dsec_cli.code import access
from dsec_cli.code.abstract import Bound, ClassOf, Instance, Method, Symbol
from dsec_cli.code.naming import MOST_CALLERS, holder
from dsec_cli.code.symbols import Function

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from dsec_cli.code.abstract import Value
    from dsec_cli.code.evaluate import Evaluator
    from dsec_cli.code.symbols import Class, Module, Scope

MOST_LINKS = 500_000
"""Between functions, in all: thousands of classes that override one another have millions."""


def link(ev: Evaluator) -> None:
    """Fill `callers` and `calls` of every function, `calls` of every class and `runs` of every module."""
    linker = _Linker(ev)
    _derive(ev)
    for module in ev.modules.values():
        for call, scope in module.calls:
            if linker.may_be_ours(call.func, scope):
                for target in ev.values(call.func, scope):
                    linker.called(target, call, scope)
        handed: list[tuple[ast.Name | ast.Attribute, Scope]] = [*module.names, *module.attributes]
        for node, scope in handed:
            name = node.attr if isinstance(node, ast.Attribute) else node.id
            if name in linker.names:
                for target in ev.values(node, scope):
                    linker.handed_on(target, scope)
    ev.forget()


def _derive(ev: Evaluator) -> None:
    """Fill `derived`: the subclasses of every class, however far below."""
    for module in ev.modules.values():
        for cls in module.classes:
            for one in access.mro(ev, cls):
                if isinstance(one, ClassOf) and one.cls is not cls:
                    ev.derived.setdefault(one.cls, []).append(cls)


class _Linker:
    """The project's functions and classes by their last names."""

    def __init__(self, ev: Evaluator) -> None:
        self.ev = ev
        modules = ev.modules.values()
        functions = [function for module in modules for function in module.functions]
        self.names = {function.node.name for function in functions}
        self.names.update(cls.node.name for module in modules for cls in module.classes)
        self.left = MOST_LINKS
        self.overrides: dict[tuple[Class, str], tuple[Function, ...]] = {}
        self.handed_over: set[tuple[Class, Function | Module]] = set()
        self.methods: dict[str, list[Function]] = {}
        for function in functions:
            if function.cls is not None:
                self.methods.setdefault(function.node.name, []).append(function)

    def may_be_ours(self, func: ast.expr, scope: Scope) -> bool:
        """Whether it is worth the while to find out what is called."""
        if isinstance(func, ast.Name):
            return holder(func.id, scope) is not None or bool(scope.module.stars)
        return not isinstance(func, ast.Attribute) or func.attr in self.names

    def called(self, target: Value, call: ast.Call, scope: Scope) -> None:
        """One possible target of a call."""
        if isinstance(target, Bound):
            shift = int(_hides_self(target))
            for function in (target.function, *self._overriding(target)):
                self._caller(function, call, scope, shift=shift)
        elif isinstance(target, ClassOf):
            target.cls.calls.append((call, scope))
            for function in self._constructors(target.cls):
                self._caller(function, call, scope, shift=1)
            self._handed_to_framework(target.cls, scope)
        elif isinstance(target, Instance):
            method = target.cls.method("__call__")
            if method is not None:
                self._caller(method, call, scope, shift=1)
        elif isinstance(target, Method) and target.name.startswith("?."):
            named = self.methods.get(target.name[2:], ())
            if len(named) == 1:  # nobody else in the project has a method of this name
                self._caller(named[0], call, scope, shift=1)
            for function in named if len(named) > 1 else ():
                function.handed = True

    def _caller(self, function: Function, call: ast.Call, scope: Scope, *, shift: int) -> None:
        if len(function.callers) <= MOST_CALLERS:  # one more than are told apart says that there are more
            function.callers.append((call, scope, shift))
        self._edge(function, scope)

    def _overriding(self, target: Bound) -> Iterable[Function]:
        """What subclasses have in place of a method that is called on `self`."""
        owner, name = target.owner, target.function.node.name
        if not isinstance(owner, Instance) or owner.call is not None:
            return ()
        key = (owner.cls, name)
        if key not in self.overrides:
            methods = (cls.method(name) for cls in self.ev.derived.get(owner.cls, ())[:16])
            self.overrides[key] = tuple(one for one in methods if one is not None)
        return (one for one in self.overrides[key] if one is not target.function)

    def _edge(self, function: Function, scope: Scope) -> None:
        self.left -= 1
        if self.left < 0:
            function.handed = True  # from somewhere, and that is all that is known
            return
        if scope.function is None:
            scope.module.runs[function] = None
        elif scope.function is not function:
            scope.function.calls[function] = None

    def _constructors(self, cls: Class) -> Iterable[Function]:
        for one in access.mro(self.ev, cls):
            for name in ("__init__", "__post_init__"):
                found = one.cls.method(name) if isinstance(one, ClassOf) else None
                if found is not None:
                    yield found

    def handed_on(self, target: Value, scope: Scope) -> None:
        """A function or class that is passed on: somebody may call it from here."""
        if isinstance(target, Bound):
            target.function.handed = True
            self._edge(target.function, scope)
        elif isinstance(target, ClassOf):
            self._handed_to_framework(target.cls, scope)

    def _handed_to_framework(self, cls: Class, scope: Scope) -> None:
        """Methods of a class with a base outside the project are called from there."""
        for one in access.mro(self.ev, cls):
            if isinstance(one, Symbol):
                if one.name.startswith(("builtins.", "abc.", "enum.", "typing.")):
                    continue
                user = scope.function or scope.module
                if (cls, user) in self.handed_over:
                    return
                self.handed_over.add((cls, user))
                for bindings in cls.scope.bindings.values():
                    for binding in bindings:
                        if isinstance(binding.what, Function):
                            self._edge(binding.what, scope)
                return


def _hides_self(target: Bound) -> bool:
    """Whether the call does not show the first parameter."""
    if target.owner is None or target.function.cls is None:
        return False
    decorators = [getattr(one, "id", "") for one in target.function.node.decorator_list]
    if "staticmethod" in decorators:
        return False
    return isinstance(target.owner, Instance) or "classmethod" in decorators
