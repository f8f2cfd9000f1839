"""A Step asks for a GPU type that the baseline excludes.

Why: GPU types are matched strictly. The baseline says which cards the job holds; a Step that wants another
type gets none of them, and waits for cards that the job never asked for.

Bad (yaml):
    baseline:
      gpu: {count: 1, type: a100-pcie-40gb}
    elasticity:
      gpu: {min_count: 1, max_count: 1}
    steps:
      - {id: train, run: python train.py, timeout: 60s, resources: {gpu: {count: 1, type: h100}}}

Good (yaml):
    baseline:
      gpu: {count: 1, type: a100-pcie-40gb}
    elasticity:
      gpu: {min_count: 1, max_count: 1}
    steps:
      - {id: train, run: python train.py, timeout: 60s, resources: {gpu: {count: 1, type: a100}}}

Source: the rule that GPU types are matched strictly: an A100 is no H100.
"""

from __future__ import annotations

from dsec import cards
from dsec_cli.diagnostics import Finding, Related, Severity
from dsec_cli.lint.rule import Facts, Rule
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


def check(facts: Facts) -> Iterator[Finding]:
    """Types of Steps that share no card with the baseline's."""
    baseline = facts.contract.baseline
    gpu = baseline.gpu if baseline is not None else None
    if gpu is None or gpu.type is None or not gpu.count:
        return
    held = frozenset(cards.resolve(gpu.type))
    known: dict[str, bool] = {}
    for step in facts.contract.steps:
        asked = step.demand.gpu
        if step.kind != "step" or asked is None or asked.type is None:
            continue
        if asked.type not in known:
            wanted = cards.resolve(asked.type)
            # A card that the table lacks is told about elsewhere.
            known[asked.type] = bool(held and wanted) and held.isdisjoint(wanted)
        if known[asked.type]:
            yield Finding(
                code=RULE.code,
                severity=RULE.severity,
                where=(*asked.path, "type"),
                message=say(
                    "Step {step} asks for GPU type {type}, but the baseline holds {held}",
                    "other-type",
                    step=step.id,
                    type=asked.type,
                    held=gpu.type,
                ),
                reason=say("types are matched strictly: none of the job's GPUs is of this type"),
                help=say(
                    "write type: {held}, or leave type out to take the baseline's; "
                    "a job on several types states them as `tasks`",
                    held=gpu.type,
                ),
                related=(Related((*gpu.path, "type"), say("the baseline's type is {held}", held=gpu.type)),),
            )


RULE = Rule("DS214", "gpu-type-contradicts", Severity.WARNING, check, when=("baseline.gpu", "gpu-type"))
