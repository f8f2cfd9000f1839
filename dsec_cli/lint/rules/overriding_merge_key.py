"""A merge key `<<` stands twice in one mapping, or a merged key is written over.

Why: Two `<<` keys are read differently by different readers, and an override hides what the anchor
says from whoever reads the anchor. `<<: [*a, *b]` says the order; the first wins.

Bad (yaml):
    # ds_config.yaml
    steps:
      - &load {id: load, run: python load.py, timeout: 60s}
      - <<: *load
        <<: *load
        id: again

Good (yaml):
    # ds_config.yaml
    steps:
      - &load {id: load, run: python load.py, timeout: 60s}
      - id: again
        run: python again.py
        timeout: 60s

Source: yamllint and spectral users' reports on merge order.
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


RULE = Rule("DS004", "overriding-merge-key", Severity.WARNING, check, TEXT, when=("DS004",))
