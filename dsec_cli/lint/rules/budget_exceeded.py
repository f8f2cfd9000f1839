"""The text nests deeper, or expands to more nodes, than any contract needs.

Why: Two hundred bytes of aliases can expand without end. Reading stops at a budget instead of
taking the machine's memory.

Bad (generated):
    nested lists, 5000 deep

Good (yaml):
    # ds_config.yaml
    data_source: ds://datasets/a

Source: robustness; no seed.
"""

from __future__ import annotations

from dsec_cli.diagnostics import Severity
from dsec_cli.lint.rule import TEXT, Facts, Rule, problems

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from dsec_cli.diagnostics import Finding


def check(facts: Facts) -> Iterable[Finding]:
    """What the reader of the text has noted under this code."""
    return problems(facts, RULE.code, RULE.severity)


RULE = Rule("DS010", "budget-exceeded", Severity.ERROR, check, TEXT, when=("DS010",))
