"""A suppression comment that suppresses nothing.

Why: The finding it was written for is gone, or the comment stands where it binds to something else.
Left there, it would silently swallow the next real finding at its place.

Bad (yaml):
    # ds_config.yaml
    steps:
      - id: load
        run: python load.py
        timeout: 60s  # dsec: ignore[DS505] the loader never hangs

Good (yaml):
    # ds_config.yaml
    steps:
      - id: load  # dsec: ignore[DS505] the loader never hangs
        run: python load.py

Source: linters' users (an ignore comment one line too high suppressed nothing for 19 days).
"""

from __future__ import annotations

from dsec_cli.diagnostics import Finding, Severity
from dsec_cli.lint.rule import AFTER, Facts, Rule
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


def check(facts: Facts) -> Iterator[Finding]:
    """Every suppression of a known code that matched no finding."""
    for suppression in facts.unused:
        found = Finding(
            code=RULE.code,
            severity=RULE.severity,
            where=suppression.comment,
            message=say(
                "this comment suppresses {code}, but there is no such finding here",
                "comment-suppresses-there",
                code=suppression.code,
            ),
            reason=say("it would silently swallow the next finding at its place"),
            help=say("remove it, or move it to the line of the finding or the line above"),
        )
        from dsec_cli.lint.mend import without_code  # only a finding pays for it

        yield without_code(facts, found, suppression, safe=True)


RULE = Rule("DS901", "unused-suppression", Severity.WARNING, check, AFTER, when=("unused",))
