"""A Step is expected to take longer than its timeout, or its grace period is longer than that.

Why: The timeout ends an attempt whatever it has done. A Step that is expected to need more is stopped
in every attempt, and each retry is stopped again. A grace period as long as the timeout gives a Step
as much time to leave as to work.

Bad (yaml):
    # ds_config.yaml
    steps:
      - id: train
        run: python train.py
        timeout: 1h
        expected_duration: 90m

Good (yaml):
    # ds_config.yaml
    steps:
      - id: train
        run: python train.py
        timeout: 3h
        expected_duration: 90m

Source: seed A section 5.4 (every Step has a timeout); users' reports on settings that exclude each
other.
"""

from __future__ import annotations

from dsec.units import Duration
from dsec_cli.diagnostics import Finding, Related, Severity
from dsec_cli.lint.rule import Facts, Rule
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.contract.values import Step

MINUTE = 60 * 10**9


def check(facts: Facts) -> Iterator[Finding]:
    """The times of each Step against its timeout."""
    for step in facts.contract.steps:
        timeout = step.timeout
        if not timeout:
            continue
        if step.expect is not None and step.expect > timeout:
            from dsec_cli.lint.mend import with_value  # only a finding pays for it

            told = _never_ends(step, step.expect, timeout)
            yield with_value(facts, told, (*step.path, "timeout"), _enough(step.expect))
        if step.grace is not None and step.grace > timeout:
            yield _long_grace(step, step.grace, timeout)


def _enough(expect: Duration) -> str:
    """Twice what is expected, in whole minutes."""
    return str(Duration(-(-2 * expect // MINUTE) * MINUTE))


def _never_ends(step: Step, expect: Duration, timeout: Duration) -> Finding:
    return Finding(
        code=RULE.code,
        severity=RULE.severity,
        where=(*step.path, "timeout"),
        message=say(
            "Step {step} is expected to take {expect}, but is stopped after {timeout}: {short} too early",
            "never-ends",
            step=step.id,
            expect=expect,
            timeout=timeout,
            short=Duration(expect - timeout),
        ),
        reason=say("every attempt is stopped before it can end"),
        help=say("write `timeout: {time}` or more", time=_enough(expect)),
        related=(
            Related((*step.path, "expected_duration"), say("expected to take {expect}", expect=expect)),
        ),
    )


def _long_grace(step: Step, grace: Duration, timeout: Duration) -> Finding:
    return Finding(
        code=RULE.code,
        severity=Severity.WARNING,
        where=(*step.path, "checkpoint_grace_period"),
        message=say(
            "Step {step} may take {grace} to save itself, {more} more than the {timeout} it may work",
            "long-grace",
            step=step.id,
            grace=grace,
            timeout=timeout,
            more=Duration(grace - timeout),
        ),
        reason=say("saving would take longer than what is to be saved"),
        help=say("write a shorter checkpoint_grace_period, or a longer timeout"),
        related=(Related((*step.path, "timeout"), say("stopped after {timeout}", timeout=timeout)),),
    )


RULE = Rule("DS516", "times-contradict", Severity.ERROR, check, when=("past-timeout",))
