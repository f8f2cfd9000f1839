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
    """Permissions used at load are errors; other code that runs then is worth a word."""
    told = set()
    for use, judged in facts.judged:
        if facts.tier(use.unit, use.function) != "load":
            continue
        for permission in sorted({name for name, _ in judged.asks} - _HARMLESS):
            if (use.unit, use.function, permission) not in told:
                told.add((use.unit, use.function, permission))
                severity = "" if use.unit == 0 or _by_calls(facts, (use.unit, use.function)) else "warning"
                yield finding("load-time", f"{permission} by {use.name}", facts,
                              unit=use.unit, node=use.function, ip=use.ip, severity=severity)  # fmt: skip
    for at, name in facts.package.roots(load=True):
        if name == "ifunc resolver":
            yield finding("ifunc", "", facts, unit=at[0], node=at[1])
        elif not _by_compiler(facts, at):
            yield finding("constructor", name, facts, unit=at[0], node=at[1])


def _by_calls(facts: Facts, at: tuple[int, int | str]) -> bool:
    """Whether calls alone lead there, no pointers that may never be called."""
    return all(how in ("call", "jmp", "") for _, _, how in facts.load.way(at))


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
