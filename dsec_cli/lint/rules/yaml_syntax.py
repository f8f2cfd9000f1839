"""The text is not YAML.

Why: The contract is a YAML file. Everything before the place that breaks is still read, and what it
holds is still checked, so one slip does not hide the rest.

Bad (yaml):
    # ds_config.yaml
    data_source: [ds://datasets/a

Good (yaml):
    # ds_config.yaml
    data_source: ds://datasets/a

Source: seed A section 2 (the contract is a YAML file).
"""

from __future__ import annotations

from dsec_cli.diagnostics import Severity
from dsec_cli.lint.rule import TEXT, Facts, Rule, problems

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from dsec_cli.diagnostics import Finding


def check(facts: Facts) -> Iterable[Finding]:
    """What the reader of the text has noted under this code."""
    return problems(facts, RULE.code, RULE.severity)


RULE = Rule("DS002", "yaml-syntax", Severity.ERROR, check, TEXT, when=("DS002",))
