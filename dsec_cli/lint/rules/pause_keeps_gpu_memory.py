"""A pauseable job with GPUs: pausing stops the processes but does not give their GPU memory back.

Why: A stopped process keeps its CUDA context and every byte it has allocated. Whoever pauses a job
to make room for another gains GPU time, not GPU memory. The memory is free only when the Step saves
itself and leaves (the SDK's save and restore), or where the driver can move a process's memory out
by itself.

Bad (yaml):
    # ds_config.yaml
    steps:
      - id: train
        run: python train.py
        timeout: 1h
        level: pauseable
        resources:
          gpu: {count: 1, memory: 20Gi}

Good (yaml):
    # ds_config.yaml
    steps:
      - id: train
        run: python train.py
        timeout: 1h
        level: critical
        resources:
          gpu: {count: 1, memory: 20Gi}

Source: seed A section 2.1 (pauseable freezes the process); measured: a stopped process keeps its
GPU memory.
"""

from __future__ import annotations

from dsec_cli.diagnostics import Finding, Severity
from dsec_cli.lint.rule import Facts, Rule
from dsec_cli.lint.show import counted
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.contract.values import Gpu
    from dsec_cli.source.tree import Path


def check(facts: Facts) -> Iterator[Finding]:
    """Explicit `level: pauseable` on a Step with GPUs, or on a contract whose baseline has some."""
    contract = facts.contract
    tolerance, baseline = contract.fault_tolerance, contract.baseline
    if tolerance is not None and tolerance.level == "pauseable" and baseline is not None:
        yield from _keeps(say("the job"), tolerance.path, baseline.gpu)
    for step in contract.steps:
        if step.level == "pauseable":
            yield from _keeps(say("Step {id}", id=step.id), step.path, step.demand.gpu)


def _keeps(who: str, path: Path, gpu: Gpu | None) -> Iterator[Finding]:
    if gpu is None or gpu.count == 0:
        return
    count = gpu.count or 1
    held: str = counted(count, "GPU")
    if gpu.memory is not None:
        held = say("{memory} on {gpus}", memory=gpu.memory.text, gpus=held)
    yield Finding(
        code=RULE.code,
        severity=RULE.severity,
        where=(*path, "level"),
        message=say(
            "pausing {who} does not free its GPU memory: it keeps {held}",
            "pausing-does-free",
            who=who,
            held=held,
        ),
        reason=say("a stopped process holds its CUDA context and all it has allocated"),
        help=(
            say(
                "nothing to do if only GPU time is to be shared; to free the memory let the Step "
                "save itself within checkpoint_grace_period and start again from that checkpoint"
            )
        ),
    )


RULE = Rule("DS310", "pause-keeps-gpu-memory", Severity.INFO, check, when=("pauseable",))
