"""Two Steps have the same id.

Why: An id is how others wait for a Step, how its log is named and how a run is resumed. With two of
them, whoever says the id may mean either.

Bad (yaml):
    # ds_config.yaml
    steps:
      - {id: load, run: python load.py, timeout: 60s}
      - {id: load, run: python decode.py, timeout: 60s}

Good (yaml):
    # ds_config.yaml
    steps:
      - {id: load, run: python load.py, timeout: 60s}
      - {id: decode, run: python decode.py, timeout: 60s}

Source: seed A section 3 (each Step has an id of its own).
"""

from __future__ import annotations

from dsec_cli.diagnostics import Finding, Related, Severity
from dsec_cli.lint.rule import Facts, Rule
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.source.tree import Path


def check(facts: Facts) -> Iterator[Finding]:
    """Every Step whose id an earlier Step has; of `steps` and `tasks` together."""
    first: dict[str, Path] = {}
    for step in facts.contract.steps:
        where = (*step.path, "name" if step.kind == "task" else "id")
        if step.id not in first:
            first[step.id] = where
            continue
        yield Finding(
            code=RULE.code,
            severity=RULE.severity,
            where=where,
            message=say("the Step id {id!r} is taken", "step-id-taken", id=step.id),
            reason=say("whoever needs this id could mean either Step"),
            help=say("give this Step an id of its own"),
            related=(Related(first[step.id], say("{id!r} is first used here", id=step.id)),),
        )


RULE = Rule("DS502", "duplicate-step-id", Severity.ERROR, check, when=("same-id",))
