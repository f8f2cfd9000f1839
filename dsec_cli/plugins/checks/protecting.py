"""Asks: what part of the code do the compiler's protections cover."""

from __future__ import annotations

from dsec_cli.plugins.check import Check
from dsec_cli.plugins.notes import properties
from dsec_cli.plugins.reasons import finding

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.plugins.facts import Facts
    from dsec_cli.plugins.graph import Graph
    from dsec_cli.plugins.package import Unit
    from dsec_cli.plugins.result import Finding

_CANARY = "__stack_chk_fail"
_LEAST = 8
"""Functions below which a share says nothing."""


def check(facts: Facts) -> Iterator[Finding]:
    """One remark for each library; shares of functions and calls, for one symbol proves nothing."""
    for index, unit in enumerate(facts.package.units):
        graph = unit.analysis.graph
        if graph is None or unit.analysis.swept or len(graph.functions.by_start) < _LEAST:
            continue
        words = [_canaries(graph), *_fortified(unit)]
        words += [f"{word} in all of it" for word in properties(unit.analysis.image)]
        yield finding("hardening", "; ".join(words), facts, unit=index)


def _canaries(graph: Graph) -> str:
    whole = [start for start in graph.functions.by_start if start not in graph.functions.stubs]
    held = sum(any(node == _CANARY for _, node, _ in graph.edges.get(start, ())) for start in whole)
    return f"{100 * held // max(1, len(whole))} % of functions check the stack"


def _fortified(unit: Unit) -> list[str]:
    """How many of the functions that have a checked form are imported in it."""
    names = {one.name for one in unit.analysis.imports()}
    checked = {name for name in names if name.startswith("__") and name.endswith("_chk")} - {_CANARY}
    plain = {name for name in names if name in _FORTIFIABLE}
    if not checked and not plain:
        return []
    return [f"{len(checked)} of {len(checked) + len(plain)} such functions of libc in their checked form"]


_FORTIFIABLE = frozenset(
    (
        *("memcpy", "memmove", "memset", "strcpy", "strncpy", "strcat", "strncat", "sprintf", "snprintf"),
        *("vsprintf", "vsnprintf", "printf", "fprintf", "vprintf", "vfprintf", "read", "recv", "readlink"),
        *("getcwd", "realpath", "fgets", "fread", "poll", "gethostname"),
    )
)

CHECK = Check("protecting", ("hardening",), check)
