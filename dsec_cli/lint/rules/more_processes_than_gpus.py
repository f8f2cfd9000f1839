"""A launcher starts more processes than the Step has GPUs.

Why: Each process of `torchrun`, `deepspeed` or `accelerate` takes a GPU of its own. With fewer GPUs
two of them meet on one, which NCCL refuses after everything has been loaded; a tensor-parallel server
fails the same way.

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
from dsec_cli.lint.rule import Facts, Rule
from dsec_cli.lint.show import counted
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.contract.values import Step

OPTIONS = {
    "torchrun": ("--nproc_per_node", "--nproc-per-node"),
    "torch.distributed.run": ("--nproc_per_node", "--nproc-per-node"),
    "torch.distributed.launch": ("--nproc_per_node", "--nproc-per-node"),
    "accelerate": ("--num_processes", "--num-processes"),
    "deepspeed": ("--num_gpus", "--num-gpus"),
    "vllm": ("--tensor-parallel-size", "-tp"),
    "vllm.entrypoints.openai.api_server": ("--tensor-parallel-size", "-tp"),
    "sglang.launch_server": ("--tp", "--tp-size", "--tensor-parallel-size"),
}
"""Per program, the options that say how many processes on one machine get a GPU each."""
MACHINES = frozenset(("--num_machines", "--num-machines", "--cpu", "--use_cpu", "--hostfile"))


def check(facts: Facts) -> Iterator[Finding]:
    """Commands of Steps that state their GPUs."""
    for step in facts.contract.steps:
        gpu = step.demand.gpu
        if gpu is None or not gpu.count or step.run is None or step.kind == "task":
            continue
        for option, processes in _started((step.run.shell or "").split() or list(step.run.argv)):
            if processes > gpu.count:
                yield _finding(step, option, processes, gpu.count)


def _started(words: list[str]) -> Iterator[tuple[str, int]]:
    wanted: tuple[str, ...] = ()
    for at, word in enumerate(words):
        wanted = OPTIONS.get(word.rpartition("/")[2], wanted)
        if not wanted:
            continue
        if word.partition("=")[0] in MACHINES:
            return
        name, equals, value = word.partition("=")
        if name in wanted:
            said = value if equals else words[at + 1] if at + 1 < len(words) else ""
            if said.isascii() and said.isdigit() and len(said) < 6:
                yield name, int(said)


def _finding(step: Step, option: str, processes: int, gpus: int) -> Finding:
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
        ),
        related=(Related((*path, "count"), say("{gpus} asked for here", gpus=counted(gpus, "GPU"))),),
    )


RULE = Rule("DS517", "more-processes-than-gpus", Severity.WARNING, check, when=("launcher", "step-gpu"))
