"""A policy's condition names a metric that DSec does not have.

Why: A condition on a metric that nobody reports never holds, so what the policy was meant to prevent
happens. Names that begin with `dsec_` are ours; a misspelt one is found here. What your own Steps
report has other names, and is only doubted when it is nearly one of ours.

Bad (yaml):
    # thresholds.yaml
    policies:
      - name: fewer-meltdowns
        when: dsec_meltdown_count > 3/hour
        action: dsec_policy_update

Good (yaml):
    # thresholds.yaml
    policies:
      - name: fewer-meltdowns
        when: dsec_melt_down_count > 3/hour
        action: dsec_policy_update

Source: seed C sections 5.1 and 5.2 (the metrics and the policies on them), seed B section 5
(`dsec_tool_web_search_latency_ms`).
"""

from __future__ import annotations

from dsec_cli.diagnostics import Finding, Severity
from dsec_cli.lint.nearest import did_you_mean
from dsec_cli.lint.rule import Facts, Rule
from dsec_cli.lint.stated import entries, text
from dsec_cli.words import arguments, say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

OURS = "dsec_"
METRICS = (
    "dsec_gradient_sync_success_rate",
    "dsec_melt_down_count",
    "dsec_sandbox_utilization_rate",
    "dsec_snapshot_recovery_time",
)
TOOL = ("dsec_tool_", "_latency_ms")
"""How the metric of each tool begins and ends."""
BARE = {name.removeprefix(OURS): name for name in METRICS}


def check(facts: Facts) -> Iterator[Finding]:
    """Every name in the conditions of the policies."""
    if "policies" not in facts.contract.stated:
        return
    for path, policy in entries(facts, ("policies",)):
        condition = text(policy.get("when")) or ""
        for name in _names(condition):
            if _known(name):
                continue
            found = Finding(
                code=RULE.code,
                severity=RULE.severity,
                where=(*path, "when"),
                message=say("{metric} is no metric of DSec", "unknown", metric=name),
                reason=say("a condition on what nobody reports never holds"),
                help=_advice(name),
            )
            meant = arguments(found.help).get("word") or BARE.get(name)
            if meant is None:
                yield found
                continue
            from dsec_cli.lint.mend import with_value  # only a finding pays for it

            yield with_value(facts, found, (*path, "when"), condition.replace(name, str(meant)))


def _names(condition: str) -> list[str]:
    """Words of the condition that can be metrics, each once."""
    flat = "".join(char if char.isalnum() or char == "_" else " " for char in condition)
    return [word for word in dict.fromkeys(flat.split()) if word.startswith(OURS) or word in BARE]


def _known(name: str) -> bool:
    begin, end = TOOL
    tool = name.startswith(begin) and name.endswith(end) and len(name) > len(begin) + len(end)
    return tool or name in METRICS


def _advice(name: str) -> str:
    if name in BARE:
        return say("write {metric}", metric=BARE[name])
    return did_you_mean(name, METRICS)


RULE = Rule("DS701", "policy-metric-unknown", Severity.ERROR, check, when=("policies",))
