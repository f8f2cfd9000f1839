"""`heap_protection` is on, and nothing says whether the job may shrink its heap.

Why: The C library gives memory back by `malloc_trim`, which moves the program break. Heap protection
before version 1.3.5 takes that for an attack and kills the tool: its pipe closes, and the caller reads
an empty answer.

Bad (yaml):
    # sandbox.yaml
    base: deepseek/dsec-python311-cu121:1.4.0
    security_policy:
      memory:
        heap_protection: true

Good (yaml):
    # sandbox.yaml
    base: deepseek/dsec-python311-cu121:1.4.0
    security_policy:
      memory:
        heap_protection: true
        allow_sbrk: true

Source: seed B section 4.4 (`heap_protection: true` stops `sbrk`; add `allow_sbrk: true`).
"""

from __future__ import annotations

from dsec_cli.diagnostics import Finding, Severity
from dsec_cli.lint.rule import Facts, Rule
from dsec_cli.lint.stated import truth
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

AT = ("security_policy", "memory")


def check(facts: Facts) -> Iterator[Finding]:
    """The two keys of the memory rules; who writes `allow_sbrk: false` has decided."""
    policy = facts.contract.security_policy
    if policy is None or policy.allow_sbrk is not None:
        return
    where = (*AT, "heap_protection")
    if truth(facts.node(where)) is not True or not facts.lacks((*AT, "allow_sbrk")):
        return
    found = Finding(
        code=RULE.code,
        severity=RULE.severity,
        where=where,
        message=say("heap_protection is on without allow_sbrk", "unsaid"),
        reason=say("before version 1.3.5 it kills a tool that gives memory back, and its answer is empty"),
        help=say("add `allow_sbrk: true`, or `allow_sbrk: false` if your version tells the two apart"),
    )
    from dsec_cli.lint.mend import with_entry  # only a finding pays for it

    yield with_entry(facts, found, AT, "allow_sbrk", True)


RULE = Rule("DS607", "heap-protection-without-sbrk", Severity.WARNING, check, when=("security_policy",))
