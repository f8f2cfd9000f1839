"""The port at which the processes of a job meet is fixed.

Why: The second run on the same machine finds the port taken and dies, or worse, joins the first
run. Port 0, or a port that the launcher finds for itself, never collides.

Bad (yaml):
    # ds_config.yaml
    steps:
      - id: train
        run: torchrun --nproc-per-node 2 --master-port 29500 train.py
        timeout: 1h
        resources: {gpu: {count: 2, memory: 24Gi}}

Good (yaml):
    # ds_config.yaml
    steps:
      - id: train
        run: torchrun --standalone --nproc-per-node 2 train.py
        timeout: 1h
        resources: {gpu: {count: 2, memory: 24Gi}}

Source: users' reports (a trainer's fixed port 12345, 29500 of torch: the second run always dies). Ports
of servers (`--port 8000`) are left alone unless a launcher gets them.
"""

from __future__ import annotations

from dsec_cli.diagnostics import Finding, Related, Severity
from dsec_cli.lint.rule import Facts, Rule
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.contract.values import Contract, Step
    from dsec_cli.source.tree import Path

VARIABLE = "MASTER_PORT"
OPTIONS = frozenset(("--master_port", "--master-port", "--main_process_port", "--main-process-port"))
ENDPOINTS = frozenset(("--rdzv_endpoint", "--rdzv-endpoint", "--rdzv_conf", "--init_method", "--init-method"))
LAUNCHERS = frozenset(
    ("torchrun", "deepspeed", "accelerate", "torch.distributed.run", "torch.distributed.launch")
)
TORCH = range(29400, 29600)
"""Around 29500, where torch's launchers meet by default."""


def check(facts: Facts) -> Iterator[Finding]:
    """Ports in the environment and in the commands of the Steps."""
    seen: dict[int, tuple[Path, str]] = {}
    for path, who, what, port in _ports(facts.contract):
        before = seen.setdefault(port, (path, who))
        yield Finding(
            code=RULE.code,
            severity=RULE.severity,
            where=path,
            message=say(
                "{who} meets at the fixed port {port} ({what})", "fixed", who=who, port=port, what=what
            )
            if before[0] == path
            else say(
                "{who} meets at port {port} ({what}), where {other} meets, too",
                "twice",
                who=who,
                port=port,
                what=what,
                other=before[1],
            ),
            reason=say("the second run on this machine finds it taken and dies, or joins the first"),
            help=_advice(what),
            related=() if before[0] == path else (Related(before[0], say("port {port} here", port=port)),),
        )


def _advice(what: str) -> str:
    if what == VARIABLE:
        return say("remove it and start by `torchrun --standalone`, which finds a free port")
    if "main" in what:
        return say("write {option} 0: the launcher then finds a free port", option=what)
    return say("write `--standalone` (or `--rdzv-endpoint localhost:0`) instead")


def _ports(contract: Contract) -> Iterator[tuple[Path, str, str, int]]:
    for variable in contract.env_vars:
        if variable.name == VARIABLE and (port := _port(variable.value or "")):
            yield (*variable.path, "value"), say("the job"), VARIABLE, port
    for step in contract.steps:
        who = say("Step {step}", step=step.id)
        for name, value in step.env:
            if name == VARIABLE and (port := _port(value)):
                yield (*step.path, "env", name), who, VARIABLE, port
        yield from ((_at(step), who, what, port) for what, port in _of_command(_words(step)))


def _at(step: Step) -> Path:
    return (*step.path, "script" if step.kind == "task" else "run")


def _words(step: Step) -> list[str]:
    """The command's words, where it may name a port at all."""
    if step.run is None:
        return []
    text = step.run.shell or " ".join(step.run.argv)
    return text.split() if "port" in text or "rdzv" in text or "init" in text or "MASTER" in text else []


def _of_command(words: list[str]) -> Iterator[tuple[str, int]]:
    launched = any(word.rpartition("/")[2] in LAUNCHERS for word in words)
    for at, word in enumerate(words):
        name, equals, value = word.partition("=")
        value = (value if equals else words[at + 1] if at + 1 < len(words) else "").strip("'\"")
        port = 0
        if name in OPTIONS or (name == VARIABLE and equals):
            port = _port(value)
        elif name in ENDPOINTS:
            port = _port(value.rpartition(":")[2])
        elif name == "--port" and launched and _port(value) in TORCH:
            port = _port(value)
        if port:
            yield name, port


def _port(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 5 else 0


RULE = Rule("DS515", "fixed-port", Severity.WARNING, check, when=("meeting",))
