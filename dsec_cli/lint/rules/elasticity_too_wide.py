"""`max_count` is more than twice the baseline: the contract promises more than it is likely to need.

Why: A wide upper bound is really asked for. Elastic GPUs then lie about in pieces, and several
contracts that grow at the same time starve each other. Twice the baseline leaves room for every
normal peak.

Bad (yaml):
    baseline:
      gpu: {count: 2, memory: 24Gi, type: a100-pcie-40gb}
    elasticity:
      gpu: {min_count: 2, max_count: 8}

Good (yaml):
    baseline:
      gpu: {count: 2, memory: 24Gi, type: a100-pcie-40gb}
    elasticity:
      gpu: {min_count: 2, max_count: 4}

Source: seed A section 5.3 (the over-commitment trap: `max_count > baseline.count * 2`).
"""

from __future__ import annotations

from dsec_cli.diagnostics import Finding, Related, Severity
from dsec_cli.lint.rule import Facts, Rule
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


def check(facts: Facts) -> Iterator[Finding]:
    """Compare `elasticity.gpu.max_count` with twice `baseline.gpu.count`."""
    baseline, elasticity = facts.contract.baseline, facts.contract.elasticity
    if baseline is None or elasticity is None or baseline.gpu is None or elasticity.gpu is None:
        return
    count, most = baseline.gpu.count, elasticity.gpu.max_count
    if count is None or most is None or count == 0 or most <= 2 * count:
        return
    found = Finding(
        code=RULE.code,
        severity=RULE.severity,
        where=(*elasticity.gpu.path, "max_count"),
        message=say(
            "max_count {most} is more than twice the baseline count {count} (2 x {count} = {twice})",
            "max-count-more",
            most=most,
            count=count,
            twice=2 * count,
        ),
        reason=say(
            "the upper bound is really asked for: GPUs lie about in pieces, jobs that grow starve others"
        ),
        help=say(
            "write max_count: {twice}, or raise baseline.gpu.count to {half}",
            twice=2 * count,
            half=-(-most // 2),
        ),
        related=(Related((*baseline.gpu.path, "count"), say("the baseline count is {count}", count=count)),),
    )
    from dsec_cli.lint.mend import with_value  # only a finding pays for it

    yield with_value(facts, found, (*elasticity.gpu.path, "max_count"), 2 * count)


RULE = Rule("DS203", "elasticity-too-wide", Severity.WARNING, check, when=("baseline.gpu", "elasticity.gpu"))
