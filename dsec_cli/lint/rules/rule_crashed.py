"""A rule of the linter failed on this file; all other rules have been run.

Why: One broken rule must not hide what the others find. The finding says which rule it was and how
it failed; what that rule would have said about this file is not known. It is a fault of DSec, not
of the contract.

Bad (generated):
    a rule that raises

Good (yaml):
    # ds_config.yaml
    data_source: ds://datasets/a

Source: linters' users (one failing check aborted the whole run). Please report it with the file, if
you can.
"""

from __future__ import annotations

from dsec_cli.diagnostics import Finding, Severity
from dsec_cli.lint.rule import AFTER, Facts, Rule
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


def check(facts: Facts) -> Iterator[Finding]:
    """Every rule that raised instead of answering."""
    for crash in facts.crashes:
        if not crash.error:
            continue  # DS998 says that it took too long
        yield Finding(
            code=RULE.code,
            severity=RULE.severity,
            where=facts.document.span,
            message=say(
                "rule {code} ({name}) failed: {error}",
                "rule-failed",
                code=crash.code,
                name=crash.name,
                error=crash.error,
            ),
            reason=say("this is a fault of DSec, not of the contract; all other rules have been run"),
            help=say("report it; until it is mended, `--ignore {code}` leaves the rule out", code=crash.code),
        )


RULE = Rule("DS999", "rule-crashed", Severity.ERROR, check, AFTER, when=("crash",))
