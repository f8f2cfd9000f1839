"""A key that the contract language does not have at this place.

Why: A misspelt key that is ignored looks like success: the run starts, for hours, on defaults
nobody chose. So every key must be known, at every depth.

Bad (yaml):
    # ds_config.yaml
    data_sorce: ds://datasets/autodrive-v3

Good (yaml):
    # ds_config.yaml
    data_source: ds://datasets/autodrive-v3

Source: seed A section 2 (trainer parameters such as `max_epochs` are no part of the contract).
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


RULE = Rule("DS101", "unknown-key", Severity.ERROR, check, when=("DS101",))
