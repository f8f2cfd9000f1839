"""The agent's code calls a host that the contract does not allow.

Why: What `security_policy.network.egress` does not list is refused, so the call fails when the job
has run for an hour, or the policy is opened for everything to make it work. The code says what it
calls; the fix is the entry that allows that and no more.

Bad (yaml):
    # agent-train-sandbox.yaml
    # code: import requests; requests.get("https://api.websearch.com/v1/search")
    base: deepseek/dsec-python311-cu121:v1
    security_policy:
      network:
        egress: []

Good (yaml):
    # agent-train-sandbox.yaml
    # code: import requests; requests.get("https://api.websearch.com/v1/search")
    base: deepseek/dsec-python311-cu121:v1
    security_policy:
      network:
        egress: [{domain: api.websearch.com, ports: [443]}]

Source: seed B section 2; SPEC B6. The code is read as syntax and never run. Hosts are followed through
constants, names, arguments and modules; an environment variable that the contract gives is filled in.
`localhost` needs no entry. A limit in the code that is wider than `rate_limit` is told too.
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


RULE = Rule("DS801", "egress-not-allowed", Severity.WARNING, check, when=("given:code",))
