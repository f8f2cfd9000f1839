"""A file holds more than one contract.

Why: `dsec plan` and `dsec run` read one contract of a file. The others would be checked, and then left out
in silence.

Bad (yaml):
    # dsandbox.yaml
    name: first
    baseline: {cpu: 1}
    elasticity: {gpu: {min_count: 0, max_count: 0}}
    fault_tolerance: {level: critical}
    dependencies: []
    ---
    name: second
    baseline: {cpu: 1}
    elasticity: {gpu: {min_count: 0, max_count: 0}}
    fault_tolerance: {level: critical}
    dependencies: []

Good (yaml):
    # dsandbox.yaml
    name: first
    baseline: {cpu: 1}
    elasticity: {gpu: {min_count: 0, max_count: 0}}
    fault_tolerance: {level: critical}
    dependencies: []

Source: users' reports of tools that take the first document of a file and ignore the rest.
"""

from __future__ import annotations

from dsec_cli.diagnostics import Severity
from dsec_cli.lint.rule import Facts, Rule, structural

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.diagnostics import Finding


def check(facts: Facts) -> Iterator[Finding]:
    """What building the contract has said of a further document."""
    return structural(facts, RULE.code)


RULE = Rule("DS115", "several-contracts", Severity.ERROR, check, when=("DS115",))
