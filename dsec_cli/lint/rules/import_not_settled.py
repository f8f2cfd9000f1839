"""An import left something open that is not settled yet.

Why: `dsec import` writes what the other file says. What a run cannot do without and the file does not
say (a command that only the image has, a variable whose value is elsewhere, a server that others wait
for) stands in a comment at the top, and the contract would fail without it. Write what is missing,
then take the line out.

Bad (yaml):
    # ds_config.yaml
    # unsettled: compose.yml:3: eval.command: the command is in the image, not in the file
    steps:
      - id: eval
        run: [sh, -c, "exit 1"]
        timeout: 1h

Good (yaml):
    # ds_config.yaml
    steps:
      - id: eval
        run: python eval.py --suite all
        timeout: 1h

Source: imported compose files that were planned without a finding, and whose runs could not work.
"""

from __future__ import annotations

from dsec_cli.diagnostics import Finding, Severity
from dsec_cli.lint.rule import TEXT, Facts, Rule
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

MARK = "unsettled:"


def check(facts: Facts) -> Iterator[Finding]:
    """Every comment of an importer that is still there."""
    for comment in facts.tree.comments:
        text = comment.text.lstrip("#").strip()
        if text.startswith(MARK):
            yield Finding(
                code=RULE.code,
                severity=RULE.severity,
                where=comment.span,
                message=say("an import left this open: {what}", "left-open", what=text[len(MARK) :].strip()),
                reason=say("the run cannot work as it did in the file that was imported"),
                help=say("write what is missing into the contract, then take this line out"),
            )


RULE = Rule("DS120", "import-not-settled", Severity.ERROR, check, TEXT, when=(MARK,))
