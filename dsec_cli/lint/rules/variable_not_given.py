"""The agent's code reads an environment variable that the contract does not give.

Why: The variable is set on the machine of whoever wrote the code, and nowhere else. A secret that the
contract names by reference is there on every machine, expires, and is never written down.

Bad (yaml):
    # agent-train-sandbox.yaml
    # code: import os; KEY = os.environ["TOOL_API_KEY"]
    base: deepseek/dsec-python311-cu121:v1

Good (yaml):
    # agent-train-sandbox.yaml
    # code: import os; KEY = os.environ["TOOL_API_KEY"]
    base: deepseek/dsec-python311-cu121:v1
    runtime_context:
      env_vars:
        - {name: TOOL_API_KEY, source: vault://prod/agent-tools/websearch-key, ttl: 2h}

Source: seed B section 2; SPEC B6. A variable with a default is a remark. `PATH`, `HOME` and others that
belong to the machine, the shell or Python need no entry. A variable of a Step's `env` is given.
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


RULE = Rule("DS802", "variable-not-given", Severity.WARNING, check, when=("given:code",))
