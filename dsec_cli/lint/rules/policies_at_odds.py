"""Two policies change the same threshold in opposite directions.

Why: When both conditions hold, each undoes what the other has just done, and the threshold swings
to and fro for as long as they do: the worst of both, with a history that nobody can read.

Bad (yaml):
    # thresholds.yaml
    policies:
      - name: fewer-meltdowns
        when: dsec_melt_down_count > 3/hour
        action: dsec_policy_update
        args: {latency_cap: -10ms}
      - name: faster-recovery
        when: dsec_snapshot_recovery_time > 8s
        action: dsec_policy_update
        args: {latency_cap: +10ms}

Good (yaml):
    # thresholds.yaml
    policies:
      - name: fewer-meltdowns
        when: dsec_melt_down_count > 3/hour
        action: dsec_policy_update
        args: {latency_cap: -10ms}
      - name: faster-recovery
        when: dsec_snapshot_recovery_time > 8s
        action: dsec_policy_update
        args: {snapshot_interval: -30s}

Source: seed C section 5.2 (a policy lowers `latency_cap` by 10 ms).
"""

from __future__ import annotations

from dsec_cli.diagnostics import Finding, Related, Severity
from dsec_cli.lint.rule import Facts, Rule
from dsec_cli.lint.stated import entries, text
from dsec_cli.source.resolve import follow, pairs
from dsec_cli.source.tree import Mapping
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.source.tree import Path

    Change = tuple[Path, str, str]

THRESHOLDS = ("latency_cap", "bandwidth_cap", "snapshot_interval", "checkpoint_interval_steps")
"""What the contract language lets a policy change."""


def check(facts: Facts) -> Iterator[Finding]:
    """Signed amounts under the same threshold in the arguments of two policies."""
    if "policies" not in facts.contract.stated:
        return
    first: dict[str, dict[str, Change]] = {}
    for key, sign, change in _changes(facts):
        other = first.setdefault(key, {}).get("+" if sign == "-" else "-")
        first[key].setdefault(sign, change)
        if other is not None:
            yield _finding(key, other, change)


def _changes(facts: Facts) -> Iterator[tuple[str, str, Change]]:
    for path, policy in entries(facts, ("policies",)):
        args = follow(policy.get("args"))
        if not isinstance(args, Mapping):
            continue
        name = text(policy.get("name")) or ""
        for pair in pairs(args):
            amount = text(pair.value) or ""
            if pair.key in THRESHOLDS and amount[:1] in ("+", "-"):
                yield pair.key, amount[0], ((*path, "args", pair.key), name, amount)


def _finding(key: str, first: Change, second: Change) -> Finding:
    return Finding(
        code=RULE.code,
        severity=RULE.severity,
        where=second[0],
        message=say(
            "{second} changes {key} by {two}, {first} by {one}",
            "opposite",
            key=key,
            first=first[1],
            one=first[2],
            second=second[1],
            two=second[2],
        ),
        reason=say("while both conditions hold, each undoes what the other has done"),
        help=say("let one policy change {key}, or make their conditions exclude each other", key=key),
        related=(
            Related(first[0], say("{policy} changes it by {amount}", policy=first[1], amount=first[2])),
        ),
    )


RULE = Rule("DS702", "policies-at-odds", Severity.WARNING, check, when=("policies",))
