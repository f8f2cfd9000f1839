"""A value of the wrong kind: a list where a mapping is wanted, text where a number is wanted.

Why: The statement cannot be understood, so what it was meant to ask for would silently not apply.

Bad (yaml):
    # ds_config.yaml
    max_steps_per_episode: many

Good (yaml):
    # ds_config.yaml
    max_steps_per_episode: 200

Source: seed A section 2.1.
"""

from __future__ import annotations

from dsec_cli.diagnostics import Severity
from dsec_cli.lint.rule import Facts, Rule, structural

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.diagnostics import Finding


def check(facts: Facts) -> Iterator[Finding]:
    """What building the contract has noted under this code."""
    for finding in structural(facts, RULE.code):
        # Only a document with a wrong word pays for the import.
        from dsec_cli.lint.mend import restrained

        yield restrained(facts, finding)


RULE = Rule("DS104", "wrong-type", Severity.ERROR, check, when=("DS104",))
