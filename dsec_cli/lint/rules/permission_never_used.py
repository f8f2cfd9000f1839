"""The contract allows a host, a path or a secret that the agent's code does not use.

Why: A permission that is not needed only helps whoever breaks in, and the next reader takes it for needed.

Bad (yaml):
    # agent-train-sandbox.yaml
    # code: import requests; requests.get("https://api.websearch.com/v1/search")
    base: deepseek/dsec-python311-cu121:v1
    security_policy:
      network:
        egress:
          - {domain: api.websearch.com, ports: [443]}
          - {domain: api.oldsearch.com, ports: [443]}

Good (yaml):
    # agent-train-sandbox.yaml
    # code: import requests; requests.get("https://api.websearch.com/v1/search")
    base: deepseek/dsec-python311-cu121:v1
    security_policy:
      network:
        egress:
          - {domain: api.websearch.com, ports: [443]}

Source: SPEC B6. Nothing is said where a use might be hidden: when a destination, variable or path of the
code is not known, a file could not be read, or programs are started.
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


RULE = Rule("DS805", "permission-never-used", Severity.INFO, check, when=("given:code",))
