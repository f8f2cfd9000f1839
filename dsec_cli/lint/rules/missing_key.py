"""A key that its section cannot do without is missing.

Why: A Step without an id cannot be needed by others, a dependency without a name cannot be loaded:
the rest of the entry has nothing to refer to.

Bad (yaml):
    # ds_config.yaml
    steps:
      - id: load
        timeout: 60s

Good (yaml):
    # ds_config.yaml
    steps:
      - id: load
        run: python load.py
        timeout: 60s

Source: seed A sections 2.1 and 3.
"""

from __future__ import annotations

from dsec_cli.diagnostics import Severity
from dsec_cli.lint.rule import Facts, Rule, structural

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from dsec_cli.diagnostics import Finding


def check(facts: Facts) -> Iterable[Finding]:
    """What building the contract has noted under this code."""
    return structural(facts, RULE.code)


RULE = Rule("DS109", "missing-key", Severity.ERROR, check, when=("DS109",))
