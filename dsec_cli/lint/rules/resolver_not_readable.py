"""Egress is allowed by name, but the job may not read what names are resolved with.

Why: Before a name can be called it is looked up, and the look-up begins by opening
`/etc/resolv.conf`. A sandbox that refuses this file makes nine of ten calls time out, although a test
by hand from outside works.

Bad (yaml):
    # sandbox.yaml
    base: deepseek/dsec-python311-cu121:1.4.0
    security_policy:
      network:
        egress:
          - domain: api.websearch.com
            ports: [443]
      filesystem:
        read_allowed: [/workspace/data]

Good (yaml):
    # sandbox.yaml
    base: deepseek/dsec-python311-cu121:1.4.0
    security_policy:
      network:
        egress:
          - domain: api.websearch.com
            ports: [443]
      filesystem:
        read_allowed: [/workspace/data, /etc/resolv.conf]

Source: seed B section 4.1 (add `/etc/resolv.conf` to `read_allowed`, or set `dns_passthrough: true`).
"""

from __future__ import annotations

from dsec_cli.diagnostics import Finding, Related, Severity
from dsec_cli.lint.rule import Facts, Rule
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.contract.values import SecurityPolicy

FILE = "/etc/resolv.conf"
COVERS = frozenset((FILE, "/etc", "/", "/etc/*", "/etc/**", "/*", "/**"))
AT = ("security_policy", "filesystem", "read_allowed")


def check(facts: Facts) -> Iterator[Finding]:
    """Rules by name beside a list of readable files without the resolver's."""
    policy = facts.contract.security_policy
    if policy is None or not policy.egress or policy.dns_passthrough or not facts.states(AT):
        return
    unread = policy.dns_passthrough is None and not facts.lacks(("security_policy", "dns_passthrough"))
    if unread or _covered(policy):
        return
    named = next((one for one in policy.egress if one.domain is not None and not _address(one.domain)), None)
    if named is None:
        return
    found = Finding(
        code=RULE.code,
        severity=RULE.severity,
        where=AT,
        part="key",
        message=say(
            "{domain} is allowed by name, but {file} may not be read, so no name is resolved",
            "unreadable",
            domain=named.domain,
            file=FILE,
        ),
        reason=say("a look-up opens this file before it sends anything, and calls time out without it"),
        help=say("add {file} to read_allowed, or `dns_passthrough: true` to security_policy", file=FILE),
        related=(Related((*named.path, "domain"), say("this name must be resolved")),),
    )
    from dsec_cli.lint.mend import with_entry  # only a finding pays for it

    yield with_entry(facts, found, ("security_policy",), "dns_passthrough", True, safe=True)


def _covered(policy: SecurityPolicy) -> bool:
    allowed = (*policy.read_allowed, *policy.write_allowed)
    return any((one.rstrip("/") or "/") in COVERS for one in allowed)


def _address(domain: str) -> bool:
    """Whether a domain is an IP address, which nobody has to look up."""
    host = domain.strip().partition("/")[0]
    parts = host.split(".")
    return ":" in host or (len(parts) == 4 and all(part.isdigit() for part in parts))


RULE = Rule("DS603", "resolver-not-readable", Severity.WARNING, check, when=("egress",))
