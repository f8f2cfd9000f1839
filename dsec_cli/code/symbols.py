"""What the names of a project stand for: modules, scopes, functions, classes and their bindings.

These are the analyser's working state, filled by `collect` and `link`; `needs` holds what comes out.
"""

from __future__ import annotations

from dsec.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    import ast

    from dsec_cli.source.text import SourceText

VALUE, ITEM, ENTER, ADD, IMPORT, DEF, CLASS, PARAM, UNKNOWN = range(9)
"""How a name is bound: by `=`, by a loop, by `with`, by `+=`, by an import, by `def`, by `class`, ..."""


class Imported(Record):
    """What `import module` or `from module import name` binds."""

    module: str
    name: str | None


class Binding:
    """One way in which a name gets its value."""

    __slots__ = ("kind", "note", "path", "scope", "what")

    def __init__(
        self,
        kind: int,
        what: object,
        scope: Scope,
        *,
        path: tuple[int, ...] = (),
        note: ast.expr | None = None,
    ) -> None:
        self.kind = kind
        self.what = what
        """The value's expression, or an Imported, a Function or a Class."""
        self.scope = scope
        """Where the expression is to be read."""
        self.path = path
        """Which part of it, when a tuple is taken apart; -1 is one that cannot be told."""
        self.note = note
        """The annotation."""


class Scope:
    """A region with names of its own."""

    __slots__ = ("bindings", "cls", "elsewhere", "function", "kind", "module", "outer", "stores")

    def __init__(
        self,
        kind: str,
        module: Module,
        outer: Scope | None,
        *,
        function: Function | None = None,
        cls: Class | None = None,
    ) -> None:
        self.kind = kind
        """`module`, `class`, `function` or `comprehension` (lambdas are those too)."""
        self.module = module
        self.outer = outer
        self.function = function
        """The function whose code runs here; None: it runs with the module."""
        self.cls = cls
        self.bindings: dict[str, list[Binding]] = {}
        self.elsewhere: dict[str, bool] = {}
        """Names declared `global` (True) or `nonlocal` (False)."""
        self.stores: dict[str, list[tuple[ast.expr, ast.expr, Scope]]] = {}
        """`name[key] = value`, by name."""


class Function:
    """A function or method of the project."""

    __slots__ = (
        "callers", "calls", "cls", "generator", "handed", "name", "node", "outer", "returns", "scope", "tool",
    )  # fmt: skip

    def __init__(
        self,
        name: str,
        node: ast.FunctionDef | ast.AsyncFunctionDef,
        outer: Scope,
        cls: Class | None,
    ) -> None:
        self.name = name
        """Dotted, from the module's."""
        self.node = node
        self.outer = outer
        self.cls = cls
        self.scope = Scope("function", outer.module, outer, function=self, cls=cls)
        self.returns: list[tuple[ast.expr, Scope]] = []
        self.generator = False
        self.callers: list[tuple[ast.Call, Scope, int]] = []
        """Each call of it, with the number of parameters that the call does not show (`self`)."""
        self.calls: dict[Function, None] = {}
        """What it calls or hands on."""
        self.handed = False
        """It is handed on as a value, or may be called in ways that are not seen."""
        self.tool: str = ""
        """Name of the tool or entry it is; a caller outside the project then chooses the arguments."""

    def called_at(self, call: ast.Call) -> int | None:
        """The place of `call` among its callers."""
        return next((at for at, one in enumerate(self.callers) if one[0] is call), None)

    @property
    def module(self) -> Module:
        """The module it is written in."""
        return self.outer.module


class Class:
    """A class of the project."""

    __slots__ = ("attributes", "calls", "name", "node", "outer", "scope")

    def __init__(self, name: str, node: ast.ClassDef, outer: Scope) -> None:
        self.name = name
        self.node = node
        self.outer = outer
        self.scope = Scope("class", outer.module, outer, function=outer.function, cls=self)
        self.attributes: dict[str, list[Binding]] = {}
        """What methods set on `self`."""
        self.calls: list[tuple[ast.Call, Scope]] = []
        """Each place where one is made."""

    def method(self, name: str) -> Function | None:
        """The method of that name that the class itself has."""
        for binding in self.scope.bindings.get(name, ()):
            if isinstance(binding.what, Function):
                return binding.what
        return None


class Module:
    """One file: its tree's names, and every place that may matter."""

    __slots__ = (
        "attributes", "calls", "classes", "dicts", "entered", "fallbacks", "functions", "imported", "inner",
        "name", "names", "path", "runs", "scope", "stars", "subscripts", "tests", "text",
    )  # fmt: skip

    def __init__(self, path: str, name: str, text: SourceText) -> None:
        self.path = path
        self.name = name
        self.text = text
        self.scope = Scope("module", self, None)
        self.stars: list[str] = []
        self.imported: set[str] = set()
        """Every name that an import binds, anywhere in the file."""
        self.functions: list[Function] = []
        self.classes: list[Class] = []
        self.calls: list[tuple[ast.Call, Scope]] = []
        self.names: list[tuple[ast.Name, Scope]] = []
        self.attributes: list[tuple[ast.Attribute, Scope]] = []
        """Outermost ones that are not called."""
        self.subscripts: list[tuple[ast.Subscript, Scope]] = []
        self.tests: list[tuple[ast.expr, ast.expr, Scope]] = []
        """`key in container`."""
        self.dicts: list[tuple[ast.Dict, Scope]] = []
        self.entered: list[tuple[ast.expr, Scope]] = []
        """What `with` enters."""
        self.fallbacks: dict[ast.expr, ast.expr] = {}
        """`a or b`: b by a."""
        self.inner: dict[ast.expr, Scope] = {}
        """Scopes of comprehensions."""
        self.runs: dict[Function, None] = {}
        """What the module's own code calls or hands on."""
