"""More than 12 Steps in one contract.

Why: Each Step costs a scheduling decision, a start and a hand-over of data. Splitting pays where
the resource profile changes (disk to CPU to GPU), not everywhere a function ends; one team's finer
split cost 15 %.

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
from dsec_cli.lint.rule import Facts, Rule
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

MOST = 12


def check(facts: Facts) -> Iterator[Finding]:
    """The thirteenth Step and what comes after it, as one finding."""
    count = len(facts.contract.steps)
    if count <= MOST:
        return
    yield Finding(
        code=RULE.code,
        severity=RULE.severity,
        where=facts.contract.steps[0].path[:1],
        part="key",
        message=say(
            "{count} Steps: {over} more than the {most} that schedule well",
            "steps-more-than",
            count=count,
            over=count - MOST,
            most=MOST,
        ),
        reason=say("each Step costs a decision, a start and a hand-over"),
        help=say(
            "join neighbours that want the same resources; split only where the resource profile changes"
        ),
    )


RULE = Rule("DS506", "many-steps", Severity.INFO, check)
