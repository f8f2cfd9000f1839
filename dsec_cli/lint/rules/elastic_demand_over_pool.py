"""The contract may grow by more GPUs than 30 % of the inventory.

Why: GPUs for growth come from one elastic pool, at most 30 % of what is physically there, so that
growing jobs cannot push out the standing ones. What lies beyond the pool is never granted. Asked
only with `--inventory`.

Bad (yaml):
    # inventory: 4 x a100-pcie-40gb
    baseline:
      gpu: {count: 2, memory: 24Gi, type: a100-pcie-40gb}
    elasticity:
      gpu: {min_count: 2, max_count: 4}

Good (yaml):
    # inventory: 4 x a100-pcie-40gb
    baseline:
      gpu: {count: 2, memory: 24Gi, type: a100-pcie-40gb}
    elasticity:
      gpu: {min_count: 2, max_count: 3}

Source: seed A section 5.3 (the elastic pool is at most 30 % of the physical resources).
"""

from __future__ import annotations

from dsec_cli.diagnostics import Finding, Related, Severity
from dsec_cli.lint.rule import Facts, Rule
from dsec_cli.lint.show import counted
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

PERCENT = 30


def check(facts: Facts) -> Iterator[Finding]:
    """Compare what elasticity may add to the baseline with 30 % of the inventory's GPUs."""
    baseline, elasticity = facts.contract.baseline, facts.contract.elasticity
    if facts.inventory is None or baseline is None or elasticity is None:
        return
    gpu, elastic = baseline.gpu, elasticity.gpu
    if gpu is None or elastic is None or gpu.count is None or elastic.max_count is None:
        return
    growth, stock = elastic.max_count - gpu.count, len(facts.inventory.devices)
    pool = stock * PERCENT // 100
    if growth <= pool:
        return
    yield Finding(
        code=RULE.code,
        severity=RULE.severity,
        where=(*elastic.path, "max_count"),
        message=(
            say(
                "may grow by {growth} ({max_count} - {count}), but the elastic pool is {pool}, "
                "{percent} % of the inventory's {stock}",
                "may-grow-elastic",
                growth=counted(growth, "GPU"),
                max_count=elastic.max_count,
                count=gpu.count,
                pool=counted(pool, "GPU"),
                percent=PERCENT,
                stock=stock,
            )
        ),
        reason=say("growth beyond the pool is never granted"),
        help=say("write max_count: {most}, or plan for a larger inventory", most=gpu.count + pool),
        related=(Related((*gpu.path, "count"), say("the baseline count is {count}", count=gpu.count)),),
    )


RULE = Rule("DS206", "elastic-demand-over-pool", Severity.WARNING, check)
