"""Nothing says which type of GPU the job is for.

Why: The type is matched exactly, so that a job built for an A100 never lands on a V100. Without it
the most common type is assumed, and once those are taken the job waits for ever.

Bad (yaml):
    baseline:
      gpu:
        count: 2
        memory: 24Gi

Good (yaml):
    baseline:
      gpu:
        count: 2
        memory: 24Gi
        type: a100-pcie-40gb

A job whose Steps state a type each, as on a machine with cards of several types, needs none in its baseline.

Source: seed A section 2.1 (`type` is a hard match; a contract without it may pend for ever).
"""

from __future__ import annotations

from dsec_cli.diagnostics import Finding, Severity
from dsec_cli.lint.rule import Facts, Rule
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.contract.values import Baseline


def check(facts: Facts) -> Iterator[Finding]:
    """`baseline.gpu` that asks for GPUs and states no `type`, unless all Steps with GPUs state theirs."""
    baseline = facts.contract.baseline
    if baseline is None:
        return
    if baseline.gpu is None or baseline.gpu.count == 0:
        yield from _of_steps(facts, baseline)
        return
    if baseline.gpu.type is not None or not facts.lacks((*baseline.gpu.path, "type")) or _all_typed(facts):
        return
    found = Finding(
        code=RULE.code,
        severity=RULE.severity,
        where=baseline.gpu.path,
        part="key",
        message=say("baseline.gpu states no type", "baselinegpu-states-type"),
        reason=say("the most common type is assumed, and once those GPUs are taken the job waits for ever"),
        help=say("add the type the job was built for, for example `type: a100-pcie-40gb`"),
    )
    types = {device.type for device in facts.inventory.devices} if facts.inventory is not None else set()
    if len(types) != 1 or None in types:
        yield found
        return
    from dsec_cli.lint.mend import with_entry  # only a finding pays for it

    yield with_entry(facts, found, baseline.gpu.path, "type", str(types.pop()))


def _all_typed(facts: Facts) -> bool:
    """Whether there are Steps with GPUs, and each says of which type."""
    asks = [step.demand.gpu for step in facts.contract.steps if step.demand.gpu is not None]
    return bool(asks) and all(ask.type is not None for ask in asks)


def _of_steps(facts: Facts, baseline: Baseline) -> Iterator[Finding]:
    """The first Step that asks for GPUs of no type, where the baseline has none."""
    unread = baseline.gpu is None and facts.states((*baseline.path, "gpu"))
    if unread or facts.document.gaps or any(f.where[:1] == baseline.path for f in facts.structural):
        return
    for step in facts.contract.steps:
        gpu = step.demand.gpu
        if gpu is not None and gpu.count and gpu.type is None and facts.lacks((*gpu.path, "type")):
            yield Finding(
                code=RULE.code,
                severity=Severity.WARNING,
                where=gpu.path,
                part="key",
                message=say(
                    "Step {step} asks for GPUs, and neither it nor baseline.gpu states a type",
                    "step-states-no-type",
                    step=step.id,
                ),
                reason=say(
                    "the baseline says which GPUs the job holds and of which type: here it holds none"
                ),
                help=say(
                    "add to baseline: gpu: {gpu}",
                    gpu=f"{{count: {gpu.count}, type: a100-pcie-40gb}}",
                ),
            )
            return


RULE = Rule("DS204", "gpu-type-missing", Severity.ERROR, check, when=("gpu-without-type",))
