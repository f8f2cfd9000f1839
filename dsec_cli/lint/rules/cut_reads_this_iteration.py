"""A Step reads an earlier iteration's result by `break_cycle`, but names this iteration's file.

Why: `break_cycle` lets a Step start before its break point, which has then written nothing in this
iteration. An input with `{iteration}` names a file that does not exist yet; the plan is fine, and the Step
fails when it opens the file. `{previous}` is the iteration that the broken edge reads.

Bad (yaml):
    # ds_config.yaml
    iterations: {count: 3}
    steps:
      - id: rollout
        run: python rollout.py
        timeout: 60s
        break_cycle: true
        break_point: update
        inputs: ["{run}/policy-{iteration}"]
        outputs: ["{run}/batch-{iteration}"]
      - id: update
        run: python update.py
        timeout: 60s
        inputs: ["{run}/batch-{iteration}"]
        outputs: ["{run}/policy-{iteration}"]

Good (yaml):
    # ds_config.yaml
    iterations: {count: 3}
    steps:
      - id: rollout
        run: python rollout.py
        timeout: 60s
        inputs: ["{run}/policy-{previous}"]
        outputs: ["{run}/batch-{iteration}"]
      - id: update
        run: python update.py
        timeout: 60s
        inputs: ["{run}/batch-{iteration}"]
        outputs: ["{run}/policy-{iteration}"]

Source: an input with `{previous}` is the output with `{iteration}` of an earlier iteration, and needs no
`break_cycle`.
"""

from __future__ import annotations

from dsec_cli.diagnostics import Finding, Severity
from dsec_cli.lint.rule import Facts, Rule
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.dag.graph import Edge, StepGraph
    from dsec_cli.diagnostics import Edit

THIS, EARLIER = "{iteration}", "{previous}"


def check(facts: Facts) -> Iterator[Finding]:
    """Cut edges that hand over a file of this iteration."""
    graph = facts.graph()
    for edge in graph.cuts:
        if edge.kind == "data" and THIS in edge.via:
            yield _finding(facts, graph, edge)


def _finding(facts: Facts, graph: StepGraph, edge: Edge) -> Finding:
    from dsec_cli.lint.mend import with_fix  # only a finding pays for it

    meant = edge.via.replace(THIS, EARLIER)
    rest = _others(graph, edge)
    advice = say("write {meant}", meant=meant)
    if not rest:
        advice = say("write {meant}; break_cycle and break_point are then not needed", meant=meant)
    found = Finding(
        code=RULE.code,
        severity=RULE.severity,
        where=edge.path,
        message=say(
            "Step {target} starts before {source}, its break point, but reads {via}, which {source} writes "
            "in this iteration",
            "not-yet",
            target=edge.target,
            source=edge.source,
            via=edge.via,
        ),
        reason=say("the file does not exist yet when the Step starts"),
        help=advice,
    )
    return with_fix(found, say("write {value}", value=meant), _edits(facts, graph, edge, meant), safe=False)


def _others(graph: StepGraph, edge: Edge) -> bool:
    """Whether the cut has another edge to break, once this one reads the earlier file."""
    return any(
        other != edge and (other.source, other.target) == (edge.source, edge.target) for other in graph.cuts
    )


def _edits(facts: Facts, graph: StepGraph, edge: Edge, meant: str) -> tuple[Edit, ...]:
    from dsec_cli.lint.edits import replaced
    from dsec_cli.lint.removal import removed

    edits = replaced(facts, edge.path, meant)
    if not edits or _others(graph, edge):
        return edits
    step = graph.steps[graph.numbers[edge.target]]
    for key in ("break_cycle", "break_point"):
        if facts.states((*step.path, key)):
            gone = removed(facts, (*step.path, key))
            if not gone:
                return ()
            edits += gone
    return edits


RULE = Rule("DS522", "cut-reads-this-iteration", Severity.ERROR, check, when=("cut",))
