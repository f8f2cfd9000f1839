"""What the code says, read from its syntax: every template of `say`, and every text of a rule's page."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dsec_cli.commands.init import comments
from tests import syntax

ROOT = syntax.ROOT
UNIT_PROBLEMS = ("runtime/dsec/units.py", "dsec_cli/contract/quantities.py")
"""Modules that cannot, or need not, say: their problems keep a template that `contract` says."""
DYNAMIC = {
    ("dsec_cli/contract/complaints.py", "problem.template"),
    ("dsec_cli/contract/foreign.py", "other.advice"),
    ("dsec_cli/simulation/form.py", "problem.template"),
    ("runtime/dsec/words.py", "problem.strerror or str(problem)"),
    ("dsec_cli/dag/summary.py", "template"),
    ("dsec_cli/dag/views/text.py", "_MANY[noun]"),
    ("dsec_cli/dag/views/text.py", "_MEANING[source]"),
    ("runtime/dsec/outcomes.py", "template"),
    ("runtime/dsec/progress.py", "PAUSES[event.how]"),
    ("runtime/dsec/words.py", "text"),
    ("dsec_cli/exit.py", "getattr(problem, 'strerror', None) or str(problem)"),
}
"""Calls of `say` whose template is another module's, or the system's."""
ERRORS = frozenset((
    "DSecError", "FileProblem", "StoredFormError", "InventoryProblem", "PlanProblem", "RunProblem",
    "UsageError", "DiskFullError", "DrawingProblem", "ImportProblem", "IndexProblem", "NoServerError",
    "NotKnowledgeError", "ResolverProblem", "StoreError",
))  # fmt: skip
"""What is raised with words for people: the first argument, and `hint`."""
NOT_ERRORS = frozenset(("runtime/dsec/sdk.py", "runtime/dsec/worker.py", "runtime/dsec/codec.py"))
"""Modules whose errors reach programs, not people: the SDK's, and a damaged document's key by key."""
TABLES = {
    "dsec_cli/dag/summary.py": ("_MEANING",),
    "dsec_cli/dag/views/text.py": ("_MANY", "_MEANING"),
    "runtime/dsec/outcomes.py": ("_CLAUSES", "_LIMITED", "_RECORDED", "PAUSES"),
}
"""Tables of texts that are said by name."""
SENTENCES = ("dsec_cli/importing/", "runtime/dsec/registry.py", "runtime/dsec/core/dependencies.py")
"""Where every text of several words is for people, but for parts of what is written."""
WRITTEN = ("echo '", "version: ", "  level: ", "dependencies: ", "      - ", ", mode: ")


def templates() -> dict[str, str]:
    """Every English template that may be translated, with a file that has it."""
    found: dict[str, str] = {}
    for name, tree in syntax.trees().items():
        for template in (*of_module(tree, name), *of_errors(tree, name)):
            found.setdefault(template, name)
    for lines in comments():
        found.setdefault(" ".join(lines), "dsec_cli/commands/init.py")
    for name in UNIT_PROBLEMS:
        for call in _calls(syntax.trees()[name], "UnitProblem"):
            for template in _texts(call.args[0], {}):
                found.setdefault(template, name)
    return found


def of_module(tree: ast.Module, name: str) -> Iterator[str]:
    """Templates of one module; an AssertionError names a call whose template cannot be read."""
    says = {
        alias.asname or alias.name
        for node in syntax.nodes(tree).get(ast.ImportFrom, ())
        if isinstance(node, ast.ImportFrom) and node.module in ("dsec.words", "dsec_cli.words")
        for alias in node.names
    }
    if name.endswith("dsec/words.py"):
        says = {"say", "joined"}
    tables = _tables(tree)
    calls = [call for one in ("say", "filled") if one in says for call in _calls(tree, one)]
    for call in calls:
        if isinstance(call.args[0], ast.JoinedStr):
            continue  # a template that is computed: words.joined
        texts = list(_texts(call.args[0], tables))
        if (name, ast.unparse(call.args[0])) not in DYNAMIC:
            assert texts, f"{name}:{call.lineno}: the template of {ast.unparse(call)} cannot be read"
        yield from texts
    for call in _calls(tree, "joined") if "joined" in says else ():
        for between in _texts(call.args[0], tables):
            yield f"{{first}}{between}{{rest}}"


def of_errors(tree: ast.Module, name: str) -> Iterator[str]:
    """What a module raises, and what its tables say, where that is a plain text."""
    tables = _tables(tree)
    for node in _worded(tree, name):
        yield from (text for text in _texts(node, tables) if text and not _is_said(node))
    for table in TABLES.get(name, ()):
        yield from _texts(tables[table], tables)
    if name.startswith(SENTENCES):
        yield from _sentences(tree)


def _worded(tree: ast.Module, name: str) -> Iterator[ast.expr]:
    """Expressions that stand where words for people belong."""
    for call in syntax.calls(tree) if name not in NOT_ERRORS else ():
        called = call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")
        if called in ERRORS:
            yield from call.args[:1]
            yield from (word.value for word in call.keywords if word.arg == "hint")
        elif called == "_say":
            yield from call.args[1:3]


def _sentences(tree: ast.AST) -> Iterator[str]:
    """Every text of several words that is no docstring and no part of another one."""
    parts = {
        id(part)
        for node in ast.walk(tree)
        if isinstance(node, ast.JoinedStr | ast.Expr)
        for part in (node.values if isinstance(node, ast.JoinedStr) else [node.value])
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in parts:
            text = node.value
            if " " in text.strip() and not text.startswith(WRITTEN):
                yield text


def _is_said(node: ast.expr) -> bool:
    return isinstance(node, ast.Call)


def pasted() -> Iterator[str]:
    """Errors whose words are pasted together, so that nobody can translate them: `file:line: text`."""
    for name, tree in syntax.trees().items():
        for node in _worded(tree, name):
            if isinstance(node, ast.JoinedStr) and any(
                isinstance(part, ast.Constant) and any(ch.isalpha() for ch in part.value)
                for part in node.values
            ):
                yield f"{name}:{node.lineno}: {ast.unparse(node)}"


def _calls(tree: ast.Module, name: str) -> Iterator[ast.Call]:
    for node in syntax.calls(tree):
        if isinstance(node.func, ast.Name) and node.func.id == name:
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
        case ast.Name(id=name) if name in tables:
            yield from _texts(tables[name], tables)
        case ast.Call(func=ast.Name(id="say")):
            yield from _texts(node.args[0], tables)
        case _:
            for inner in _choices(node):
                yield from _texts(inner, tables)


def _choices(node: ast.expr) -> list[ast.expr]:
    """The expressions that one of many comes from."""
    match node:
        case ast.IfExp(body=one, orelse=other):
            return [one, other]
        case ast.Subscript(value=table):
            return [table]
        case ast.Tuple(elts=elements) | ast.List(elts=elements):
            return elements
        case ast.Dict(values=values) | ast.BoolOp(values=values):
            return values
        case _:
            return []


def unsaid() -> Iterator[str]:
    """Texts that are put before people without `say`: `file:line: text`.

    These are the constants and f-strings that stand where a finding's words belong.
    """
    folders = ("lint", "contract", "source", "dag", "packages", "code", "report", "editor")
    for name, tree in syntax.trees().items():
        if name.startswith(tuple(f"dsec_cli/{folder}/" for folder in folders)):
            for line, text in _bare(tree):
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
