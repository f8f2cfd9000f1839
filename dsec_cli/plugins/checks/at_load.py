"""Asks: does the plugin act when it is loaded, before anybody calls it."""

from __future__ import annotations

from dsec_cli.plugins.apis import CRT
from dsec_cli.plugins.check import Check
from dsec_cli.plugins.reasons import finding

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.plugins.facts import Facts
    from dsec_cli.plugins.result import Finding

_HARMLESS = frozenset(("env", "runtime"))


def check(facts: Facts) -> Iterator[Finding]:
    """Permissions that loading uses for sure are errors; what it may use, and other code, is worth a word."""
    told = set()
    for use, judged in facts.judged:
        if facts.tier(use.unit, use.function) != "load":
            continue
        for permission in sorted({name for name, _ in judged.asks} - _HARMLESS):
            if (use.unit, use.function, permission) not in told:
                told.add((use.unit, use.function, permission))
                severity = "" if _certain(facts, (use.unit, use.function), use.ip) else "warning"
                yield finding("load-time", f"{permission} by {use.name}", facts,
                              unit=use.unit, node=use.function, ip=use.ip, severity=severity)  # fmt: skip
    for at, name in facts.package.roots(load=True):
        if name == "ifunc resolver":
            yield finding("ifunc", "", facts, unit=at[0], node=at[1])
        elif not _by_compiler(facts, at):
            yield finding("constructor", name, facts, unit=at[0], node=at[1])


def _certain(facts: Facts, at: tuple[int, int | str], ip: int) -> bool:
    """Whether loading runs an instruction on every way: what a branch may skip is no evidence."""
    *before, _ = facts.load.way(at)
    return all(_runs(facts, *step) for step in (*before, (at, ip, "call")))


def _runs(facts: Facts, at: tuple[int, int | str], ip: int, how: str) -> bool:
    """Whether a function that runs always goes on at an instruction, by a call or through a pointer there."""
    unit, node = at
    analysis = facts.package.units[unit].analysis if unit >= 0 else None
    if analysis is None or analysis.resolver is None or analysis.graph is None or not isinstance(node, int):
        return False
    if how in ("call", "jmp"):
        return analysis.resolver.always_passes(node, ip)
    function = analysis.graph.functions.by_start.get(node)
    if function is None:
        return how == "table"
    # A pointer that is only handed on, as to atexit, is called by somebody else, and later.
    return any(analysis.resolver.always_passes(node, place) for place, _ in function.flow.indirect)


def _by_compiler(facts: Facts, root: tuple[int, int | str]) -> bool:
    """Whether a start function leads to no more than what compilers put there themselves."""
    seen = {root}
    waiting = [root]
    while waiting:
        if len(seen) > len(CRT) + 8:
            return False
        at = waiting.pop()
        if at[0] < 0:
            if at[1] not in CRT:
                return False
            continue
        if any(site.function == at[1] and unit == at[0] for unit, site in facts.package.sites()):
            return False
        for other, _, _ in facts.package.following(at):
            if other not in seen:
                seen.add(other)
                waiting.append(other)
    return _short(facts, root)


_MOST_INSTRUCTIONS = 64


def _short(facts: Facts, root: tuple[int, int | str]) -> bool:
    graph = facts.package.units[root[0]].analysis.graph
    function = (
        graph.functions.by_start.get(root[1]) if graph is not None and isinstance(root[1], int) else None
    )
    return function is None or len(function.flow.ips) <= _MOST_INSTRUCTIONS


CHECK = Check("at_load", ("load-time", "constructor", "ifunc"), check)
