"""The agent's code touches files outside what the contract allows.

Why: What `security_policy.filesystem` does not list is refused, and a write into a read-only mount fails.
Both show only when the code gets there.

Bad (yaml):
    # agent-train-sandbox.yaml
    # code: open("/workspace/results/scores.json", "w")
    base: deepseek/dsec-python311-cu121:v1
    security_policy:
      filesystem:
        write_allowed: [/tmp]

Good (yaml):
    # agent-train-sandbox.yaml
    # code: open("/workspace/results/scores.json", "w")
    base: deepseek/dsec-python311-cu121:v1
    security_policy:
      filesystem:
        write_allowed: [/workspace/results]

Source: seed B section 2; SPEC B6. Outputs and inputs of Steps, and mounts, count as allowed. Reading below
the code's own folder, and what every program reads (`/usr`, `/dev`, `/proc`), needs no entry.
"""

from __future__ import annotations

from dsec_cli.diagnostics import Finding, Severity
from dsec_cli.lint.held import held
from dsec_cli.lint.rule import Facts, Rule

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


def check(facts: Facts) -> Iterator[Finding]:
    """What the code was found to need, where code was read."""
    return held(facts, RULE.code)


RULE = Rule("DS803", "path-not-allowed", Severity.WARNING, check, when=("given:code",))
