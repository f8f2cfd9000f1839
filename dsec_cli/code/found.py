"""What has been found so far, and one call as the readers of effects see it."""

from __future__ import annotations

import ast

from dsec_cli.code import access
from dsec_cli.code.abstract import HOLE, Shape, Symbol, Text, as_text
from dsec_cli.code.needs import Unknown
from dsec_cli.diagnostics import Place
from dsec_cli.source.text import Span

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.code.abstract import Method, Values
    from dsec_cli.code.evaluate import Evaluator
    from dsec_cli.code.needs import Egress, Execution, FileUse, Listen, Process, Variable
    from dsec_cli.code.symbols import Function, Module, Scope

    Need = Variable | Egress | Listen | Process | FileUse | Execution | Unknown

SHOWN_HOLE = "*"


class Found:
    """The needs, each with the function that it stands in; None: in the module's own code."""

    def __init__(self) -> None:
        self.rows: list[tuple[Need, Function | None, Module]] = []
        self.optional: set[str] = set()
        """Environment variables that the code asks for before it reads them."""
        self.provided: set[str] = set()
        """Environment variables that the code itself sets."""

    def add(self, need: Need, scope: Scope) -> None:
        """Keep a need that stands in `scope`."""
        self.rows.append((need, scope.function, scope.module))


class Site:
    """A call of something that is not the project's."""

    __slots__ = ("call", "ev", "found", "name", "receiver", "scope")

    def __init__(
        self, ev: Evaluator, found: Found, call: ast.Call, scope: Scope, target: Symbol | Method
    ) -> None:
        self.ev = ev
        self.found = found
        self.call = call
        self.scope = scope
        self.name = target.name
        self.receiver = None if isinstance(target, Symbol) else target.receiver

    @property
    def by(self) -> str:
        """The name as people write it."""
        return self.name.removeprefix("builtins.")

    @property
    def last(self) -> str:
        """The name behind the last dot."""
        return self.name.rpartition(".")[2]

    def has(self, *names: str) -> bool:
        """Whether an argument of one of these names is given."""
        return any(keyword.arg in names for keyword in self.call.keywords)

    def values(self, at: int | None, names: tuple[str, ...]) -> Values | None:
        """What an argument can be; None when it is not given."""
        found = access.argument(self.ev, self.call, self.scope, at=at, names=names)
        return self.ev.values(*found) if found is not None else None

    def texts(self, at: int | None, names: tuple[str, ...]) -> tuple[Text, ...] | None:
        """The same as texts; one that hangs on itself is a hole."""
        values = self.values(at, names)
        if values is None:
            hidden = access.opaque(self.call)
            return (Text(HOLE, "it is given by * or **"),) if hidden else None
        return tuple(dict.fromkeys(map(as_text, values))) or (Text(HOLE, "it depends on itself"),)

    def place(self) -> Place:
        """Where the call's name stands."""
        return place(self.scope.module, self.call.func)

    def add(self, need: Need) -> None:
        """Keep a need of this call."""
        self.found.add(need, self.scope)

    def unknown(self, kind: str, why: str, variable: str = "") -> None:
        """Say that something of this call cannot be known."""
        self.add(Unknown(kind, why, variable, self.by, self.place(), ()))


def place(module: Module, node: ast.AST) -> Place:
    """Where a node stands; Python counts bytes, we count code points."""
    text = module.text
    start = _offset(module, getattr(node, "lineno", 1), getattr(node, "col_offset", 0))
    end_line = getattr(node, "end_lineno", None) or 1
    end = max(start, _offset(module, end_line, getattr(node, "end_col_offset", None) or 0))
    return Place(text.name, Span(start, end), text.position(start), text.position(end))


def _offset(module: Module, line: int, column: int) -> int:
    text = module.text
    if line > text.line_count:
        return len(text.text)
    start = text.line_start(line)
    head = text.text[start : start + column]
    if head.isascii():
        return start + column
    return start + len(text.line_text(line).encode("utf-8", "replace")[:column].decode("utf-8", "ignore"))


def shown(text: str) -> str:
    """A text with `*` for what is not known."""
    return text.replace(HOLE, SHOWN_HOLE)


__all__ = ["Found", "Shape", "Site", "place", "shown"]
