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
from dsec_cli.dag.findings import MOST_TOLD, cut_text, cycle_findings
from dsec_cli.diagnostics import Severity
from dsec_cli.lint.rule import Facts, Rule
from dsec_cli.words import joined, say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.dag.cycles import Cycle
    from dsec_cli.diagnostics import Edit, Finding

THIS, EARLIER = "{iteration}", "{previous}"


def check(facts: Facts) -> Iterator[Finding]:
    """One finding for each set of Steps that all wait for each other; those beyond a hundred are counted."""
    if len(facts.contract.steps) == 0:
        return
    order = order_steps(facts.graph())
    if isinstance(order, Order):
        return
    findings = cycle_findings(order)
    for cycle, found in zip(order.found, findings[:MOST_TOLD], strict=False):
        earlier = _by_earlier_file(facts, found, cycle)
        yield earlier or (_mended(facts, found, cycle) if cycle.complete else found)
    yield from findings[MOST_TOLD:]


def _by_earlier_file(facts: Facts, found: Finding, cycle: Cycle) -> Finding | None:
    """The finding with the advice to read the earlier iteration's file, where that is what breaks the cycle.

    A cut alone would let the Step read this iteration's file, which does not exist yet.
    """
    if not cycle.complete or len(cycle.remedy) != 1:
        return None
    cut = cycle.remedy[0]
    edges = [edge for edge in facts.graph().edges if (edge.source, edge.target) == (cut.source, cut.target)]
    files = [edge for edge in edges if edge.kind == "data" and THIS in edge.via]
    if not files:
        return None
    from dsec_cli.lint.edits import inserted, replaced  # only a finding pays for them
    from dsec_cli.lint.mend import with_fix

    ways: list[str] = [
        say(
            "in Step {step} read {meant} instead of {via}",
            step=cut.target,
            meant=edge.via.replace(THIS, EARLIER),
            via=edge.via,
        )
        for edge in files
    ]
    parts = [replaced(facts, edge.path, edge.via.replace(THIS, EARLIER)) for edge in files]
    if len(files) < len(edges):
        ways.append(cut_text(cut))
        path = next(step.path for step in facts.graph().steps if step.id == cut.target)
        parts += [
            inserted(facts, path, "break_cycle", True),
            inserted(facts, path, "break_point", cut.source),
        ]
    advice = say(
        "{ways} ({target} then reads what {source} left an iteration earlier)",
        ways=joined("; ", ways),
        target=cut.target,
        source=cut.source,
    )
    edits = tuple(edit for part in parts for edit in part) if all(parts) else ()
    title = say("break the cycle at {steps}", steps=cut.target)
    return with_fix(found._replace(help=advice), title, edits, safe=False)


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
