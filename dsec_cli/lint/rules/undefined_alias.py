"""An alias `*name` names no anchor, or an anchor that contains the alias itself.

Why: There is nothing to put in its place.

Bad (yaml):
    # ds_config.yaml
    data_source: *nowhere

Good (yaml):
    # ds_config.yaml
    data_source: ds://datasets/a

Source: robustness; no seed.
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


RULE = Rule("DS008", "undefined-alias", Severity.ERROR, check, TEXT, when=("DS008",))
