"""An egress rule with a wildcard, or without ports.

Why: What an agent's tool may call is listed so that a tool that goes astray, or is led astray,
reaches nothing else. A wildcard allows names that nobody has thought of; a rule without ports allows
every service on the host.

Bad (yaml):
    # sandbox.yaml
    base: deepseek/dsec-python311-cu121:1.4.0
    security_policy:
      network:
        egress:
          - domain: "*.websearch.com"
            ports: [443]
      dns_passthrough: true

Good (yaml):
    # sandbox.yaml
    base: deepseek/dsec-python311-cu121:1.4.0
    security_policy:
      network:
        egress:
          - domain: api.websearch.com
            ports: [443]
      dns_passthrough: true

Source: seed B section 2 (egress by domain, ports and rate). A malformed `rate_limit` is
`bad-quantity`.
"""

from __future__ import annotations

from dsec_cli.diagnostics import Finding, Severity
from dsec_cli.lint.rule import Facts, Rule
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

ANYWHERE = frozenset(("*", "0.0.0.0/0", "::/0", "any", "all"))


def check(facts: Facts) -> Iterator[Finding]:
    """Domain and ports of every egress rule."""
    policy = facts.contract.security_policy
    for egress in policy.egress if policy is not None else ():
        domain = egress.domain
        if domain is None:
            continue
        if domain.strip().lower() in ANYWHERE or "*" in domain:
            yield Finding(
                code=RULE.code,
                severity=RULE.severity,
                where=(*egress.path, "domain"),
                message=say("egress to {domain} allows every host", "anywhere", domain=domain)
                if domain.strip().lower() in ANYWHERE
                else say("egress to {domain} allows names that nobody has listed", "wildcard", domain=domain),
                reason=say("a tool that is led astray reaches whatever is not ruled out"),
                help=say("list the hosts by name, one rule each"),
            )
        if not egress.ports and _without_ports(facts, (*egress.path, "ports")):
            yield Finding(
                code=RULE.code,
                severity=RULE.severity,
                where=(*egress.path, "domain"),
                message=say("egress to {domain} names no ports, so all are open", "no-ports", domain=domain),
                reason=say("a tool that is led astray reaches whatever is not ruled out"),
                help=say("add `ports: [443]`, or those that are needed"),
            )


def _without_ports(facts: Facts, path: tuple[str | int, ...]) -> bool:
    """Not stated, or a list of nothing; ports that cannot be read are told elsewhere."""
    if facts.lacks(path):
        return True
    node = facts.node(path)
    return getattr(node, "items", None) == ()


RULE = Rule("DS602", "egress-too-open", Severity.WARNING, check, when=("egress",))
