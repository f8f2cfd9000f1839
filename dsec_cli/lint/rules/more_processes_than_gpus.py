"""A launcher starts more processes than the Step has GPUs.

Why: Each process of `torchrun`, `deepspeed` or `accelerate` takes a GPU of its own. With fewer GPUs
two of them meet on one, which NCCL refuses after everything has been loaded; a tensor-parallel server
fails the same way. A Step that states no GPU at all gets none.

Bad (yaml):
    # ds_config.yaml
    steps:
      - id: train
        run: torchrun --standalone --nproc-per-node 8 train.py
        timeout: 1h
        resources: {gpu: {count: 4, memory: 24Gi}}

Good (yaml):
    # ds_config.yaml
    steps:
      - id: train
        run: torchrun --standalone --nproc-per-node 4 train.py
        timeout: 1h
        resources: {gpu: {count: 4, memory: 24Gi}}

Source: users' reports on sizes that do not fit together (all workers on one GPU, tensor parallelism over
more GPUs than there are).
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

    from dsec_cli.contract.values import Step
    from dsec_cli.lint.launchers import Launch


def check(facts: Facts) -> Iterator[Finding]:
    """Commands of Steps, against the GPUs that the Step asks for."""
    baseline = facts.contract.baseline
    held = baseline is not None and baseline.gpu is not None and baseline.gpu.count
    for step in facts.contract.steps:
        gpu = step.demand.gpu
        if step.layers or (gpu is not None and gpu.count is None) or _misstated(facts, step):
            continue
        have = (gpu.count or 0) if gpu is not None else 0
        for launch in launches(step):
            if have and launch.count > _most(step, have):
                yield _finding(step, launch, have)
            elif gpu is None and (held or launch.kind == "engine"):
                yield _without_gpu(facts, step, launch)


def _most(step: Step, have: int) -> int:
    """The GPUs that the Step may be given; a command that is written for its most is right."""
    gpu = step.demand.gpu
    return max(have, gpu.max_count or 0) if gpu is not None else have


def _misstated(facts: Facts, step: Step) -> bool:
    """Whether a demand is there that could not be read."""
    return step.demand.gpu is None and any(
        not isinstance(found.where, Span) and found.where[:2] == step.path and "timeout" not in found.where
        for found in facts.structural
    )


def _without_gpu(facts: Facts, step: Step, launch: Launch) -> Finding:
    found = Finding(
        code=RULE.code,
        severity=RULE.severity,
        where=(*step.path, "run"),
        message=say(
            "Step {step} starts {processes} processes ({option}), each with a GPU, but asks for no GPU",
            "no-gpu",
            step=step.id,
            processes=launch.count,
            option=launch.option,
        ),
        reason=say("a Step gets the GPUs that its resources state, and none if they state none"),
        help=say("add to its resources: gpu: {{count: {count}}}", count=launch.count),
    )
    from dsec_cli.lint.edits import Written  # only a finding pays for it
    from dsec_cli.lint.mend import with_entry

    if facts.states((*step.path, "resources")):
        return with_entry(
            facts, found, (*step.path, "resources"), "gpu", Written(f"{{count: {launch.count}}}")
        )
    return with_entry(facts, found, step.path, "resources", Written(f"{{gpu: {{count: {launch.count}}}}}"))


def _finding(step: Step, launch: Launch, gpus: int) -> Finding:
    option, processes = launch.option, launch.count
    path = step.demand.gpu.path if step.demand.gpu is not None else step.path
    return Finding(
        code=RULE.code,
        severity=RULE.severity,
        where=(*step.path, "run"),
        message=say(
            "Step {step} starts {processes} processes ({option}) on {gpus}: {over} have no GPU of their own",
            "over",
            step=step.id,
            processes=processes,
            option=option,
            gpus=counted(gpus, "GPU"),
            over=processes - gpus,
        ),
        reason=say("each process takes a GPU of its own, and NCCL refuses two on one"),
        help=say(
            "write {option} {gpus}, or ask for {processes} GPUs",
            option=option,
            gpus=gpus,
            processes=processes,
        )
        if " x " not in option
        else say(
            "make these sizes come to {gpus}, or ask for {processes} GPUs", gpus=gpus, processes=processes
        ),
        related=(Related((*path, "count"), say("{gpus} asked for here", gpus=counted(gpus, "GPU"))),),
    )


RULE = Rule("DS517", "more-processes-than-gpus", Severity.WARNING, check, when=("launcher",))
