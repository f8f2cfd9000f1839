"""A suppression comment that does not say why.

Why: Whoever meets it later cannot know whether it still holds. The reason stands behind the code,
in one line.

Bad (yaml):
    # ds_config.yaml
    steps:
      - id: load  # dsec: ignore[DS505]
        run: python load.py

Good (yaml):
    # ds_config.yaml
    steps:
      - id: load  # dsec: ignore[DS505] the loader has a timeout of its own
        run: python load.py

Source: linters' users (suppressions that nobody dares to remove).
"""

from __future__ import annotations

from dsec_cli.diagnostics import Finding, Severity
from dsec_cli.lint.rule import TEXT, Facts, Rule
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.source.text import Span


def check(facts: Facts) -> Iterator[Finding]:
    """Every suppression comment that names a code and gives no reason, once."""
    told: set[Span] = set()
    for suppression in facts.suppressions:
        if suppression.reason or not suppression.code or suppression.comment in told:
            continue
        told.add(suppression.comment)
        yield Finding(
            code=RULE.code,
            severity=RULE.severity,
            where=suppression.comment,
            message=say(
                "this comment suppresses {code} without a reason",
                "comment-suppresses-without",
                code=suppression.code,
            ),
            reason=say("whoever meets it later cannot know whether it still holds"),
            help=say(
                "write the reason behind it: `# dsec: ignore[{code}] because ...`", code=suppression.code
            ),
        )


RULE = Rule("DS903", "suppression-without-reason", Severity.WARNING, check, TEXT, when=("suppression",))
