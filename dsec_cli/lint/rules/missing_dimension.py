"""One of the four mandatory dimensions is missing.

Why: Every contract states its baseline, its elasticity, its fault tolerance and its dependencies;
without one of them resources can be neither granted nor taken back safely.

Bad (yaml):
    # dsandbox.yaml
    baseline:
      gpu: {count: 1, memory: 24Gi, type: a100-pcie-40gb}
    elasticity:
      gpu: {min_count: 1, max_count: 2}
    fault_tolerance:
      level: critical

Good (yaml):
    # dsandbox.yaml
    baseline:
      gpu: {count: 1, memory: 24Gi, type: a100-pcie-40gb}
    elasticity:
      gpu: {min_count: 1, max_count: 2}
    fault_tolerance:
      level: discardable
    dependencies: []

Source: seed A section 2.1 (four kinds, none may be left out).
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


RULE = Rule("DS102", "missing-dimension", Severity.ERROR, check, when=("DS102",))
