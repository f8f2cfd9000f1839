"""`latency_cap` is 50 ms or less.

Why: The cap slows a worker down whenever one synchronisation takes longer. Set too tight, ordinary
jitter under load trips it again and again: one team's 50 ms made all workers melt down at every
peak, and training lost 40 % of its speed. The same team ran well with 65 to 75 ms.

Bad (yaml):
    # thresholds.yaml
    latency_cap: 50ms

Good (yaml):
    # thresholds.yaml
    latency_cap: 75ms

Source: seed C, end of section 5 (50 ms was too aggressive) and section 4.2 (75 ms, tuned to 65 ms).
"""

from __future__ import annotations

from dsec.units import Duration
from dsec_cli.diagnostics import Finding, Severity
from dsec_cli.lint.rule import Facts, Rule
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

KEY = "latency_cap"
TIGHT = Duration(50 * 10**6)
PROVEN = Duration(65 * 10**6)


def check(facts: Facts) -> Iterator[Finding]:
    """Compare the contract's cap with the one that is known to be too tight."""
    cap = facts.contract.latency_cap
    if cap is None or cap > TIGHT:
        return
    found = Finding(
        code=RULE.code,
        severity=RULE.severity,
        where=(KEY,),
        message=say(
            "latency_cap {cap} is {short} below {proven}, the least that is known to work",
            "tight",
            cap=cap,
            short=Duration(PROVEN - cap),
            proven=PROVEN,
        ),
        reason=say("ordinary jitter under load trips it, and every trip slows a worker down"),
        help=say("begin with latency_cap: 75ms, and tighten it only by what is measured under load"),
    )
    from dsec_cli.lint.mend import with_value  # only a finding pays for it

    yield with_value(facts, found, (KEY,), "75ms")


RULE = Rule("DS306", "latency-cap-too-tight", Severity.WARNING, check, when=("latency_cap",))
