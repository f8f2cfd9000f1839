"""An agent's files in, what they need out: the whole reading in one function."""

from __future__ import annotations

import ast

from dsec_cli.code import environment, handed, limiting, tools
from dsec_cli.code.abstract import Method, Symbol
from dsec_cli.code.clients import client
from dsec_cli.code.collect import collect
from dsec_cli.code.evaluate import Evaluator
from dsec_cli.code.found import Found, Site
from dsec_cli.code.known import local as local_calls
from dsec_cli.code.known import network as network_calls
from dsec_cli.code.known.modules import EFFECTS
from dsec_cli.code.known.registrations import SERVERS
from dsec_cli.code.link import link
from dsec_cli.code.locally import local
from dsec_cli.code.models import models
from dsec_cli.code.naming import holder
from dsec_cli.code.needs import (
    Egress,
    Execution,
    FileUse,
    Listen,
    Needs,
    Process,
    Unknown,
    Unread,
    Variable,
)
from dsec_cli.code.networking import network
from dsec_cli.code.parse import MOST_TOGETHER, MOST_WEIGHT, parse, weight
from dsec_cli.code.project import Imports, module_name
from dsec_cli.code.reach import Reach
from dsec_cli.code.results import BY_NAME, ENVIRONMENT
from dsec_cli.code.servers import servers
from dsec_cli.code.symbols import IMPORT, Imported, Module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from dsec_cli.code.knowledge import Entry
    from dsec_cli.code.project import Project
    from dsec_cli.code.symbols import Function, Scope

    Lookup = Callable[[str], Entry | None]

_ASKING = frozenset(network_calls.ASKING)
_EFFECTS = EFFECTS.union(ENVIRONMENT, SERVERS)
_LASTS = frozenset(name.rpartition(".")[2].removesuffix("()") for name in _EFFECTS) | {
    *network_calls.ASKING, *local_calls.PATH_METHODS, *local_calls.SAVING, "from_pretrained", "push_to_hub",
}  # fmt: skip
"""Last names of calls that may matter; all others are not even looked up."""


_TOO_MUCH = "it is too large to be read, or the project is"
_IN_PART = "it is read in part only: its values are computed over too many steps"


def nothing(name: str) -> Entry | None:
    """A knowledge base that knows nothing."""
    return None


def analyse(project: Project, *, lookup: Lookup = nothing) -> Needs:
    """What the project's code needs, found by reading; `lookup` asks a knowledge base by dotted name."""
    modules, unread = _modules(project)
    ev = Evaluator(modules, Imports(project.files, project.name), project.environment or {})
    link(ev)
    registered = tools.find(ev)
    roots = [*registered.roots, *_entries(project, modules)]
    ev.forget()  # what models choose is known to be chosen from here on
    found = Found()
    for module in modules.values():
        ev.allow(module)
        _calls(ev, found, module, lookup)
        _handed_on(ev, found, module)
        environment.subscripts(ev, found, module)
        environment.tests(ev, found, module)
        environment.whole(ev, found, module)
        environment.settings(ev, found, module)
        if ev.steps <= 0:
            unread.append(Unread(module.path, _IN_PART))
    reach = Reach(modules.values(), roots)
    rows = _finished(found, reach, limiting.rates(ev))
    return Needs(
        files_read=len(modules),
        tools=tuple(sorted(registered.tools, key=lambda tool: (*_order(tool), tool.name))),
        environment=_of(rows, Variable),
        egress=_of(rows, Egress),
        listens=_of(rows, Listen),
        subprocesses=_of(rows, Process),
        files=_of(rows, FileUse),
        execution=_of(rows, Execution),
        unknowns=_of(rows, Unknown),
        unread=tuple(sorted((*project.unread, *unread))),
        packages=_packages(ev),
    )


def _modules(project: Project) -> tuple[dict[str, Module], list[Unread]]:
    modules: dict[str, Module] = {}
    unread: list[Unread] = []
    left = MOST_TOGETHER
    for path, text in sorted(project.files.items()):
        heavy = weight(text.text)
        left -= heavy if heavy <= MOST_WEIGHT else 0
        tree = parse(text.text) if heavy <= MOST_WEIGHT and left >= 0 else _TOO_MUCH
        if isinstance(tree, str):
            unread.append(Unread(path, tree))
            continue
        modules[path] = Module(path, module_name(path), text)
        collect(modules[path], tree)
    return modules, unread


def _entries(project: Project, modules: dict[str, Module]) -> list[tuple[str, Function]]:
    """The functions that the project's caller names: `module:function`."""
    found: list[tuple[str, Function]] = []
    for entry in project.entries:
        dotted, _, name = entry.partition(":")
        names = (dotted, dotted.removeprefix(f"{project.name}."))
        for module in modules.values():
            if module.name not in names:
                continue
            for function in module.functions:
                if function.name == f"{module.name}.{name}":
                    function.tool = function.tool or entry
                    found.append((entry, function))
    return found


def _calls(ev: Evaluator, found: Found, module: Module, lookup: Lookup) -> None:
    for call, scope in module.calls:
        if not _may_matter(call, scope):
            continue
        union = Found()
        rows = ev.alternatives(lambda: _of_call(ev, union, call, scope, lookup))  # noqa: B023 # run at once
        for row in rows if union.rows else ():
            ev.under(row, lambda: _of_call(ev, found, call, scope, lookup))  # noqa: B023 # run at once
        if not rows:
            found.rows += union.rows
        found.provided |= union.provided


def _handed_on(ev: Evaluator, found: Found, module: Module) -> None:
    """Functions that somebody else is given to call; of classes it is not known whether they are called."""
    for call, scope in handed.calls(module):
        if not _may_be_given(call.func, scope) or not _has_effect(ev, call, scope):
            continue
        union = Found()
        _of_call(ev, union, call, scope, nothing)
        blind = any(isinstance(one, ast.Starred) for one in call.args)
        for need, function, where in union.rows:
            if blind and isinstance(need, Unknown):
                need = need._replace(reason=handed.ELSEWHERE)
            found.rows.append((need, function, where))


def _may_be_given(func: ast.expr, scope: Scope) -> bool:
    """Whether a function that is handed on is worth looking up: most names are no functions."""
    if isinstance(func, ast.Attribute):
        return func.attr in _LASTS
    if not isinstance(func, ast.Name):
        return False
    if func.id in scope.module.imported or f"builtins.{func.id}" in _EFFECTS:
        return True
    home = holder(func.id, scope)
    kept = home.bindings[func.id] if home is not None else ()
    return any(isinstance(one.what, ast.Attribute) and one.what.attr in _LASTS for one in kept)


def _has_effect(ev: Evaluator, call: ast.Call, scope: Scope) -> bool:
    """Whether what is called is a function that may matter; fields of objects have names like methods."""
    for one in ev.values(call.func, scope):
        if isinstance(one, Symbol) and one.name in _EFFECTS:
            return not one.name.rpartition(".")[2][:1].isupper()
        if isinstance(one, Method) and (one.name in _EFFECTS or one.name.rpartition(".")[2] in _ASKING):
            return True
    return False


def _of_call(ev: Evaluator, found: Found, call: ast.Call, scope: Scope, lookup: Lookup) -> None:
    for target in ev.values(call.func, scope):
        if isinstance(target, Symbol | Method):
            _effects(Site(ev, found, call, scope, target), lookup)
        elif target == BY_NAME:
            _by_name(Site(ev, found, call, scope, Symbol("getattr")))


def _by_name(site: Site) -> None:
    """`getattr(os, name)()`: any function of a module that has some that matter."""
    site.add(Execution("function", False, site.by, site.place(), ()))


def _may_matter(call: ast.Call, scope: Scope) -> bool:
    func = call.func
    if isinstance(func, ast.Name):
        return True
    if not isinstance(func, ast.Attribute) or func.attr in _LASTS:
        return True
    bottom = func.value
    while isinstance(bottom, ast.Attribute):
        bottom = bottom.value
    return isinstance(bottom, ast.Name) and bottom.id in scope.module.imported


def _effects(site: Site, lookup: Lookup) -> None:
    done = environment.variables(site)
    reaches = servers(site) or network(site)
    touches = local(site)
    asks = models(site)
    if not (done or reaches or touches or asks) or site.name in network_calls.HUB_CALLS:
        client(site, lookup)


def _finished(found: Found, reach: Reach, rates: dict[Function, str]) -> list[Any]:
    """Each need once, with what reaches it, in the order of places."""
    rows: dict[Any, None] = {}
    for need, function, _ in found.rows:
        if isinstance(need, Variable) and need.name in found.provided:
            continue
        one: Any = need._replace(reached=reach.names(function))
        if isinstance(need, Egress) and function in rates:
            one = one._replace(rate=rates[function])
        if isinstance(need, Variable) and need.name in found.optional:
            one = one._replace(required=False)
        rows[type(need), one] = None
    ordered = sorted(rows, key=lambda row: (*_order(row[1]), *map(str, row[1][:4])))
    return [row[1] for row in ordered]


def _order(one: Any) -> tuple[Any, ...]:
    return (one.place.file, one.place.span)


def _of(rows: list[Any], kind: type) -> tuple[Any, ...]:
    return tuple(row for row in rows if type(row) is kind)


def _packages(ev: Evaluator) -> tuple[str, ...]:
    """First components of what the project imports from elsewhere."""
    found: set[str] = set()
    for module in ev.modules.values():
        every = [module.scope, *(function.scope for function in module.functions)]
        for scope in every:
            for bindings in scope.bindings.values():
                found.update(_outside(ev, module, one.what) for one in bindings if one.kind == IMPORT)
    return tuple(sorted(found - {""}))


def _outside(ev: Evaluator, module: Module, what: object) -> str:
    if not isinstance(what, Imported) or what.module.startswith("."):
        return ""
    first = what.module.partition(".")[0]
    ours = ev.imports.path(module.path, what.module) or ev.imports.path(module.path, first)
    own = ev.imports.inner(what.module) is not None
    return "" if ours or own or ev.imports.is_folder(module.path, first) else first
