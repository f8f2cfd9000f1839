"""`checkpoint_grace_period` is under 10 seconds.

Why: The grace period is all the time a Step has to save itself before it is stopped. Writing some
GiB of weights takes longer than a few seconds on most disks; a checkpoint cut off in the middle is
lost work.

Bad (yaml):
    fault_tolerance:
      level: critical
      checkpoint_grace_period: 5s

Good (yaml):
    fault_tolerance:
      level: critical
      checkpoint_grace_period: 30s

Source: seed A section 5.3 (`checkpoint_grace_period < 10s` is a risk).
"""

from __future__ import annotations

from dsec.units import Duration
from dsec_cli.diagnostics import Finding, Severity
from dsec_cli.lint.rule import Facts, Rule
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.source.tree import Path

KEY = "checkpoint_grace_period"
LEAST = Duration(10 * 10**9)
USUAL = "30s"


def check(facts: Facts) -> Iterator[Finding]:
    """The contract's grace period, and each Step's own."""
    for path, grace in _stated(facts):
        if grace is not None and grace < LEAST:
            found = Finding(
                code=RULE.code,
                severity=RULE.severity,
                where=(*path, KEY),
                message=say(
                    "{key} is {grace}, {gap} less than the {least} a save needs",
                    "less-than-save",
                    key=KEY,
                    grace=grace,
                    gap=Duration(LEAST - grace),
                    least=LEAST,
                ),
                reason=say("a checkpoint that is cut off in the middle is lost work"),
                help=say(
                    "write `{key}: 30s`, or the time a save really takes here, with room to spare", key=KEY
                ),
            )
            from dsec_cli.lint.mend import with_value  # only a finding pays for it

            yield with_value(facts, found, (*path, KEY), USUAL)


def _stated(facts: Facts) -> Iterator[tuple[Path, Duration | None]]:
    if facts.contract.fault_tolerance is not None:
        yield facts.contract.fault_tolerance.path, facts.contract.fault_tolerance.checkpoint_grace_period
    for step in facts.contract.steps:
        yield step.path, step.grace


RULE = Rule("DS301", "grace-period-too-short", Severity.WARNING, check, when=("grace",))
