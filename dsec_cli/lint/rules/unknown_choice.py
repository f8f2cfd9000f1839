"""A value that is not one of the choices of its key.

Why: The key has a closed list of meanings; any other word means nothing to the scheduler.

Bad (yaml):
    # ds_config.yaml
    nvlink_mode: switch

Good (yaml):
    # ds_config.yaml
    nvlink_mode: switched

Source: seed A section 2.1 (tolerance levels), seed B section 4.2 (`nvlink_mode`).
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


RULE = Rule("DS105", "unknown-choice", Severity.ERROR, check, when=("DS105",))
