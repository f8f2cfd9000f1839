"""`bandwidth_cap` is above elasticity's `bandwidth_max`.

Why: The cap is there to slow a worker down before it takes the network from others. Above the rate
that the contract gets at most it can never be reached, so it protects nobody. Byte rates count
eightfold: 100MB/s are 800 Mbps.

Bad (yaml):
    elasticity:
      gpu: {min_count: 2, max_count: 4}
      network: {bandwidth_min: 100Mbps, bandwidth_max: 500Mbps}
    bandwidth_cap: 100MB/s

Good (yaml):
    elasticity:
      gpu: {min_count: 2, max_count: 4}
      network: {bandwidth_min: 100Mbps, bandwidth_max: 1Gbps}
    bandwidth_cap: 100MB/s

Source: seed C section 2.1 (the cap of a worker) and seed A section 2.1 (`bandwidth_max`).
"""

from __future__ import annotations

from dsec_cli.diagnostics import Finding, Related, Severity
from dsec_cli.lint.rule import Facts, Rule
from dsec_cli.lint.stated import text
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

KEY = "bandwidth_cap"


def check(facts: Facts) -> Iterator[Finding]:
    """Compare both in bits per second."""
    cap, elasticity = facts.contract.bandwidth_cap, facts.contract.elasticity
    network = elasticity.network if elasticity is not None else None
    if cap is None or network is None or network.bandwidth_max is None or cap <= network.bandwidth_max:
        return
    most = network.bandwidth_max
    written = text(facts.node((KEY,))) or str(cap)
    found = Finding(
        code=RULE.code,
        severity=RULE.severity,
        where=(KEY,),
        message=say(
            "bandwidth_cap {written} ({cap}) is {over} above bandwidth_max {most}",
            "over",
            written=written,
            cap=cap,
            over=type(cap)(cap - most),
            most=most,
        )
        if written != str(cap)
        else say(
            "bandwidth_cap {cap} is {over} above bandwidth_max {most}",
            "over-as-written",
            cap=cap,
            over=type(cap)(cap - most),
            most=most,
        ),
        reason=say("a cap that can never be reached slows nobody down"),
        help=say("write bandwidth_cap: {most} or less, or raise elasticity.network.bandwidth_max", most=most),
        related=(Related((*network.path, "bandwidth_max"), say("at most {most} are granted", most=most)),),
    )
    from dsec_cli.lint.mend import with_value  # only a finding pays for it

    yield with_value(facts, found, (KEY,), str(most))


RULE = Rule(
    "DS307",
    "bandwidth-cap-above-maximum",
    Severity.ERROR,
    check,
    when=("bandwidth_cap", "elasticity.network"),
)
