"""Something that the agent's code needs could not be known by reading it.

Why: What is computed while the code runs cannot be held against the contract. That is said, with the
places and the reason, so that nobody takes silence for a proof.

Bad (yaml):
    # agent-train-sandbox.yaml
    # code: import requests; requests.get(input())
    base: deepseek/dsec-python311-cu121:v1

Good (yaml):
    # agent-train-sandbox.yaml
    # code: print("no need of anything")
    base: deepseek/dsec-python311-cu121:v1

Source: SPEC B6. One remark for each kind of need. `dsec code` lists all of them.
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


RULE = Rule("DS806", "need-not-known", Severity.INFO, check, when=("given:code",))
