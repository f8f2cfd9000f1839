"""The same key stands twice in one mapping.

Why: Readers of YAML keep one of the two and drop the other without a word, and not all keep the
same one. What the author meant is not knowable, so nobody may guess.

Bad (yaml):
    # ds_config.yaml
    max_gpu_hours: 8
    max_gpu_hours: 80

Good (yaml):
    # ds_config.yaml
    max_gpu_hours: 80

Source: seed A section 2; yamllint and cfn-lint users' reports on `<<` and duplicates.
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


RULE = Rule("DS003", "duplicate-key", Severity.ERROR, check, TEXT, when=("DS003",))
