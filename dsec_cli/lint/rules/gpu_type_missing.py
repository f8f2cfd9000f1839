"""`baseline.gpu` does not say which type of GPU.

Why: The type is matched exactly, so that a job built for an A100 never lands on a V100. Without it
the most common type is assumed, and once those are taken the job waits for ever.

Bad (yaml):
    baseline:
      gpu:
        count: 2
        memory: 24Gi

Good (yaml):
    baseline:
      gpu:
        count: 2
        memory: 24Gi
        type: a100-pcie-40gb

Source: seed A section 2.1 (`type` is a hard match; a contract without it may pend for ever).
"""

from __future__ import annotations

from dsec_cli.diagnostics import Finding, Severity
from dsec_cli.lint.rule import Facts, Rule
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


def check(facts: Facts) -> Iterator[Finding]:
    """`baseline.gpu` that asks for GPUs and states no `type`."""
    baseline = facts.contract.baseline
    if baseline is None or baseline.gpu is None or baseline.gpu.count == 0:
        return
    if baseline.gpu.type is not None or not facts.lacks((*baseline.gpu.path, "type")):
        return
    found = Finding(
        code=RULE.code,
        severity=RULE.severity,
        where=baseline.gpu.path,
        part="key",
        message=say("baseline.gpu states no type", "baselinegpu-states-type"),
        reason=say("the most common type is assumed, and once those GPUs are taken the job waits for ever"),
        help=say("add the type the job was built for, for example `type: a100-pcie-40gb`"),
    )
    types = {device.type for device in facts.inventory.devices} if facts.inventory is not None else set()
    if len(types) != 1 or None in types:
        yield found
        return
    from dsec_cli.lint.mend import with_entry  # only a finding pays for it

    yield with_entry(facts, found, baseline.gpu.path, "type", str(types.pop()))


RULE = Rule("DS204", "gpu-type-missing", Severity.ERROR, check, when=("gpu-without-type",))
