"""A Step is expected to take less than half a second, and starts a process of its own each time.

Why: A fresh Python with numpy costs 0.13 to 0.18 CPU seconds before its first useful line; a call
into a worker that is already warm costs some tens of microseconds. A short Step spends its time
starting.

Bad (yaml):
    # ds_config.yaml
    steps:
      - id: reward
        run: python reward.py
        timeout: 60s
        expected_duration: 200ms

Good (yaml):
    # ds_config.yaml
    steps:
      - id: reward
        call: reward:score
        timeout: 60s
        expected_duration: 200ms

Source: seed A section 3.2 (finer Steps raised the overhead by 15 %); start-up cost measured.
"""

from __future__ import annotations

from dsec.units import Duration
from dsec_cli.diagnostics import Finding, Severity
from dsec_cli.lint.rule import Facts, Rule
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

LEAST = Duration(500 * 10**6)
START = Duration(150 * 10**6)
"""Middle of the measured 0.13 to 0.18 CPU seconds of a fresh Python with numpy."""


def check(facts: Facts) -> Iterator[Finding]:
    """Steps with `run` whose expected duration is under half a second."""
    for step in facts.contract.steps:
        if step.run is None or step.run.call is not None or step.expect is None or step.expect >= LEAST:
            continue
        share = round(100 * START / (START + step.expect))
        yield Finding(
            code=RULE.code,
            severity=RULE.severity,
            where=(*step.path, "expected_duration"),
            message=(
                say(
                    "Step {id} takes {expect}, starting its process takes about {start}: {share} % of "
                    "the time goes into starting",
                    "step-takes-starting",
                    id=step.id,
                    expect=step.expect,
                    start=START,
                    share=share,
                )
            ),
            reason=say("every execution of a `run` Step is a new process"),
            help=say("serve it from a warm worker with `call: module:function`, or join it with a neighbour"),
        )


RULE = Rule("DS510", "step-too-small-for-a-process", Severity.WARNING, check, when=("brief",))
