"""`snapshot_interval` is shorter than one save may take, or longer than the whole run.

Why: The grace period is the time that the job says a save may take. Snapshots that come faster than
that pile up, and the job does little else. An interval longer than the run can last means that no
snapshot is ever taken.

Bad (yaml):
    fault_tolerance:
      level: critical
      checkpoint_grace_period: 60s
    snapshot_interval: 30s

Good (yaml):
    fault_tolerance:
      level: critical
      checkpoint_grace_period: 60s
    snapshot_interval: 90s

Source: seed C section 2.2 (a snapshot every 90 s that costs 47 ms) and seed A section 2.1 (grace).
"""

from __future__ import annotations

from dsec.units import Duration
from dsec_cli.diagnostics import Finding, Related, Severity
from dsec_cli.lint.rule import Facts, Rule
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.contract.values import Contract

KEY = "snapshot_interval"


def check(facts: Facts) -> Iterator[Finding]:
    """Compare the interval with the contract's grace period and with the longest possible run."""
    contract = facts.contract
    interval, tolerance = contract.snapshot_interval, contract.fault_tolerance
    if interval is None:
        return
    grace = tolerance.checkpoint_grace_period if tolerance is not None else None
    if interval == 0 or (grace is not None and interval < grace):
        yield _too_short(interval, grace)
    longest = _longest_run(contract)
    if longest is not None and interval > longest:
        yield _too_long(interval, longest)


def _too_short(interval: Duration, grace: Duration | None) -> Finding:
    least = grace if grace is not None else Duration(90 * 10**9)
    related = (
        Related(("fault_tolerance", "checkpoint_grace_period"), say("a save may take {grace}", grace=grace)),
    )
    return Finding(
        code=RULE.code,
        severity=RULE.severity,
        where=(KEY,),
        message=say(
            "a snapshot every {interval}, but one save may take {grace}: {short} too short",
            "short",
            interval=interval,
            grace=grace,
            short=Duration(least - interval),
        )
        if grace is not None
        else say("between two snapshots lies no time at all", "none"),
        reason=say("snapshots that come faster than they are written pile up"),
        help=say("write {key}: {least} or more", key=KEY, least=least),
        related=related if grace is not None else (),
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


RULE = Rule("DS305", "snapshot-interval-unfit", Severity.WARNING, check)
