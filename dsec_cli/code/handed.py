"""Calls that others carry out: `asyncio.to_thread(requests.get, url)`, `Thread(target=os.system)`.

Whoever hands a function on shows at times what it will be called with; then that is read as a call. Where
it is not shown, the function may be called with anything.
"""

from __future__ import annotations

import ast

from dsec_cli.code.known.forwarding import ARGS, FUNCTIONS, METHODS, THREADS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.code.symbols import Module, Scope

    Part = ast.Name | ast.Attribute

ELSEWHERE = "it is handed on, and called elsewhere"
_ANYTHING = ast.Starred(value=ast.Name(id="?", ctx=ast.Load()), ctx=ast.Load())


def calls(module: Module) -> Iterator[tuple[ast.Call, Scope]]:
    """The call that each function means which is handed on; one with `*?` where that is not shown."""
    known = _aliases(module)
    givers = {
        id(one): call
        for call, _ in module.calls
        for one in (*call.args, *(keyword.value for keyword in call.keywords))
        if isinstance(one, ast.Name | ast.Attribute)
    }
    handed: list[tuple[Part, Scope]] = [*module.names, *module.attributes]
    for node, scope in handed:
        if id(node) not in known:
            giver = givers.get(id(node))
            shown = _shown(node, giver) if giver is not None else None
            yield _call(node, shown) if shown is not None else _call(node, ([_ANYTHING], [])), scope


def _aliases(module: Module) -> set[int]:
    """`get = requests.get`: what is called by such a name is found by itself."""
    scopes = [module.scope, *(one.scope for one in module.functions), *(one.scope for one in module.classes)]
    waiting = [
        binding.what
        for scope in scopes
        for bindings in scope.bindings.values()
        for binding in bindings
        if isinstance(binding.what, ast.expr) and not binding.path
    ]
    found: set[int] = set()
    while waiting:
        node = waiting.pop()
        found.add(id(node))
        if isinstance(node, ast.IfExp):
            waiting += (node.body, node.orelse)
        elif isinstance(node, ast.BoolOp):
            waiting += node.values
    return found


def _shown(node: Part, giver: ast.Call) -> tuple[list[ast.expr], list[ast.keyword]] | None:
    """What `giver` will call the function with."""
    func = giver.func
    last = func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "")
    table = METHODS if isinstance(func, ast.Attribute) and last in METHODS else FUNCTIONS
    at = table.get(last)
    if at is not None and len(giver.args) > at and giver.args[at] is node:
        given = giver.args[at + 1 :]
        return (given or [_ANYTHING] if last == "partial" else given), giver.keywords
    if last in THREADS:
        tuples = [one.value for one in giver.keywords if one.arg == ARGS]
        if tuples and isinstance(tuples[0], ast.Tuple | ast.List):
            return tuples[0].elts, []
    return None


def _call(node: Part, shown: tuple[list[ast.expr], list[ast.keyword]]) -> ast.Call:
    return ast.copy_location(ast.Call(func=node, args=shown[0], keywords=shown[1]), node)
