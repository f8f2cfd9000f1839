"""A Step asks for more than elasticity or the baseline ever gives the job.

Why: Elasticity's upper bounds are the most that is granted. A Step that wants more waits for ever,
or takes what the contract promised not to take. For processor cores and main memory there is no
upper bound but the baseline itself, so a Step beyond it is a warning.

Bad (yaml):
    baseline:
      gpu: {count: 2, memory: 24Gi, type: a100-pcie-40gb}
    elasticity:
      gpu: {min_count: 2, max_count: 4, memory_max: 24Gi}
    steps:
      - id: update
        run: python update.py
        timeout: 1h
        resources: {gpu: {count: 2, memory: 32Gi}}

Good (yaml):
    baseline:
      gpu: {count: 2, memory: 24Gi, type: a100-pcie-40gb}
    elasticity:
      gpu: {min_count: 2, max_count: 4, memory_max: 32Gi}
    steps:
      - id: update
        run: python update.py
        timeout: 1h
        resources: {gpu: {count: 2, memory: 32Gi}}

Source: seed A sections 1 and 3 (a contract bounds what its Steps may take).
"""

from __future__ import annotations

from dsec.record import Record
from dsec_cli.diagnostics import Finding, Related, Severity
from dsec_cli.lint.rule import Facts, Rule
from dsec_cli.lint.show import core_count, memory_range, size
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.contract.values import Baseline, Elasticity, Step
    from dsec_cli.source.tree import Path


class Excess(Record):
    """A demand above its bound; amounts as texts."""

    where: Path
    wanted: str
    bound: Path
    most: str
    over: str


def check(facts: Facts) -> Iterator[Finding]:
    """Each Step's demand against the bounds of elasticity and the baseline."""
    elasticity, baseline = facts.contract.elasticity, facts.contract.baseline
    for step in facts.contract.steps:
        if elasticity is not None:
            for excess in _above_elasticity(step, elasticity):
                yield _finding(step, excess, RULE.severity)
        if baseline is not None:
            for excess in _above_baseline(step, baseline):
                yield _finding(step, excess, Severity.WARNING)


def _finding(step: Step, one: Excess, severity: Severity) -> Finding:
    return Finding(
        code=RULE.code,
        severity=severity,
        where=one.where,
        message=say(
            "{kind} {step} asks for {key} {wanted}, but {bound} is {most}: {over} too much",
            "over",
            kind="task" if step.kind == "task" else "Step",
            step=step.id,
            key=_key(one.where, step),
            wanted=one.wanted,
            bound=".".join(str(part) for part in one.bound),
            most=one.most,
            over=one.over,
        ),
        reason=say("what lies beyond the contract's own bound is never granted"),
        help=say(
            "raise {bound} to {wanted}, or let the Step ask for {most}",
            bound=".".join(str(part) for part in one.bound),
            wanted=one.wanted,
            most=one.most,
        ),
        related=(Related(one.bound, say("the bound is {most}", most=one.most)),),
    )


def _key(where: Path, step: Step) -> str:
    """`gpu.memory`: the demand's key below its section."""
    parts = where[len(step.path) + 1 :]
    return ".".join(str(part) for part in parts) or "gpu"


def _above_elasticity(step: Step, elasticity: Elasticity) -> Iterator[Excess]:
    gpu, bounds, network = step.demand.gpu, elasticity.gpu, elasticity.network
    if gpu is not None and bounds is not None:
        most = bounds.max_count
        if gpu.count is not None and most is not None and gpu.count > most:
            path = gpu.path if step.kind == "task" else (*gpu.path, "count")
            yield Excess(
                path,
                str(gpu.count),
                (*bounds.path, "max_count"),
                str(most),
                str(gpu.count - most),
            )
        if gpu.memory is not None and bounds.memory_max is not None:
            low, high = memory_range(gpu.memory)[0], memory_range(bounds.memory_max)[1]
            if low > high:
                key = "min_memory" if step.kind == "task" else "memory"
                texts = gpu.memory.text, bounds.memory_max.text
                yield Excess(
                    (*gpu.path, key), texts[0], (*bounds.path, "memory_max"), texts[1], size(low - high)
                )
    rate = step.demand.network
    if rate is not None and network is not None and network.bandwidth_max is not None:
        top = network.bandwidth_max
        if rate > top:
            over = str(type(rate)(rate - top))
            yield Excess(
                (*step.demand.path, "network"), str(rate), (*network.path, "bandwidth_max"), str(top), over
            )


def _above_baseline(step: Step, baseline: Baseline) -> Iterator[Excess]:
    cpu, memory = step.demand.cpu_m, step.demand.memory
    if cpu is not None and baseline.cpu_m is not None and cpu > baseline.cpu_m:
        yield Excess(
            (*step.demand.path, "cpu"),
            core_count(cpu),
            (*baseline.path, "cpu"),
            core_count(baseline.cpu_m),
            core_count(cpu - baseline.cpu_m),
        )
    if memory is not None and baseline.memory is not None and memory > baseline.memory:
        over = size(memory - baseline.memory)
        yield Excess(
            (*step.demand.path, "memory"), str(memory), (*baseline.path, "memory"), str(baseline.memory), over
        )


RULE = Rule("DS208", "step-above-elasticity", Severity.ERROR, check, when=("step",))
