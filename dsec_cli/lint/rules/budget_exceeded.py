"""The text is larger, nests deeper, or expands to more nodes, than any contract needs.

Why: Two hundred bytes of aliases can expand without end. Reading stops at a budget instead of
taking the machine's memory: 250,000 values and comments, as many as 100,000 lines have, 32 bytes and
two lines for each of them, 256 levels and 10,000 aliases. DSEC_MAX_NODES=1000000 allows more values.

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
