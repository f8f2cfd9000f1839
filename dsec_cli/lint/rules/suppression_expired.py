"""A suppression whose last day is over, or is no day at all; what it hid is shown again.

Why: Who writes `until=` means to come back. From the day after, the comment suppresses nothing, so
that the exception does not outlive its reason unseen.

Bad (yaml):
    # ds_config.yaml
    steps:
      - id: load  # dsec: ignore[DS505] until=2020-12-31 the new loader has a timeout of its own
        run: python load.py
        timeout: 60s

Good (yaml):
    # ds_config.yaml
    steps:
      - id: load  # dsec: ignore[DS505] until=2999-12-31 the new loader has a timeout of its own
        run: python load.py

Source: linters' users (exceptions "for now" that nobody looks at again).
"""

from __future__ import annotations

from dsec_cli.diagnostics import Finding, Severity
from dsec_cli.lint.rule import TEXT, Facts, Rule
from dsec_cli.lint.suppress import expired, is_day
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.lint.suppress import Suppression
    from dsec_cli.source.text import Span


def check(facts: Facts) -> Iterator[Finding]:
    """Every suppression comment that does not hold any more, once."""
    told: set[Span] = set()
    for suppression in facts.suppressions:
        if suppression.comment not in told and expired(suppression, facts.around.today):
            told.add(suppression.comment)
            found = _finding(suppression)
            if is_day(suppression.until):
                from dsec_cli.lint.mend import without_code  # only a finding pays for it

                found = without_code(facts, found, suppression, safe=False)
            yield found


def _finding(suppression: Suppression) -> Finding:
    over = is_day(suppression.until)
    return Finding(
        code=RULE.code,
        severity=RULE.severity,
        where=suppression.comment,
        message=say(
            "this suppression of {code} ended on {day}", "over", code=suppression.code, day=suppression.until
        )
        if over
        else say("{day!r} is no day, so this comment suppresses nothing", "no-day", day=suppression.until),
        reason=say("an exception must not outlive its reason unseen"),
        help=say("mend what it hides and remove it, or give it a new day")
        if over
        else say("write the last day as in until=2027-01-31"),
    )


RULE = Rule("DS904", "suppression-expired", Severity.WARNING, check, TEXT, when=("suppression",))
