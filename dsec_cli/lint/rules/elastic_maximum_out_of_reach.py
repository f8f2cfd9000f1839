"""Elasticity's `memory_max` is more than any card of the type has.

Why: GPU memory cannot grow beyond the card. A bound above it reads like room that is there, and the
plan is made with it; what really happens at the card's edge is an out-of-memory error.

Bad (yaml):
    baseline:
      gpu: {count: 1, memory: 20Gi, type: rtx-4090}
    elasticity:
      gpu: {min_count: 1, max_count: 2, memory_min: 20Gi, memory_max: 40Gi}

Good (yaml):
    baseline:
      gpu: {count: 1, memory: 20Gi, type: rtx-4090}
    elasticity:
      gpu: {min_count: 1, max_count: 2, memory_min: 20Gi, memory_max: 23Gi}

Source: users' reports on memory that no card has; true sizes from drivers' own output. What is asked
for at least (`memory`, `memory_min`) is `demand-no-device-meets`.
"""

from __future__ import annotations

from dsec import cards
from dsec_cli.diagnostics import Finding, Related, Severity
from dsec_cli.lint.rule import Facts, Rule
from dsec_cli.lint.show import GIB, of_card, size
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


def check(facts: Facts) -> Iterator[Finding]:
    """Compare `elasticity.gpu.memory_max` with the largest card of the baseline's type."""
    baseline, elasticity = facts.contract.baseline, facts.contract.elasticity
    gpu = baseline.gpu if baseline is not None else None
    elastic = elasticity.gpu if elasticity is not None else None
    if gpu is None or gpu.type is None or elastic is None or elastic.memory_max is None:
        return
    rows = [row for name in cards.resolve(gpu.type) if (row := cards.card(name)) is not None]
    memory = elastic.memory_max
    if not rows or any(cards.satisfies(memory.bytes, row, nominal=memory.nominal) for row in rows):
        return
    best = max(rows, key=lambda row: (cards.total_bytes(row), row.type))
    if not memory.nominal and memory.bytes <= best.gb * GIB:
        return  # `80Gi` of an 80 GB card: the whole card is meant, and as an upper bound that is harmless
    found = Finding(
        code=RULE.code,
        severity=RULE.severity,
        where=(*elastic.path, "memory_max"),
        message=say(
            "memory_max is {most}, but {has}: {over} more than there is",
            "over",
            most=memory.text,
            has=of_card(best),
            over=size(max(memory.bytes - cards.total_bytes(best), 0)),
        ),
        reason=say("GPU memory cannot grow beyond the card"),
        help=say(
            "write memory_max: {whole}Gi at most, or a type with more memory",
            whole=cards.total_bytes(best) // GIB,
        ),
        related=(Related((*gpu.path, "type"), say("the type is {type}", type=gpu.type)),),
    )
    from dsec_cli.lint.mend import with_value  # only a finding pays for it

    yield with_value(facts, found, (*elastic.path, "memory_max"), f"{cards.total_bytes(best) // GIB}Gi")


RULE = Rule(
    "DS211", "elastic-maximum-out-of-reach", Severity.WARNING, check, when=("baseline.gpu", "elasticity.gpu")
)
