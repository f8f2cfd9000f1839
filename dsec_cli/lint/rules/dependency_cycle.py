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

from dsec_cli.dag.cycles import Order, order_steps
from dsec_cli.dag.findings import MOST_TOLD, cycle_findings
from dsec_cli.diagnostics import Severity
from dsec_cli.lint.rule import Facts, Rule
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.dag.cycles import Cycle
    from dsec_cli.diagnostics import Edit, Finding


def check(facts: Facts) -> Iterator[Finding]:
    """One finding for each set of Steps that all wait for each other; those beyond a hundred are counted."""
    if len(facts.contract.steps) == 0:
        return
    order = order_steps(facts.graph())
    if isinstance(order, Order):
        return
    findings = cycle_findings(order)
    for cycle, found in zip(order.found, findings[:MOST_TOLD], strict=False):
        yield _of_itself(facts, found, cycle) or (_mended(facts, found, cycle) if cycle.complete else found)
    yield from findings[MOST_TOLD:]


def _of_itself(facts: Facts, found: Finding, cycle: Cycle) -> Finding | None:
    """The finding about a Step that needs itself, which most often is a slip: the need goes."""
    edge = cycle.loop[0]
    if len(cycle.members) > 1 or edge.kind != "order":
        return None
    from dsec_cli.lint.mend import without  # only a finding pays for it

    advice = say("remove {step} from its own needs; or {otherwise}", step=edge.target, otherwise=found.help)
    return without(facts, found._replace(help=advice), edge.path, safe=False)


def _mended(facts: Facts, found: Finding, cycle: Cycle) -> Finding:
    """The finding with the fix that makes the cuts which its advice names, if all can be made."""
    from dsec_cli.lint.edits import inserted, replaced  # only a finding pays for them
    from dsec_cli.lint.mend import with_fix

    paths = {step.id: step.path for step in facts.contract.steps}
    targets = list(dict.fromkeys(cut.target for cut in cycle.remedy))
    points = [cut.target for cut in cycle.remedy if cut.breaks]
    edits: list[Edit] = []
    for cut in cycle.remedy:
        path = paths[cut.target]
        cuts = (
            (*inserted(facts, path, "break_cycle", True), *inserted(facts, path, "break_point", cut.source))
            if cut.breaks
            else ()
        )
        reads = [edit for one in cut.readings for edit in replaced(facts, one.path, one.instead)]
        if len(cuts) != 2 * cut.breaks or points.count(cut.target) > 1 or len(reads) != len(cut.readings):
            return found
        edits += (*cuts, *reads)
    title = say("break the cycle at {steps}", steps=", ".join(targets))
    return with_fix(found, title, tuple(edits), safe=False)


RULE = Rule("DS503", "dependency-cycle", Severity.ERROR, check, when=("later-step",))
