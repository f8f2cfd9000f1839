"""A secret is fetched from a vault, and nothing says how long it stays valid.

Why: What is fetched at the start of a run is a copy. Without a `ttl` it is used until the run ends,
days after the vault has changed or withdrawn it.

Bad (yaml):
    # sandbox.yaml
    base: deepseek/dsec-python311-cu121:1.4.0
    runtime_context:
      env_vars:
        - name: TOOL_API_KEY
          source: vault://prod/agent-tools/websearch-key

Good (yaml):
    # sandbox.yaml
    base: deepseek/dsec-python311-cu121:1.4.0
    runtime_context:
      env_vars:
        - name: TOOL_API_KEY
          source: vault://prod/agent-tools/websearch-key
          ttl: 2h

Source: seed B section 2 (`ttl: 2h` beside every secret).
"""

from __future__ import annotations

from dsec_cli.diagnostics import Finding, Severity
from dsec_cli.lint.rule import Facts, Rule
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

VAULTS = frozenset(("vault", "awssm", "aws-sm", "gcpsm", "gcp-sm", "azurekv", "azure-kv", "kms", "keyvault"))


def check(facts: Facts) -> Iterator[Finding]:
    """Variables whose source is a vault."""
    for variable in facts.contract.env_vars:
        scheme, mark, _ = (variable.source or "").partition("://")
        if not mark or scheme.lower() not in VAULTS or variable.ttl is not None:
            continue
        if not facts.lacks((*variable.path, "ttl")):
            continue
        found = Finding(
            code=RULE.code,
            severity=RULE.severity,
            where=(*variable.path, "source"),
            message=say("{name} is fetched from a vault without a ttl", "no-ttl", name=variable.name or "?"),
            reason=say("the copy is used until the run ends, also after the vault has withdrawn it"),
            help=say("add `ttl: 2h`, or as long as the vault lets it live"),
        )
        from dsec_cli.lint.mend import with_entry  # only a finding pays for it

        yield with_entry(facts, found, variable.path, "ttl", "2h")


RULE = Rule("DS608", "secret-without-ttl", Severity.WARNING, check, when=("fetched-variable",))
