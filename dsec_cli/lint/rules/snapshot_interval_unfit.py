"""`snapshot_interval` is so short that snapshots eat the run, or longer than the whole run.

Why: A state snapshot was measured at 47 ms. Every 90 s that is nothing; every 500 ms it is nearly a tenth
of the run. An interval longer than the run can last means that no snapshot is ever taken, and a run that
breaks begins again.

Bad (yaml):
    # thresholds.yaml
    snapshot_interval: 500ms

Good (yaml):
    # thresholds.yaml
    snapshot_interval: 90s

Source: seed C section 2.2 (a snapshot every 90 s takes 47 ms, and a run recovers from the last one).
"""

from __future__ import annotations

from dsec.units import Duration
from dsec_cli.diagnostics import Finding, Severity
from dsec_cli.lint.rule import Facts, Rule
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.contract.values import Contract

KEY = "snapshot_interval"
COST = Duration(47 * 10**6)
"""What one snapshot took where it was measured."""
MOST_PERCENT = 5


def check(facts: Facts) -> Iterator[Finding]:
    """Compare the interval with what a snapshot costs and with the longest possible run."""
    interval = facts.contract.snapshot_interval
    if interval is None:
        return
    if interval * MOST_PERCENT < COST * 100:
        yield _too_short(interval)
    longest = _longest_run(facts.contract)
    if longest is not None and interval > longest:
        yield _too_long(interval, longest)


def _too_short(interval: Duration) -> Finding:
    return Finding(
        code=RULE.code,
        severity=RULE.severity,
        where=(KEY,),
        message=say(
            "a snapshot of {cost} every {interval} is {share} % of the run",
            "short",
            cost=COST,
            interval=interval,
            share=min(100 * COST // interval, 100),
        )
        if interval
        else say("between two snapshots lies no time at all", "none"),
        reason=say("the run would do little else than save itself"),
        help=say("write `{key}: 90s`, or as much work as you can afford to lose", key=KEY),
    )


def _longest_run(contract: Contract) -> Duration | None:
    """All timeouts one after the other, over all iterations; None where that has no bound."""
    steps = contract.steps
    if not steps or any(step.timeout is None or (step.retries and step.retries.max) for step in steps):
        return None
    once = sum(int(step.timeout or 0) for step in steps)
    return Duration(once * (contract.iterations.count if contract.iterations is not None else 1))


def _too_long(interval: Duration, longest: Duration) -> Finding:
    return Finding(
        code=RULE.code,
        severity=RULE.severity,
        where=(KEY,),
        message=say(
            "a snapshot every {interval}, but all Steps together end after {longest} at the latest",
            "long",
            interval=interval,
            longest=longest,
        ),
        reason=say("no snapshot would ever be taken"),
        help=say("write a {key} well below {longest}", key=KEY, longest=longest),
    )


RULE = Rule("DS305", "snapshot-interval-unfit", Severity.WARNING, check, when=("snapshot_interval",))
