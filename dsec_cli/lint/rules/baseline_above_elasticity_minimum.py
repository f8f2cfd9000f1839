"""The baseline asks for more than the least that elasticity allows.

Why: The baseline is what the job always holds, elasticity is the range in which it may be moved. A
job whose standing demand lies above the lower bound could be shrunk below what it says it needs, so
admission refuses it: the baseline must be at or below `min_count` and `memory_min`.

Bad (yaml):
    baseline:
      gpu:
        count: 2
        memory: 32Gi
        type: a100-pcie-40gb
    elasticity:
      gpu:
        min_count: 1
        max_count: 4
        memory_min: 24Gi

Good (yaml):
    baseline:
      gpu:
        count: 2
        memory: 24Gi
        type: a100-pcie-40gb
    elasticity:
      gpu:
        min_count: 2
        max_count: 4
        memory_min: 24Gi

Source: seed A section 2.2 (admission control: baseline.gpu.count=2 with elasticity.gpu.min_count=1
is refused).
"""

from __future__ import annotations

from dsec_cli.diagnostics import Finding, Related, Severity
from dsec_cli.lint.rule import Facts, Rule
from dsec_cli.lint.show import memory_range, size
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.contract.values import ElasticGpu, Gpu

REASON = say("a job could be shrunk below what its baseline says it always needs, so admission refuses it")


def check(facts: Facts) -> Iterator[Finding]:
    """Compare GPU count and GPU memory of the baseline with elasticity's lower bounds."""
    baseline, elasticity = facts.contract.baseline, facts.contract.elasticity
    if baseline is None or elasticity is None or baseline.gpu is None or elasticity.gpu is None:
        return
    gpu, path = baseline.gpu, elasticity.gpu.path
    told: list[tuple[Finding, str, int | str]] = [
        (found, "min_count", gpu.count or 0) for found in _count(gpu, elasticity.gpu)
    ]
    memory = gpu.memory.text if gpu.memory else ""
    told += [(found, "memory_min", memory) for found in _memory(gpu, elasticity.gpu)]
    if told:
        from dsec_cli.lint.mend import with_value  # only a finding pays for it

        for found, key, value in told:
            yield with_value(facts, found, (*path, key), value)


def _count(gpu: Gpu, elastic: ElasticGpu) -> Iterator[Finding]:
    if gpu.count is None or elastic.min_count is None or gpu.count <= elastic.min_count:
        return
    over = gpu.count - elastic.min_count
    yield Finding(
        code=RULE.code,
        severity=RULE.severity,
        where=(*gpu.path, "count"),
        message=(
            say(
                "baseline asks for {count} GPUs, elasticity starts at {min_count}: {over} too many",
                "baseline-asks-gpus",
                count=gpu.count,
                min_count=elastic.min_count,
                over=over,
            )
        ),
        reason=REASON,
        help=(
            say(
                "raise elasticity.gpu.min_count to {count}, or lower baseline.gpu.count to {min_count}",
                count=gpu.count,
                min_count=elastic.min_count,
            )
        ),
        related=(
            Related(
                (*elastic.path, "min_count"),
                say("elasticity starts at {min_count}", min_count=elastic.min_count),
            ),
        ),
    )


def _memory(gpu: Gpu, elastic: ElasticGpu) -> Iterator[Finding]:
    if gpu.memory is None or elastic.memory_min is None:
        return
    low, high = memory_range(gpu.memory)[0], memory_range(elastic.memory_min)[1]
    if gpu.memory.nominal and elastic.memory_min.nominal:
        low, high = int(gpu.memory.bytes), int(elastic.memory_min.bytes)
    if low <= high:
        return
    yield Finding(
        code=RULE.code,
        severity=RULE.severity,
        where=(*gpu.path, "memory"),
        message=(
            say(
                "baseline asks for {text} per GPU, elasticity starts at {memory_min_text}: {size} too much",
                "baseline-asks-per",
                text=gpu.memory.text,
                memory_min_text=elastic.memory_min.text,
                size=size(low - high),
            )
        ),
        reason=REASON,
        help=(
            say(
                "raise elasticity.gpu.memory_min to {text}, or lower baseline.gpu.memory to "
                "{memory_min_text}",
                text=gpu.memory.text,
                memory_min_text=elastic.memory_min.text,
            )
        ),
        related=(
            Related(
                (*elastic.path, "memory_min"),
                say("elasticity starts at {text}", text=elastic.memory_min.text),
            ),
        ),
    )


RULE = Rule(
    "DS201",
    "baseline-above-elasticity-minimum",
    Severity.ERROR,
    check,
    when=("baseline.gpu", "elasticity.gpu"),
)
