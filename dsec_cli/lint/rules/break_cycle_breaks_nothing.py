"""`break_cycle` or `break_point` has no circle to break, or does not say where.

Why: The pair turns one edge of a circle into a read from the iteration before. Where there is no
such edge the Step would seem to be safe and is not, or would read stale data for no reason.

Bad (yaml):
    # ds_config.yaml
    steps:
      - {id: S1, run: python load.py, timeout: 60s}
      - {id: S2, run: python forward.py, timeout: 60s, needs: [S1], break_cycle: true, break_point: S1}

Good (yaml):
    # ds_config.yaml
    steps:
      - {id: S1, run: python load.py, timeout: 60s}
      - {id: S2, run: python forward.py, timeout: 60s, needs: [S1]}

Source: seed A section 5.4 (`break_cycle: true` with a break point).
"""

from __future__ import annotations

from dsec_cli.dag.findings import cut_findings
from dsec_cli.diagnostics import Severity
from dsec_cli.lint.rule import Facts, Rule

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from dsec_cli.diagnostics import Finding


def check(facts: Facts) -> Iterable[Finding]:
    """What the Step graph could not cut as asked."""
    if not any(step.break_cycle or step.break_point is not None for step in facts.contract.steps):
        return ()
    return cut_findings(facts.graph())


RULE = Rule("DS504", "break-cycle-breaks-nothing", Severity.ERROR, check, when=("cut",))
