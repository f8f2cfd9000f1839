r"""The file's bytes are not text in UTF-8 (or UTF-16 with a byte order mark).

Why: A contract that cannot be decoded cannot be read at all, and guessing an encoding from the
machine's locale would make the same file mean different things on different machines.

Bad (bytes):
    name: caf\xe9

Good (yaml):
    # ds_config.yaml
    data_source: ds://datasets/café

Source: robustness; no seed. Save the file as UTF-8.
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


RULE = Rule("DS001", "undecodable-text", Severity.ERROR, check, TEXT, when=("DS001",))
