"""Two Steps in a row want the same resources: splitting them brings nothing.

Why: Steps are worth their cost where the resource profile changes, for then one can run while the
other's resources are taken. Where a Step is followed by just one, with the same demand and the same
tolerance level, the split only adds a start and a hand-over; one team's finer split cost 15 %. Calls
to a warm worker cost next to nothing and are left alone, and so are Steps that are tried again apart.

Bad (yaml):
    # ds_config.yaml
    steps:
      - id: decode
        run: python decode.py
        timeout: 10m
        resources: {cpu: 4, memory: 8Gi}
      - id: crop
        run: python crop.py
        timeout: 10m
        needs: [decode]
        resources: {cpu: 4, memory: 8Gi}

Good (yaml):
    # ds_config.yaml
    steps:
      - id: decode-and-crop
        run: python decode_and_crop.py
        timeout: 20m
        resources: {cpu: 4, memory: 8Gi}

Source: seed A section 3.2 (split where the resource profile changes; S1a, S1b, S1c cost 15 %).
"""

from __future__ import annotations

from dsec_cli.diagnostics import Finding, Related, Severity
from dsec_cli.lint.rule import Facts, Rule
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.contract.values import Step

Profile = tuple[object, ...]


def check(facts: Facts) -> Iterator[Finding]:
    """Steps with one successor, which waits for nobody else and is like them in all that matters."""
    steps = {step.id: step for step in facts.contract.steps}
    pairs = [
        (steps[step.needs[0].step], step)
        for step in facts.contract.steps
        if len(step.needs) == 1 and not step.needs[0].carried and step.needs[0].step in steps
    ]
    alike = [(first, second) for first, second in pairs if _alike(first, second)]
    if not alike:
        return
    graph = facts.graph()
    tied = {edge.source for edge in graph.carried} | {edge.target for edge in graph.carried}
    waits: dict[str, set[str]] = {}
    for edge in graph.edges:
        waits.setdefault(edge.target, set()).add(edge.source)
    for first, second in alike:
        after = graph.successors[graph.numbers[first.id]]
        if len(after) == 1 and waits.get(second.id) == {first.id} and not tied & {first.id, second.id}:
            yield _finding(first, second)


def _alike(first: Step, second: Step) -> bool:
    if first is second or not _command(first) or not _command(second):
        return False
    profile = _profile(first)
    return (
        any(part is not None for part in profile)
        and profile == _profile(second)
        and (first.level, first.cwd, first.env) == (second.level, second.cwd, second.env)
        and first.retries is None
        and second.retries is None
    )


def _command(step: Step) -> bool:
    return step.run is not None and step.run.call is None


def _profile(step: Step) -> Profile:
    demand = step.demand
    gpu = demand.gpu
    held: Profile = (None,) if gpu is None else (gpu.count, gpu.memory and gpu.memory.text, gpu.type)
    return (*demand[2:], *held)


def _finding(first: Step, second: Step) -> Finding:
    return Finding(
        code=RULE.code,
        severity=RULE.severity,
        where=(*second.path, "resources"),
        part="key",
        message=say(
            "Step {second} only follows {first}, and wants the same resources: the split brings nothing",
            "same",
            first=first.id,
            second=second.id,
        ),
        reason=say("each Step costs a start and a hand-over; it pays where the resource profile changes"),
        help=say("join the two, or state what differs: resources, level or retries"),
        related=(Related((*first.path, "resources"), say("{first} wants this", first=first.id)),),
    )


RULE = Rule("DS507", "neighbours-of-one-profile", Severity.WARNING, check, when=("need",))
