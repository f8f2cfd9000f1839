"""The contract states keys that `dsec run` does not apply yet.

Why: Whoever reads `security_policy` in a contract takes it for enforced. These keys are read, checked and
kept, and some are used by other commands (`ds-netcheck` judges flows by `latency_cap`), but a run does not
obey them yet. One finding names all of them, so that nobody relies on a limit that does not hold.

Bad (yaml):
    # ds_config.yaml
    base: registry.example.com/train@sha256:0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c4b5a69788796a5b4c3d2e1f0

Good (yaml):
    # ds_config.yaml
    steps:
      - {id: train, run: python train.py, timeout: 1h}

Source: docs/explanation/limits.md lists the same keys, and what holds instead.
"""

from __future__ import annotations

from dsec_cli.contract.unapplied import unapplied
from dsec_cli.diagnostics import Finding, Severity
from dsec_cli.lint.rule import Facts, Rule
from dsec_cli.words import joined, say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


def check(facts: Facts) -> Iterator[Finding]:
    """One finding, at the first of them."""
    found = list(unapplied(facts.contract))
    if not found:
        return
    yield Finding(
        code=RULE.code,
        severity=RULE.severity,
        where=found[0][1],
        message=say("not applied by a run yet: {keys}", keys=joined(", ", [name for name, _ in found])),
        reason=say("lint checks them, and no run obeys them"),
        help=say("until a run applies them, do not rely on what they state"),
    )


RULE = Rule("DS116", "key-not-applied", Severity.INFO, check, when=("not-applied",))
