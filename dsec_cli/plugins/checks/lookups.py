"""Asks: are the names of functions and libraries that are looked up at run time known."""

from __future__ import annotations

from dsec_cli.plugins.check import Check
from dsec_cli.plugins.reasons import finding

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.plugins.facts import Facts
    from dsec_cli.plugins.result import Finding


def check(facts: Facts) -> Iterator[Finding]:
    """One finding for each lookup that could not be followed."""
    for use, code, why in facts.unresolved_lookups:
        yield finding(code, why, facts, unit=use.unit, node=use.function, ip=use.ip)


CHECK = Check("lookups", ("dlsym-computed", "dlsym-unknown", "dlopen-unknown"), check)
