"""`checkpoint_grace_period` on a discardable Step.

Why: A discardable Step is given up without saving anything, so there is nothing to wait for. The
grace period only delays the moment at which its resources are free.

Bad (yaml):
    # ds_config.yaml
    steps:
      - id: clean
        run: python clean.py
        level: discardable
        checkpoint_grace_period: 30s
        timeout: 10m

Good (yaml):
    # ds_config.yaml
    steps:
      - id: clean
        run: python clean.py
        level: discardable
        timeout: 10m

Source: seed A section 2.1 (a discardable Step is given up at once and run again).
"""

from __future__ import annotations

from dsec_cli.diagnostics import Finding, Related, Severity
from dsec_cli.lint.rule import Facts, Rule
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

KEY = "checkpoint_grace_period"


def check(facts: Facts) -> Iterator[Finding]:
    """Steps that state both, wherever their level comes from."""
    tolerance = facts.contract.fault_tolerance
    usual = tolerance.level if tolerance is not None else None
    for step in facts.contract.steps:
        if step.grace is None or (step.level or usual) != "discardable":
            continue
        level = (*step.path, "level") if step.level is not None else ("fault_tolerance", "level")
        found = Finding(
            code=RULE.code,
            severity=RULE.severity,
            where=(*step.path, KEY),
            part="entry",
            message=say(
                "Step {step} is discardable and saves nothing: {key} {time} only delays its end",
                "delays",
                step=step.id,
                key=KEY,
                time=step.grace,
            ),
            reason=say("what is given up has nothing to save"),
            help=say("remove {key}, or make the Step pauseable if it does save", key=KEY),
            related=(Related(level, say("discardable by this")),),
        )
        from dsec_cli.lint.mend import without  # only a finding pays for it

        yield without(facts, found, (*step.path, KEY), safe=True)


RULE = Rule("DS304", "grace-of-a-discardable-step", Severity.INFO, check, when=("discardable", "step-grace"))
