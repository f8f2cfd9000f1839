"""Asks: does the plugin run code of an interpreter that loads it."""

from __future__ import annotations

from dsec_cli.plugins.apis import INTERPRETERS, RUNS_CODE
from dsec_cli.plugins.check import Check
from dsec_cli.plugins.reasons import finding

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.plugins.facts import Facts
    from dsec_cli.plugins.result import Finding

_SHOWN = 6


def check(facts: Facts) -> Iterator[Finding]:
    """One finding for code that is run from text, one for calls into the interpreter."""
    names = [name for name in facts.package.imports() if name.startswith(INTERPRETERS)]
    running = [name for name in names if name.startswith(RUNS_CODE)]
    if running:
        yield finding("interpreter", f"it runs code ({_list(running)})", facts)
    elif names:
        yield finding("interpreter", f"it imports modules and calls objects ({_list(names)})", facts)


def _list(names: list[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


CHECK = Check("interpreted", ("interpreter",), check)
