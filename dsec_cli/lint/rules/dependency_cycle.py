"""Steps wait for each other in a circle, and nothing says where to break it.

Why: No Step of the circle can ever start. Running them one after the other anyway would quietly
change what the job computes, so the contract must say which edge reads the result of the iteration
before: `break_cycle: true` with the Step it breaks from. Circles also come about through files,
without any `needs`.

Bad (yaml):
    # ds_config.yaml
    steps:
      - {id: S2, run: python forward.py, timeout: 300s, needs: [S3]}
      - {id: S3, run: python reward.py, timeout: 300s, needs: [S2]}

Good (yaml):
    # ds_config.yaml
    steps:
      - {id: S2, run: python forward.py, timeout: 300s, needs: [S3], break_cycle: true, break_point: S3}
      - {id: S3, run: python reward.py, timeout: 300s, needs: [S2]}

Source: seed A section 5.4 (S3 needs S2's output, S2's input comes from S3's history).
"""

from __future__ import annotations

from dsec_cli.dag.cycles import order_steps
from dsec_cli.dag.findings import cycle_findings
from dsec_cli.dag.graph import step_graph
from dsec_cli.diagnostics import Severity
from dsec_cli.lint.rule import Facts, Rule

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from dsec_cli.diagnostics import Finding


def check(facts: Facts) -> Iterable[Finding]:
    """One finding for each set of Steps that all wait for each other."""
    if len(facts.contract.steps) == 0:
        return ()
    return cycle_findings(order_steps(step_graph(facts.contract)))


RULE = Rule("DS503", "dependency-cycle", Severity.ERROR, check)
