"""A need that changes nothing: the Step waits for the other one anyway, and reads none of its files.

Why: A graph with edges that say nothing hides the ones that do, and every edge is a reason not to
start. Needs are left alone where a file flows along them, and where either Step does not say what it
reads or writes.

Bad (yaml):
    # ds_config.yaml
    steps:
      - {id: load, run: python load.py, outputs: ["{run}/rows"], timeout: 60s}
      - {id: mean, run: python mean.py, inputs: ["{run}/rows"], outputs: ["{run}/mean"], timeout: 60s}
      - {id: show, run: python show.py, needs: [load], inputs: ["{run}/mean"], timeout: 60s}

Good (yaml):
    # ds_config.yaml
    steps:
      - {id: load, run: python load.py, outputs: ["{run}/rows"], timeout: 60s}
      - {id: mean, run: python mean.py, inputs: ["{run}/rows"], outputs: ["{run}/mean"], timeout: 60s}
      - {id: show, run: python show.py, inputs: ["{run}/mean"], timeout: 60s}

Source: seed A section 3 (the dependency column of the Step table).
"""

from __future__ import annotations

from dsec.core.order import levels, topological
from dsec_cli.dag.paths import Outputs
from dsec_cli.diagnostics import Finding, Severity
from dsec_cli.lint.rule import Facts, Rule
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.contract.values import Need, Step
    from dsec_cli.dag.graph import StepGraph

MOST_VISITS = 20_000
"""Steps looked at per document; a larger graph keeps its doubtful needs."""


def check(facts: Facts) -> Iterator[Finding]:
    """Needs along which no declared file flows, beside another way between the same two Steps."""
    doubtful = list(_doubtful(facts.contract.steps))
    if not doubtful:
        return
    graph = facts.graph()
    before: list[list[int]] = [[] for _ in graph.steps]
    for at, some in enumerate(graph.successors):
        for after in some:
            before[after].append(at)
    heights = _heights(graph)
    budget = MOST_VISITS
    for step, need in doubtful:
        way, visits = _other_way(graph, before, heights, (need.step, step.id))
        budget -= visits
        if budget < 0:
            return
        if way:
            from dsec_cli.lint.mend import without  # only a finding pays for it

            yield without(facts, _finding(step, need, way), need.path, safe=False)


def _doubtful(steps: tuple[Step, ...]) -> Iterator[tuple[Step, Need]]:
    if not any(step.inputs and step.needs for step in steps):
        return
    by_id = {step.id: step for step in steps}
    outputs = Outputs(steps)
    for step in steps:
        if not step.inputs or not step.needs:
            continue
        read = {writer for _, text in step.inputs for writer in outputs.writers(text)}
        for need in step.needs:
            other = by_id.get(need.step)
            if other is None or need.carried or need.step in read or not other.outputs:
                continue
            if step.break_point != need.step and other.id != step.id:
                yield step, need


def _heights(graph: StepGraph) -> list[int]:
    """Per Step the longest chain of needs above it; for one on or behind a circle, more than any has."""
    order = topological(graph.successors)
    level = levels(order, graph.successors)
    heights = [len(level)] * len(level)
    for at in order:
        heights[at] = level[at]
    return heights


def _other_way(
    graph: StepGraph, before: list[list[int]], heights: list[int], ends: tuple[str, str]
) -> tuple[str, int]:
    """A Step that the second of the ends waits for, and that waits for the first; how many were looked at."""
    start, end = (graph.numbers[name] for name in ends)
    # What is no higher than the first end cannot wait for it.
    floor = heights[start] if heights[start] < len(heights) else -1
    first = [at for at in before[end] if at != start and heights[at] > floor]
    seen = set(first)
    waiting = [(at, at) for at in first]
    while waiting:
        at, via = waiting.pop()
        if at == start:
            return graph.steps[via].id, len(seen)
        for more in before[at]:
            if more not in seen and more != end and (more == start or heights[more] > floor):
                seen.add(more)
                waiting.append((more, via))
    return "", len(seen) + 1


def _finding(step: Step, need: Need, way: str) -> Finding:
    return Finding(
        code=RULE.code,
        severity=RULE.severity,
        where=need.path,
        message=say(
            "Step {step} needs {need}, but it waits for {way}, which waits for {need} itself, and reads "
            "none of {need}'s outputs",
            "redundant",
            step=step.id,
            need=need.step,
            way=way,
        ),
        reason=say("an edge that changes nothing hides the ones that do"),
        help=say("remove {need} from needs, or declare the file that it is needed for", need=need.step),
    )


RULE = Rule("DS508", "redundant-need", Severity.INFO, check, when=("need", "input", "output"))
