"""`max_gpu_hours` is less than the Steps are expected to take, or `min_gpu_hours` more than they can.

Why: GPU-hours are what a run is settled by. Below what the plan needs at the very least, the upper
bound is passed in every run and all beyond it is charged extra. Above what the Steps could take
even if each ran into its timeout, the lower bound is charged in every run and never used.

Bad (yaml):
    max_gpu_hours: 8
    steps:
      - id: train
        run: python train.py
        timeout: 8h
        expected_duration: 5h
        resources: {gpu: {count: 2, memory: 24Gi}}

Good (yaml):
    max_gpu_hours: 12
    steps:
      - id: train
        run: python train.py
        timeout: 8h
        expected_duration: 5h
        resources: {gpu: {count: 2, memory: 24Gi}}

Source: seed A section 2.2 (`max_gpu_hours` and `min_gpu_hours` are settled at the end).
"""

from __future__ import annotations

from dsec.record import Record
from dsec_cli.dag.graph import step_graph
from dsec_cli.diagnostics import Finding, Related, Severity
from dsec_cli.lint.rule import Facts, Rule
from dsec_cli.lint.show import counted
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.contract.values import Contract, Step
    from dsec_cli.dag.graph import StepGraph

HOUR = 3600 * 10**9


class Need(Record):
    """GPU time in nanoseconds, and how it comes about."""

    amount: int
    how: str


def check(facts: Facts) -> Iterator[Finding]:
    """Compare the bounds of GPU-hours with what expected durations and timeouts allow."""
    contract = facts.contract
    if contract.max_gpu_hours is not None and contract.steps:
        yield from _too_few(contract, contract.max_gpu_hours)
    if contract.min_gpu_hours is not None and contract.steps:
        yield from _too_many(contract, contract.min_gpu_hours)


def _too_few(contract: Contract, most: float) -> Iterator[Finding]:
    need = max((_work(contract), _held(contract)), key=lambda one: one.amount)
    if need.amount <= most * HOUR:
        return
    related = tuple(
        Related(
            (*step.path, "expected_duration"), say("Step {step} takes {time}", step=step.id, time=step.expect)
        )
        for step in contract.steps
        if step.expect is not None and _gpus(step)
    )
    yield Finding(
        code=RULE.code,
        severity=RULE.severity,
        where=("max_gpu_hours",),
        message=say(
            "max_gpu_hours is {most}, but {how}: {over} too few",
            "below",
            most=f"{most:g}",
            how=need.how,
            over=_hours(need.amount - int(most * HOUR)),
        ),
        reason=say("every run would pass its upper bound, and all beyond it is charged extra"),
        help=say("write max_gpu_hours: {least} or more, or ask for less", least=-(-need.amount // HOUR)),
        related=related[:8],
    )


def _work(contract: Contract) -> Need:
    """What the Steps' own GPUs are expected to be held, whatever the order."""
    once = sum(_gpus(step) * int(step.expect or 0) for step in contract.steps)
    rounds = _rounds(contract)
    how = (
        say("the Steps' GPUs are expected to work {hours} GPU-hours", hours=_hours(once))
        if rounds == 1
        else say(
            "the Steps' GPUs are expected to work {rounds} x {once} = {hours} GPU-hours",
            rounds=rounds,
            once=_hours(once),
            hours=_hours(once * rounds),
        )
    )
    return Need(once * rounds, how)


def _held(contract: Contract) -> Need:
    """What the baseline's GPUs are held over the shortest plan there can be."""
    baseline = contract.baseline
    count = baseline.gpu.count if baseline is not None and baseline.gpu is not None else None
    if not count or not any(step.expect for step in contract.steps):
        return Need(0, "")
    longest = _longest_path(step_graph(contract))
    rounds, beside = _rounds(contract), contract.iterations.in_flight if contract.iterations else 1
    shortest = max(longest, longest * rounds // beside)
    how = say(
        "the baseline's {gpus} are held for {time} h even by the shortest plan: {hours} GPU-hours",
        gpus=counted(count, "GPU"),
        time=_hours(shortest),
        hours=_hours(count * shortest),
    )
    return Need(count * shortest, how)


def _longest_path(graph: StepGraph) -> int:
    """Expected time of the chain that takes longest; 0 where Steps wait in a circle."""
    size = len(graph.steps)
    waiting = [0] * size
    for some in graph.successors:
        for after in some:
            waiting[after] += 1
    ready = [at for at in range(size) if not waiting[at]]
    end = [int(step.expect or 0) for step in graph.steps]
    for at in ready:
        for after in graph.successors[at]:
            end[after] = max(end[after], end[at] + int(graph.steps[after].expect or 0))
            waiting[after] -= 1
            if not waiting[after]:
                ready.append(after)
    return max(end, default=0) if len(ready) == size else 0


def _too_many(contract: Contract, least: float) -> Iterator[Finding]:
    if any(step.timeout is None for step in contract.steps):
        return
    attempts = [
        (step, int(step.timeout or 0) * (1 + (step.retries.max if step.retries else 0)))
        for step in contract.steps
    ]
    baseline = contract.baseline.gpu if contract.baseline is not None else None
    standing = (baseline.count or 0) if baseline is not None else 0
    most = _rounds(contract) * sum(max(_gpus(step), standing) * time for step, time in attempts)
    if any(step.retries for step in contract.steps) or most >= least * HOUR:
        return
    yield Finding(
        code=RULE.code,
        severity=Severity.WARNING,
        where=("min_gpu_hours",),
        message=say(
            "min_gpu_hours is {least}, but even if every Step ran into its timeout the run would take "
            "{most} GPU-hours: {over} are charged and never used",
            "above",
            least=f"{least:g}",
            most=_hours(most),
            over=_hours(int(least * HOUR) - most),
        ),
        reason=say("the least that is charged lies above the most that can be used"),
        help=say("write min_gpu_hours: {most} or less", most=most // HOUR),
    )


def _gpus(step: Step) -> int:
    return (step.demand.gpu.count or 0) if step.demand.gpu is not None else 0


def _rounds(contract: Contract) -> int:
    return contract.iterations.count if contract.iterations is not None else 1


def _hours(nanoseconds: int) -> str:
    return f"{nanoseconds / HOUR:.4g}"


RULE = Rule("DS207", "gpu-hours-out-of-reach", Severity.ERROR, check, when=("gpu-hours", "step"))
