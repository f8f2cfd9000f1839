"""A Step holds more GPUs than its command uses.

Why: A launcher starts as many processes as it is told, and each uses one GPU. The other GPUs of the Step are
held, paid for and idle, and no other Step gets them.

Bad (yaml):
    # ds_config.yaml
    steps:
      - id: train
        run: torchrun --standalone --nproc-per-node 4 train.py
        timeout: 1h
        resources: {gpu: {count: 8}}

Good (yaml):
    # ds_config.yaml
    steps:
      - id: train
        run: torchrun --standalone --nproc-per-node 8 train.py
        timeout: 1h
        resources: {gpu: {count: 8}}

Source: users' reports on sizes that do not fit together.
"""

from __future__ import annotations

from dsec_cli.diagnostics import Finding, Related, Severity
from dsec_cli.lint.launchers import launches
from dsec_cli.lint.rule import Facts, Rule
from dsec_cli.lint.show import counted
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.contract.values import Step
    from dsec_cli.lint.launchers import Launch


def check(facts: Facts) -> Iterator[Finding]:
    """Steps with one command that is known to start one process for each GPU."""
    for step in facts.contract.steps:
        gpu = step.demand.gpu
        if gpu is None or gpu.count is None or step.layers or step.level == "elastic":
            continue
        if gpu.min_count is not None or gpu.max_count is not None:
            continue  # what it is given changes, and its command with it
        started = launches(step)
        # One process may hold several GPUs, as with a model that is laid over all it sees.
        if len(started) == 1 and started[0].kind != "option" and 1 < started[0].count < gpu.count:
            yield _finding(step, started[0], gpu.count)


def _finding(step: Step, launch: Launch, gpus: int) -> Finding:
    where = step.demand.gpu.path if step.demand.gpu is not None else step.path
    return Finding(
        code=RULE.code,
        severity=RULE.severity,
        where=(*step.path, "run"),
        message=say(
            "Step {step} holds {gpus}, but its command uses {used} ({option}): {idle} left idle",
            "idle",
            step=step.id,
            gpus=counted(gpus, "GPU"),
            used=launch.count,
            option=launch.option,
            idle=gpus - launch.count,
        ),
        reason=say("a GPU that a Step holds is given to no other"),
        help=say(
            "write {option} {gpus}, or ask for {used}", option=launch.option, gpus=gpus, used=launch.count
        )
        if " x " not in launch.option
        else say("change one of the sizes, or ask for {used}", used=launch.count),
        related=(Related((*where, "count"), say("{gpus} asked for here", gpus=counted(gpus, "GPU"))),),
    )


RULE = Rule("DS523", "gpus-left-idle", Severity.WARNING, check, when=("launcher", "step-gpu"))
