"""A Step chooses its GPUs itself, by `CUDA_VISIBLE_DEVICES`.

Why: A Step gets the GPUs of its lease, and DSec sets `CUDA_VISIBLE_DEVICES` to their UUIDs when it
starts it. A value in `env` is overwritten, so it has no effect; one in the command wins, and the Step
runs on GPU 0 while its lease is for another: two Steps meet on one card, and the second is out of
memory.

Bad (yaml):
    # ds_config.yaml
    steps:
      - id: train
        run: |
          CUDA_VISIBLE_DEVICES=0 python train.py
        timeout: 1h
        resources: {gpu: {count: 1, memory: 24Gi}}

Good (yaml):
    # ds_config.yaml
    steps:
      - id: train
        run: python train.py
        timeout: 1h
        resources: {gpu: {count: 1, memory: 24Gi}}

Source: users' reports (all workers on GPU 0, a variable without effect); seed A section 1 (DSec assigns
the GPUs).
"""

from __future__ import annotations

from dsec_cli.diagnostics import Finding, Severity
from dsec_cli.lint.rule import Facts, Rule
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.contract.values import Contract, Step
    from dsec_cli.source.tree import Path

VARIABLE = "CUDA_VISIBLE_DEVICES"
NONE = ("", "-1", "''", '""', "NoDevFiles")
"""Values that choose no GPU at all, which a Step may well want."""


def check(facts: Facts) -> Iterator[Finding]:
    """The variable in the environment and in the commands of the Steps."""
    if VARIABLE not in facts.text.text:
        return
    for path, who in _in_environment(facts.contract):
        yield _finding(
            path,
            say(
                "{who} sets {name}, which DSec writes over when it starts a Step",
                "no-effect",
                who=who,
                name=VARIABLE,
            ),
            say("remove it; a Step sees the GPUs that its resources ask for, numbered from 0"),
        )
    for step in facts.contract.steps:
        value = _in_command(step)
        if value is not None and value not in NONE:
            yield _finding(
                (*step.path, "script" if step.kind == "task" else "run"),
                say(
                    "Step {step} takes GPU {value} whatever its lease says ({name} in its command)",
                    "takes",
                    step=step.id,
                    value=value,
                    name=VARIABLE,
                ),
                say("remove {name}=...; the Step sees the GPUs of its lease, numbered from 0", name=VARIABLE),
            )


def _finding(path: Path, message: str, advice: str) -> Finding:
    return Finding(
        code=RULE.code,
        severity=RULE.severity,
        where=path,
        message=message,
        reason=say("GPUs are assigned by leases; who takes another one meets its holder there"),
        help=advice,
    )


def _in_environment(contract: Contract) -> Iterator[tuple[Path, str]]:
    for variable in contract.env_vars:
        if variable.name == VARIABLE and (variable.value or "") not in NONE:
            yield (*variable.path, "value"), say("the job")
    for step in contract.steps:
        for name, value in step.env:
            if name == VARIABLE and value not in NONE:
                yield (*step.path, "env", name), say("Step {step}", step=step.id)


def _in_command(step: Step) -> str | None:
    """The first value that the command gives the variable; None where it gives it none."""
    if step.run is None:
        return None
    text = step.run.shell or " ".join(step.run.argv)  # a word of `sh -c '...'` is a whole command
    for word in text.split():
        name, equals, value = word.lstrip("'\"(").partition("=")
        if equals and name == VARIABLE and "$" not in value:
            return value.strip("'\";")
    return None


RULE = Rule("DS518", "fixed-gpu-index", Severity.WARNING, check, when=("CUDA_VISIBLE_DEVICES",))
