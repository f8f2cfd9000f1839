"""A discardable Step writes over its own input.

Why: A discardable Step is given up and started again with the data that came from upstream. If its
first attempt has begun to write over that file, nobody can send it again: the second attempt reads
what the first one left.

Bad (yaml):
    # ds_config.yaml
    steps:
      - {id: load, run: python load.py, outputs: ["{run}/rows.npz"], timeout: 60s}
      - id: clean
        run: python clean.py
        level: discardable
        needs: [load]
        inputs: ["{run}/rows.npz"]
        outputs: ["{run}/rows.npz"]
        timeout: 60s

Good (yaml):
    # ds_config.yaml
    steps:
      - {id: load, run: python load.py, outputs: ["{run}/rows.npz"], timeout: 60s}
      - id: clean
        run: python clean.py
        level: discardable
        needs: [load]
        inputs: ["{run}/rows.npz"]
        outputs: ["{run}/clean.npz"]
        timeout: 60s

Source: seed A section 2.1 (a discardable Step is given up, and upstream sends the data again).
"""

from __future__ import annotations

from dsec.core.paths import normal
from dsec_cli.diagnostics import Finding, Related, Severity
from dsec_cli.lint.rule import Facts, Rule
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


def check(facts: Facts) -> Iterator[Finding]:
    """Discardable Steps with a file among both their inputs and their outputs."""
    tolerance = facts.contract.fault_tolerance
    usual = tolerance.level if tolerance is not None else None
    for step in facts.contract.steps:
        if (step.level or usual) != "discardable" or not step.inputs or not step.outputs:
            continue
        written = {normal(text): path for path, text in step.outputs}
        for path, text in step.inputs:
            over = written.get(normal(text))
            if over is not None:
                yield Finding(
                    code=RULE.code,
                    severity=RULE.severity,
                    where=path,
                    message=say(
                        "discardable Step {step} writes over {file}, which it reads: once given up, "
                        "it finds what its last attempt left",
                        "in-place",
                        step=step.id,
                        file=text,
                    ),
                    reason=say("who gives a Step up counts on upstream's data still being there"),
                    help=say("let it write a file of its own, or make it pauseable"),
                    related=(Related(over, say("written here")),),
                )


RULE = Rule("DS303", "discarded-input-lost", Severity.WARNING, check, when=("discardable", "input", "output"))
