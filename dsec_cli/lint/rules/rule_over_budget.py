"""A rule took too long on this file and was stopped; all other rules have been run.

Why: A linter that hangs stops everything that waits for it. A rule has 2 seconds of processor time
per file; what one that was stopped would have said about this file is not known. It is a fault of
DSec, not of the contract.

Bad (generated):
    a rule that never ends

Good (yaml):
    # ds_config.yaml
    data_source: ds://datasets/a

Source: linters' users (checks that ran for half an hour). Please report it with the file, if you can.
"""

from __future__ import annotations

from dsec_cli.diagnostics import Finding, Severity
from dsec_cli.lint.rule import AFTER, Facts, Rule
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


def check(facts: Facts) -> Iterator[Finding]:
    """Every rule that was stopped."""
    for crash in facts.crashes:
        if crash.error:
            continue  # DS999 says that it failed
        yield Finding(
            code=RULE.code,
            severity=RULE.severity,
            where=facts.document.span,
            message=say(
                "rule {code} ({name}) took too long and was stopped",
                "stopped",
                code=crash.code,
                name=crash.name,
            ),
            reason=say("this is a fault of DSec, not of the contract; all other rules have been run"),
            help=say("report it; until it is mended, `--ignore {code}` leaves the rule out", code=crash.code),
        )


RULE = Rule("DS998", "rule-over-budget", Severity.ERROR, check, AFTER, when=("crash",))
