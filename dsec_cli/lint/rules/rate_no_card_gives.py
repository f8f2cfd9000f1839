"""A task asks for a rate that no card of its type gives.

Why: `fp16_throughput` and `memory_bandwidth` choose the cards that will do. A rate above the data
sheet's is most often a slip of units (GB/s for TB/s) or another card's figure, and the task would wait
for ever. For cards that have it, the rate of sparse matrices counts, as data sheets print it; 5 % are
left for rounding.

Bad (yaml):
    # tasks.yaml
    tasks:
      - name: embed
        compute_unit: {gpu_type: t4, min_memory: 8GB, memory_bandwidth: 99 TB/s}
        script: python embed.py
        timeout: 1h

Good (yaml):
    # tasks.yaml
    tasks:
      - name: embed
        compute_unit: {gpu_type: t4, min_memory: 8GB, memory_bandwidth: 300 GB/s}
        script: python embed.py
        timeout: 1h

Source: the vendors' data sheets (FP16 rate, memory bandwidth).
"""

from __future__ import annotations

from dsec import cards
from dsec.units import BytesPerSecond, FlopsPerSecond
from dsec_cli.diagnostics import Finding, Severity
from dsec_cli.lint.rule import Facts, Rule
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.contract.values import Step


TERA = 10**12


def check(facts: Facts) -> Iterator[Finding]:
    """Each stated rate against the cards of the stated type, or against all cards where none is."""
    for step in facts.contract.steps:
        if step.demand.fp16_throughput or step.demand.memory_bandwidth:
            yield from _of_step(step)


def _of_step(step: Step) -> Iterator[Finding]:
    kind = step.demand.gpu.type if step.demand.gpu is not None else None
    rows = [row for name in _types(kind) if (row := cards.card(name)) is not None]
    if not rows:
        return
    flops, memory_rate = step.demand.fp16_throughput, step.demand.memory_bandwidth
    if flops and not any(cards.gives(row, flops=int(flops)) for row in rows):
        most = FlopsPerSecond(max(map(cards.most_flops, rows)) // TERA * TERA)
        yield _finding(step, "fp16_throughput", str(flops), str(most), kind)
    if memory_rate and not any(cards.gives(row, memory_rate=int(memory_rate)) for row in rows):
        best = BytesPerSecond(max(cards.MEMORY_GB_S[row.type] for row in rows) * 10**9)
        yield _finding(step, "memory_bandwidth", str(memory_rate), str(best), kind)


def _types(kind: str | None) -> tuple[str, ...]:
    return cards.types() if kind is None else cards.resolve(kind)


def _finding(step: Step, key: str, asked: str, most: str, kind: str | None) -> Finding:
    cards_of = say("any known card") if kind is None else say("a {type}", type=kind)
    return Finding(
        code=RULE.code,
        severity=RULE.severity,
        where=(*(step.demand.path or step.path), key),
        message=say(
            "task {id} asks for {key} {asked}, and {cards} gives {most} at most",
            id=step.id,
            key=key,
            asked=asked,
            cards=cards_of,
            most=most,
        ),
        reason=say("it would wait for a device that does not exist"),
        help=say("write {most} or less, or another gpu_type; look at the unit, too", most=most),
    )


RULE = Rule("DS215", "rate-no-card-gives", Severity.ERROR, check, when=("rate",))
