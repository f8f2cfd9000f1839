"""The text holds template braces `{{ ... }}`: it is the template of a contract, not a contract.

Why: Unquoted, the braces are a YAML mapping inside a mapping and the file means something nobody
wrote. Render the template first and lint the result, or quote the value if the braces belong to it.

Bad (yaml):
    # ds_config.yaml
    data_source: {{ store }}/autodrive-v3

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


RULE = Rule("DS009", "template-braces", Severity.ERROR, check, TEXT, when=("DS009",))
