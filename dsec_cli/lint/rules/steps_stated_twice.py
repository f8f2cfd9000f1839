"""A contract and the `ds_config.yaml` beside it both state Steps.

Why: `ds_config.yaml` holds the Steps of a contract that states none. Where both do, a reader cannot know
which Steps run, and a merge of the two lists would order Steps that were never written for each other. So
plan and run refuse the pair, too.

Bad (text):
    dsandbox.yaml states steps, and ds_config.yaml in the same folder states steps

Good (yaml):
    # ds_config.yaml
    steps:
      - {id: train, run: python train.py, timeout: 1h}

Source: one place for each statement, as for duplicate keys (DS003).
"""

from __future__ import annotations

from dsec_cli.diagnostics import Finding, Severity
from dsec_cli.lint.rule import Facts, Rule
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

KEYS = ("steps", "tasks")


def check(facts: Facts) -> Iterator[Finding]:
    """The contract's own key, where the file beside it has one, too."""
    beside = facts.around.beside
    if beside is None or beside.keys.isdisjoint(KEYS):
        return
    for key in KEYS:
        if key in facts.contract.stated:
            yield Finding(
                code=RULE.code,
                severity=RULE.severity,
                where=(key,),
                message=say("{key} are stated here, and in {file} too", key=key, file=beside.file),
                reason=say("which of them run cannot be known, so neither plan nor run takes the pair"),
                help=say("move them into one of the two files"),
                part="key",
            )


RULE = Rule("DS117", "steps-stated-twice", Severity.ERROR, check, when=("given:beside", "step"))
