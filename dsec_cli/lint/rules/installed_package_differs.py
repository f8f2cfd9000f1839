"""An installed package is not what the contract wants, or rules out what it wants.

Why: The contract was checked against one environment and would run in another. This is looked at only
where an environment is named: dsec packages --environment.

Bad (yaml):
    # agent-train-sandbox.yaml
    # installed: transformers 4.39.3
    base: registry.example/dsec-python311-cu121:1.4.0
    dependencies:
      - package: transformers
        version: ">=4.40.0,<4.42.0"

Good (yaml):
    # agent-train-sandbox.yaml
    # installed: transformers 4.40.2
    base: registry.example/dsec-python311-cu121:1.4.0
    dependencies:
      - package: transformers
        version: ">=4.40.0,<4.42.0"

Source: seed B section 2 (package versions are what the environment holds).
"""

from __future__ import annotations

from dsec_cli.diagnostics import Finding, Severity
from dsec_cli.lint.rule import Facts, Rule
from dsec_cli.lint.rules.packages_conflict import reason, version_path
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.packages.conflicts import Conflict


def check(facts: Facts) -> Iterator[Finding]:
    """Every package that is installed where the contract is said to run."""
    if facts.around.packages is None:
        return
    from dsec_cli.packages.conflicts import entries_of, find, installed_outside, with_bystanders
    from dsec_cli.packages.held import Held

    held = facts.around.packages
    if not isinstance(held, Held) or not held.installed:
        return
    entries, shelf = entries_of(facts.contract), held.shelf_here()
    for entry, version in installed_outside(entries, shelf):
        yield Finding(
            code=RULE.code,
            severity=RULE.severity,
            where=version_path(facts, entry),
            message=say(
                "{package} {version} is installed, {wanted} is wanted",
                "installed",
                package=entry.name,
                version=version,
                wanted=entry.wanted,
            ),
            reason=say("that is what {where} holds", where=held.where),
            help=say(
                'pip install "{package}{wanted}" there, or state a range that holds {version}',
                package=entry.name,
                wanted=entry.wanted,
                version=version,
            ),
        )
    always = {(one.one.entry, one.other.entry) for one in find(entries, held.shelf())}
    for conflict in (*find(entries, shelf), *with_bystanders(entries, shelf)):
        if (conflict.one.entry, conflict.other.entry) not in always:
            yield _finding(facts, conflict)


def _finding(facts: Facts, conflict: Conflict) -> Finding:
    named = conflict.other.entry if conflict.other.entry.path else conflict.one.entry
    return Finding(
        code=RULE.code,
        severity=RULE.severity,
        where=version_path(facts, named),
        message=say("{entry} does not go with what is installed", "ruled-out", entry=named.text),
        reason=reason(conflict),
        help=say("change the range, or what is installed"),
    )


RULE = Rule("DS111", "installed-package-differs", Severity.WARNING, check, when=("given:packages",))
