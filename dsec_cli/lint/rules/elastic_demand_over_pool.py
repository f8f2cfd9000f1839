"""The contract, or all contracts linted together, may grow by more GPUs than 30 % of the inventory.

Why: GPUs for growth come from one elastic pool, at most 30 % of what is physically there, so that
growing jobs cannot push out the standing ones. What lies beyond the pool is never granted, and
several contracts that each fit it can still ask for more together. Asked only with `--inventory`; the
sum is told once, at the contract that may grow most.

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
from dsec_cli.lint.together import growth
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.contract.values import Contract
    from dsec_cli.lint.together import Growth

PERCENT = 30
SHOWN = 8


def check(facts: Facts) -> Iterator[Finding]:
    """Compare what elasticity may add to the baseline with 30 % of the inventory's GPUs."""
    if facts.inventory is None:
        return
    stock = len(facts.inventory.devices)
    pool = stock * PERCENT // 100
    if growth(facts.contract) > pool:
        yield from _alone(facts.contract, pool, stock)
        return
    beside = [one for one in facts.around.growths if one.gpus <= pool]
    largest = max(beside, key=lambda one: one.gpus, default=None)
    if largest is None or (largest.file, largest.document) != (facts.file_name, facts.document.index):
        return
    if sum(one.gpus for one in beside) > pool:
        yield _together(largest, beside, pool, stock)


def _alone(contract: Contract, pool: int, stock: int) -> Iterator[Finding]:
    gpu = contract.baseline.gpu if contract.baseline is not None else None
    elastic = contract.elasticity.gpu if contract.elasticity is not None else None
    if gpu is None or elastic is None or gpu.count is None or elastic.max_count is None:
        return
    yield Finding(
        code=RULE.code,
        severity=RULE.severity,
        where=(*elastic.path, "max_count"),
        message=say(
            "may grow by {growth} ({max_count} - {count}), but the elastic pool is {pool}, "
            "{percent} % of the inventory's {stock}",
            "may-grow-elastic",
            growth=counted(elastic.max_count - gpu.count, "GPU"),
            max_count=elastic.max_count,
            count=gpu.count,
            pool=counted(pool, "GPU"),
            percent=PERCENT,
            stock=stock,
        ),
        reason=say("growth beyond the pool is never granted"),
        help=say("write max_count: {most}, or plan for a larger inventory", most=gpu.count + pool),
        related=(Related((*gpu.path, "count"), say("the baseline count is {count}", count=gpu.count)),),
    )


def _together(largest: Growth, beside: list[Growth], pool: int, stock: int) -> Finding:
    amounts = sorted((one.gpus for one in beside), reverse=True)
    total = sum(amounts)
    shown = " + ".join(str(gpus) for gpus in amounts[:SHOWN]) + (" + ..." if len(amounts) > SHOWN else "")
    return Finding(
        code=RULE.code,
        severity=RULE.severity,
        where=("elasticity", "gpu", "max_count"),
        message=say(
            "{contracts} contracts may grow by {growth} together ({shown}), but the elastic pool is "
            "{pool}, {percent} % of the inventory's {stock}: {over} too many",
            "together",
            contracts=len(beside),
            growth=counted(total, "GPU"),
            shown=shown,
            pool=counted(pool, "GPU"),
            percent=PERCENT,
            stock=stock,
            over=total - pool,
        ),
        reason=say("growth beyond the pool is never granted, so whoever grows last gets nothing"),
        help=say("lower max_count here or there, or run them on more machines"),
        related=tuple(
            Related(one.place, say("this one may grow by {growth}", growth=counted(one.gpus, "GPU")))
            for one in [one for one in beside if one is not largest][:SHOWN]
        ),
    )


RULE = Rule("DS206", "elastic-demand-over-pool", Severity.WARNING, check, when=("given:inventory",))
