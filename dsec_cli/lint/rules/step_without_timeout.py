"""A Step has no `timeout`.

Why: A Step that hangs (a collective that waits for a lost peer, a download that stalls) holds its
GPUs until somebody looks. With a timeout it is stopped, its neighbours go on, and a retry can
begin.

Bad (yaml):
    # ds_config.yaml
    steps:
      - id: S1
        run: python load.py

Good (yaml):
    # ds_config.yaml
    steps:
      - id: S1
        run: python load.py
        timeout: 300s

Source: seed A section 5.4 (every Step must have a timeout). The seeds' `tasks` show none, so there
it is a warning.
"""

from __future__ import annotations

from dsec.units import Duration
from dsec_cli.diagnostics import Finding, Severity
from dsec_cli.lint.rule import Facts, Rule
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.contract.values import Step
    from dsec_cli.source.tree import Path

DEFAULT = Duration(300 * 10**9)
MINUTE = 60 * 10**9


def check(facts: Facts) -> Iterator[Finding]:
    """Every Step that states no timeout at all, or one of no time."""
    for step in facts.contract.steps:
        stated = (*step.path, "timeout")
        if step.timeout is not None and step.timeout.ms == 0:
            yield _of_no_time(facts, step, stated)
        if step.timeout is not None or not facts.lacks(stated):
            continue
        from dsec_cli.lint.mend import with_entry  # only a finding pays for it

        task = step.kind == "task"
        found = Finding(
            code=RULE.code,
            severity=Severity.WARNING if task else RULE.severity,
            where=(*step.path, "name" if task else "id"),
            message=say("{kind} {id} has no timeout", "missing", kind="task" if task else "Step", id=step.id),
            reason=say("if it hangs, it holds its resources until somebody looks"),
            help=say("add `timeout: {step}`, or the longest it may reasonably take", step=_proposal(step)),
        )
        yield with_entry(facts, found, step.path, "timeout", _proposal(step))


def _of_no_time(facts: Facts, step: Step, stated: Path) -> Finding:
    from dsec_cli.lint.mend import with_value  # only a finding pays for it

    found = Finding(
        code=RULE.code,
        severity=RULE.severity,
        where=stated,
        message=say(
            "{kind} {id} has a timeout of 0",
            "zero",
            kind="task" if step.kind == "task" else "Step",
            id=step.id,
        ),
        reason=say("every attempt would be over before it began"),
        help=say("write `timeout: {step}`, or the longest it may reasonably take", step=_proposal(step)),
    )
    return with_value(facts, found, stated, _proposal(step))


def _proposal(step: Step) -> str:
    """Three times what is expected, in whole minutes; else the seed's 300s."""
    if step.expect is None:
        return f"{int(DEFAULT.seconds)}s"
    return str(Duration(max(1, -(-3 * step.expect // MINUTE)) * MINUTE))


RULE = Rule("DS505", "step-without-timeout", Severity.ERROR, check, when=("no-time",))
