"""The baseline holds GPUs, but no Step asks for one.

Why: A Step gets the GPUs that its `resources` state, and none if they state none: the baseline only says
what the job holds. Such a job runs on the processor, or fails at the first CUDA call, while its GPUs idle.

Bad (yaml):
    baseline:
      gpu: {count: 8, type: h100-sxm-80gb}
    elasticity:
      gpu: {min_count: 8, max_count: 8}
    nvlink_mode: switched
    steps:
      - {id: train, run: python train.py, timeout: 20h}

Good (yaml):
    baseline:
      gpu: {count: 8, type: h100-sxm-80gb}
    elasticity:
      gpu: {min_count: 8, max_count: 8}
    nvlink_mode: switched
    steps:
      - {id: train, run: python train.py, timeout: 20h, resources: {gpu: {count: 8}}}

Source: users' reports of jobs that held GPUs and computed on the processor.
"""

from __future__ import annotations

from dsec_cli.diagnostics import Finding, Related, Severity
from dsec_cli.lint.launchers import launches
from dsec_cli.lint.rule import Facts, Rule
from dsec_cli.lint.show import counted
from dsec_cli.source.text import Span
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


def check(facts: Facts) -> Iterator[Finding]:
    """One finding for a job whose Steps leave all its GPUs idle."""
    contract = facts.contract
    gpu = contract.baseline.gpu if contract.baseline is not None else None
    if gpu is None or not gpu.count or facts.document.gaps:
        return
    steps = [step for step in contract.steps if step.kind == "step"]
    if not steps or len(steps) < len(contract.steps) or any(step.demand.gpu or step.layers for step in steps):
        return
    if _unread(facts) or any(map(launches, steps)):
        return  # what starts a process for each GPU is told at its command
    first = steps[0]
    yield Finding(
        code=RULE.code,
        severity=RULE.severity,
        where=(*gpu.path, "count"),
        message=say("the baseline holds {gpus}, but no Step asks for one", gpus=counted(gpu.count, "GPU"))
        if len(steps) > 1
        else say(
            "the baseline holds {gpus}, but Step {step} asks for none",
            "only-step",
            gpus=counted(gpu.count, "GPU"),
            step=first.id,
        ),
        reason=say("a Step gets the GPUs that its resources state, and none if they state none"),
        help=say(
            "add `resources: {{gpu: {{count: {count}}}}}` to the Steps that compute on GPUs, "
            "or remove baseline.gpu",
            count=gpu.count,
        ),
        related=(Related(first.path, say("{step} asks for none", step=first.id)),),
    )


def _unread(facts: Facts) -> bool:
    """Whether what could not be read, or is misspelt, may be the demand of a Step."""
    places = (found.where for found in facts.structural)
    return any(not isinstance(where, Span) and where[:1] == ("steps",) for where in places)


RULE = Rule("DS213", "gpus-not-requested", Severity.WARNING, check, when=("baseline.gpu", "step"))
