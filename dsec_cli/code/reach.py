"""From which tools and entry functions each function is reached."""

from __future__ import annotations

from dsec_cli.code.needs import MODULE, UNREACHED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from dsec_cli.code.symbols import Function, Module

MOST_STEPS = 300_000
"""Functions entered in all; thousands of tools that all reach everything tell nothing more."""
ENTRY = "main"


class Reach:
    """Names of the entries that reach each function."""

    def __init__(self, modules: Iterable[Module], roots: list[tuple[str, Function]]) -> None:
        self._names: dict[Function, list[str]] = {}
        self._left = MOST_STEPS
        every = [function for module in modules for function in module.functions]
        mains = [(ENTRY, one) for one in every if one.node.name == ENTRY and one.cls is None]
        for name, function in dict.fromkeys((*roots, *mains)):
            self._spread(name, [function])
        self._modules: set[Function] = set()
        self._spread("", [function for module in modules for function in module.runs])

    def _spread(self, name: str, waiting: list[Function]) -> None:
        seen: set[Function] = set()
        while waiting and self._left > 0:
            function = waiting.pop()
            if function in seen:
                continue
            seen.add(function)
            self._left -= 1
            waiting += function.calls
        for function in seen:
            if name:
                self._names.setdefault(function, []).append(name)
            else:
                self._modules.add(function)

    def names(self, function: Function | None) -> tuple[str, ...]:
        """Entries that reach `function` (None: the module's own code), by name."""
        if function is None:
            return (MODULE,)
        found = self._names.get(function)
        if found:
            return tuple(sorted(set(found)))
        return (MODULE,) if function in self._modules else (UNREACHED,)
