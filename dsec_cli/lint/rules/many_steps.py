"""More than 12 Steps in one contract.

Why: Each Step costs a decision, a start and a hand-over. Splitting pays where the resource profile
changes (disk to CPU to GPU), not everywhere a function ends; one team's finer split cost 15 %. DSec's
own scheduler does not slow down here: in graphs of 1,000 and of 5,000 Steps it took 1.2 to 1.3 ms of
CPU per Step started as a process, and 0.1 ms per call into a warm worker
(`docs/explanation/scheduling.md`, `benchmarks/RESULTS.md`). So this is a remark, with the bill.

Bad (yaml):
    # ds_config.yaml
    steps:
      - {id: s1, run: python a.py, timeout: 60s}
      - {id: s2, run: python a.py, timeout: 60s}
      - {id: s3, run: python a.py, timeout: 60s}
      - {id: s4, run: python a.py, timeout: 60s}
      - {id: s5, run: python a.py, timeout: 60s}
      - {id: s6, run: python a.py, timeout: 60s}
      - {id: s7, run: python a.py, timeout: 60s}
      - {id: s8, run: python a.py, timeout: 60s}
      - {id: s9, run: python a.py, timeout: 60s}
      - {id: s10, run: python a.py, timeout: 60s}
      - {id: s11, run: python a.py, timeout: 60s}
      - {id: s12, run: python a.py, timeout: 60s}
      - {id: s13, run: python a.py, timeout: 60s}

Good (yaml):
    # ds_config.yaml
    steps:
      - {id: load, run: python load.py, timeout: 60s}
      - {id: train, run: python train.py, timeout: 1h, needs: [load]}

Source: seed A section 3.2 (over 12 Steps the scheduler's latency rises; split where the profile
changes).
"""

from __future__ import annotations

from dsec_cli.diagnostics import Finding, Severity
from dsec_cli.lint.costs import CALL_US, START_US
from dsec_cli.lint.rule import Facts, Rule
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

MOST = 12


def check(facts: Facts) -> Iterator[Finding]:
    """The thirteenth Step and what comes after it, as one finding."""
    steps = facts.contract.steps
    if len(steps) <= MOST:
        return
    calls = sum(1 for step in steps if step.run is not None and step.run.call is not None)
    cost = (len(steps) - calls) * START_US + calls * CALL_US
    yield Finding(
        code=RULE.code,
        severity=RULE.severity,
        where=steps[0].path[:1],
        part="key",
        message=say(
            "{count} Steps, {over} more than {most}: about {cost} ms of CPU to start them once",
            "steps-more-than",
            count=len(steps),
            over=len(steps) - MOST,
            most=MOST,
            cost=-(-cost // 1000),
        ),
        reason=say(
            "as measured, a process costs {start} ms to start, a call {call} ms",
            start=f"{START_US / 1000:g}",
            call=f"{CALL_US / 1000:g}",
        ),
        help=say(
            "nothing to do if each Step runs for seconds; else join neighbours that want the same resources"
        ),
    )


RULE = Rule("DS506", "many-steps", Severity.INFO, check, when=("many-steps",))
