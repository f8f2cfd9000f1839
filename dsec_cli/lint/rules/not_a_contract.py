"""The file is of another kind: an inventory, a plan, a compose file, a workflow, a program.

Why: Said once, it tells more than a list of all that such a file lacks of a contract. Some have a
command of their own, which the finding names.

Bad (yaml):
    # dsandbox.yaml
    machines:
      - {name: left, cpu: 16, memory: 64Gi}

Good (yaml):
    # dsandbox.yaml
    baseline:
      cpu: 16
      memory: 64Gi
    elasticity:
      gpu: {min_count: 1, max_count: 2}
    fault_tolerance:
      level: discardable
    dependencies: []

Source: seed A section 2.1 (what a contract states).
"""

from __future__ import annotations

from dsec_cli.diagnostics import Severity
from dsec_cli.lint.rule import Facts, Rule, structural

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from dsec_cli.diagnostics import Finding


def check(facts: Facts) -> Iterable[Finding]:
    """What building the contract has noted under this code."""
    return structural(facts, RULE.code)


RULE = Rule("DS114", "not-a-contract", Severity.ERROR, check, when=("DS114",))
