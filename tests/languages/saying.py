"""What the code says, read from its syntax: every template of `say`, and every text of a rule's page."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
UNIT_PROBLEMS = ("runtime/dsec/units.py", "dsec_cli/contract/quantities.py")
"""Modules that cannot, or need not, say: their problems keep a template that `contract` says."""
DYNAMIC = {("dsec_cli/contract/complaints.py", "problem.template")}
"""Calls of `say` whose template is another module's."""


def templates() -> dict[str, str]:
    """Every English template that may be translated, with a file that has it."""
    found: dict[str, str] = {}
    for path in sorted((ROOT / "dsec_cli").rglob("*.py")):
        name = str(path.relative_to(ROOT))
        text = path.read_text()
        if "from dsec_cli.words import" in text or name == "dsec_cli/words.py":
            for template in of_module(ast.parse(text), name):
                found.setdefault(template, name)
    for name in UNIT_PROBLEMS:
        for call in _calls(ast.parse((ROOT / name).read_text()), "UnitProblem"):
            for template in _texts(call.args[0], {}):
                found.setdefault(template, name)
    return found


def of_module(tree: ast.Module, name: str) -> Iterator[str]:
    """Templates of one module; an AssertionError names a call whose template cannot be read."""
    says = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module == "dsec_cli.words"
        for alias in node.names
    }
    tables = _tables(tree)
    for call in _calls(tree, "say") if "say" in says else ():
        texts = list(_texts(call.args[0], tables))
        if (name, ast.unparse(call.args[0])) not in DYNAMIC:
            assert texts, f"{name}:{call.lineno}: the template of {ast.unparse(call)} cannot be read"
        yield from texts
    for call in _calls(tree, "joined") if "joined" in says else ():
        for between in _texts(call.args[0], tables):
            yield f"{{first}}{between}{{rest}}"


def _calls(tree: ast.AST, name: str) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name:
            yield node


def _tables(tree: ast.Module) -> dict[str, ast.expr]:
    """Names of the module and what they are bound to."""
    found: dict[str, ast.expr] = {}
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            found[node.targets[0].id] = node.value
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value:
            found[node.target.id] = node.value
    return found


def _texts(node: ast.expr, tables: dict[str, ast.expr]) -> Iterator[str]:
    """The texts that an expression may be: constants, choices, entries of the module's tables."""
    match node:
        case ast.Constant(value=str(text)):
            yield text
        case ast.IfExp(body=one, orelse=other):
            yield from _texts(one, tables)
            yield from _texts(other, tables)
        case ast.Subscript(value=table):
            yield from _texts(table, tables)
        case ast.Name(id=name) if name in tables:
            yield from _texts(tables[name], tables)
        case ast.Tuple(elts=elements) | ast.List(elts=elements):
            for element in elements:
                yield from _texts(element, tables)
        case ast.Dict(values=values):
            for value in values:
                yield from _texts(value, tables)
        case ast.Call(func=ast.Name(id="say")):
            yield from _texts(node.args[0], tables)
        case _:
            pass


def unsaid() -> Iterator[str]:
    """Texts that are put before people without `say`: `file:line: text`.

    These are the constants and f-strings that stand where a finding's words belong.
    """
    for folder in ("lint", "contract", "source", "dag", "packages", "code", "report", "editor"):
        for path in sorted((ROOT / "dsec_cli" / folder).rglob("*.py")):
            name = str(path.relative_to(ROOT))
            for line, text in _bare(ast.parse(path.read_text())):
                yield f"{name}:{line}: {text}"


WORDS = {
    "Finding": ("message", "reason", "help"),
    "Fix": ("title",),
    "Related": ("label",),
    "Mark": ("label",),
}
PLACES = {"Finding": {3}, "Fix": {0}, "Related": {1}, "Problem": {2, 3}}
"""Which positions of a call hold words."""


def _bare(tree: ast.Module) -> Iterator[tuple[int, str]]:
    tables = _tables(tree)
    for name, keys in {**WORDS, "Problem": ("message", "help")}.items():
        for call in _calls(tree, name):
            given = [word.value for word in call.keywords if word.arg in keys]
            given += [arg for at, arg in enumerate(call.args) if at in PLACES.get(name, ())]
            yield from ((node.lineno, ast.unparse(node)) for node in given if _is_pasted(node, tables))


def _is_pasted(node: ast.expr, tables: dict[str, ast.expr]) -> bool:
    match node:
        case ast.Constant(value=value):
            return bool(value)
        case ast.JoinedStr():
            return True
        case ast.IfExp(body=one, orelse=other):
            return _is_pasted(one, tables) or _is_pasted(other, tables)
        case ast.Name(id=name) if name in tables:
            return _is_pasted(tables[name], tables)
        case _:
            return False
