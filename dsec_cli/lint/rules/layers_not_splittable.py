"""A Step states layers by which it cannot be split.

Why: Layers are stated so that a Step which fits no single device is cut into parts, whose outputs an
AllReduce Step makes into one. That takes a Step on one GPU, outputs that can be put together, and
memory that its layers fit in; else the plan is refused on the first machine whose devices are too small.

Bad (yaml):
    # ds_config.yaml
    steps:
      - id: forward
        run: python forward.py
        timeout: 1h
        resources: {gpu: {count: 1, type: a100}}
        layers: {memory: 1200Mi, count: 64}
        outputs: ["{run}/gradients.pt"]

Good (yaml):
    # ds_config.yaml
    steps:
      - id: forward
        run: python forward.py
        timeout: 1h
        resources: {gpu: {count: 1, type: a100}}
        layers: {memory: 1200Mi, count: 64}
        all_reduce: gradients:join
        outputs: ["{run}/gradients.pt"]

Source: seed A section 3.1 (a Step that fits no single card is cut by its layers, with an AllReduce Step).
"""

from __future__ import annotations

from dsec_cli.dag.splittable import obstacles
from dsec_cli.diagnostics import Finding, Severity
from dsec_cli.lint.rule import Facts, Rule
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.contract.values import Step
    from dsec_cli.source.tree import Path

REASON = say("a Step with layers is split where it fits no single device")


def check(facts: Facts) -> Iterator[Finding]:
    """Ask of each Step with layers what forbids to cut it."""
    steps = facts.contract.steps
    ids = {step.id for step in steps}
    for step in steps:
        if step.layers:
            yield from _of_layers(step, ids)
        elif step.all_reduce is not None and facts.lacks((*step.path, "layers")):
            yield _finding(
                (*step.path, "all_reduce"),
                say("Step {id} states all_reduce and no layers", "no-layers", id=step.id),
                say("nothing is put together where nothing is split"),
                say("state its layers: layers: [{memory: 1200Mi, count: 32}]"),
            )


def _of_layers(step: Step, ids: set[str]) -> Iterator[Finding]:
    if step.demand.gpu is None or step.demand.gpu.count == 0:
        yield _finding(
            (*step.path, "layers"),
            say("Step {id} states layers and takes no GPU", "no-gpu", id=step.id),
            say("layers are cut by the memory of GPUs: here they decide nothing"),
            say("add resources: {gpu: {count: 1}}"),
        )
    for obstacle in obstacles(step, ids):
        message = say(
            "Step {id} states layers and cannot be split: {why}",
            "cannot-be-split",
            id=step.id,
            why=obstacle.message,
        )
        yield _finding(obstacle.where, message, REASON, obstacle.help)


def _finding(where: Path, message: str, reason: str, help_: str) -> Finding:
    return Finding(
        code=RULE.code,
        severity=RULE.severity,
        where=where,
        message=message,
        reason=reason,
        help=help_,
        part="key" if where[-1] in ("layers", "all_reduce") else "value",
    )


RULE = Rule("DS519", "layers-not-splittable", Severity.WARNING, check, when=("layers",))
