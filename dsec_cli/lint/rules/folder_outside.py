"""A Step works in a folder outside the contract's.

Why: Snapshots take along the contract's folder, and a plan is moved with it. A Step that works in `../other`
runs code that no snapshot holds, and does not run at all where that folder is missing.

Bad (yaml):
    # ds_config.yaml
    steps:
      - {id: publish, run: python publish.py, cwd: ../../tools, timeout: 60s}

Good (yaml):
    # ds_config.yaml
    steps:
      - {id: publish, run: python publish.py, cwd: tools, timeout: 60s}

Source: users' reports of jobs that could not be repeated on another machine.
"""

from __future__ import annotations

from dsec.core.paths import normal
from dsec_cli.diagnostics import Finding, Severity
from dsec_cli.lint.rule import Facts, Rule
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


def check(facts: Facts) -> Iterator[Finding]:
    """Working folders that lead out of the contract's."""
    for step in facts.contract.steps:
        if step.cwd is not None and normal(step.cwd).split("/")[0] == "..":
            yield Finding(
                code=RULE.code,
                severity=RULE.severity,
                where=(*step.path, "cwd"),
                message=say(
                    "Step {step} works in {folder}, outside the contract's folder",
                    "outside",
                    step=step.id,
                    folder=step.cwd,
                ),
                reason=say("no snapshot takes it along, and on another machine it may be missing"),
                help=say("write a folder below the contract's, or move the contract above both"),
            )


RULE = Rule("DS524", "folder-outside", Severity.WARNING, check, when=("folder",))
