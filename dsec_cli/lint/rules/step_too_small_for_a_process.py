"""A Step is expected to take so little that starting it is much of its time.

Why: A fresh Python with numpy costs 0.13 to 0.18 CPU seconds before its first useful line, so half a
second is little for one. DSec itself takes 1.3 ms of CPU to start a process and 0.1 ms for a call into
a warm worker (`benchmarks/RESULTS.md`): of Steps shorter than a hundred times that, 130 ms and 10 ms,
more than one per cent goes there.

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

Source: seed A section 3.2 (finer Steps raised the overhead by 15 %); start-up costs measured.
"""

from __future__ import annotations

from dsec.units import Duration
from dsec_cli.diagnostics import Finding, Severity
from dsec_cli.lint.costs import CALL_US, START_US, TIMES
from dsec_cli.lint.rule import Facts, Rule
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.contract.values import Run, Step

LEAST = Duration(500 * 10**6)
START = Duration(150 * 10**6)
"""Middle of the measured 0.13 to 0.18 CPU seconds of a fresh Python with numpy."""
_PYTHON = ("python", "torchrun", "accelerate", "deepspeed", "pytest", "uv")


def check(facts: Facts) -> Iterator[Finding]:
    """Steps whose expected duration is little beside what starting them costs."""
    for step in facts.contract.steps:
        run, expect = step.run, step.expect
        if run is None or expect is None:
            continue
        if run.call is not None:
            if expect < TIMES * CALL_US * 1000:
                yield _own_cost(step, expect, CALL_US)
        elif is_python(run):
            if expect < LEAST:
                yield _python(step, expect)
        elif expect < TIMES * START_US * 1000:
            yield _own_cost(step, expect, START_US)


def is_python(run: Run) -> bool:
    """Whether a command starts Python, as far as its words say."""
    if run.shell is not None:
        return "python" in run.shell or ".py" in run.shell
    name = run.argv[0].rpartition("/")[2]
    return name.startswith(_PYTHON) or name.endswith(".py")


def _python(step: Step, expect: Duration) -> Finding:
    return _finding(
        step,
        RULE.severity,
        say(
            "Step {id} takes {expect}, starting its process takes about {start}: {share} % of "
            "the time goes into starting",
            "step-takes-starting",
            id=step.id,
            expect=expect,
            start=START,
            share=round(100 * START / (START + expect)),
        ),
        say("every execution of a `run` Step is a new process"),
        say("serve it from a warm worker with `call: module:function`, or join it with a neighbour"),
    )


def _own_cost(step: Step, expect: Duration, cost_us: int) -> Finding:
    share = 100_000 * cost_us / (1000 * cost_us + expect)
    return _finding(
        step,
        Severity.INFO,
        say(
            "Step {id} takes {expect}, DSec takes about {cost} ms of CPU to start it: {share} %",
            "step-takes-own",
            id=step.id,
            expect=expect,
            cost=f"{cost_us / 1000:g}",
            share=f"{share:.0f}" if share >= 10 else f"{share:.1f}",
        ),
        say("as measured; of a Step shorter than {times} times that, more than 1 % goes there", times=TIMES),
        say("join it with a neighbour that wants the same resources, or let it do more at a time"),
    )


def _finding(step: Step, severity: Severity, message: str, reason: str, help_: str) -> Finding:
    where = (*step.path, "expected_duration")
    return Finding(RULE.code, severity, where, message, reason=reason, help=help_)


RULE = Rule("DS510", "step-too-small-for-a-process", Severity.WARNING, check, when=("brief",))
