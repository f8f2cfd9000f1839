"""More than two GPUs behind NVLink switches, and no `nvlink_mode`.

Why: By default every pair of GPUs talks directly. With many GPUs behind NVSwitches all pairs
together want more than the switches carry: one eight-GPU job asked for 800 GB/s of 600 GB/s, links
lost packets, and the loss went up in the thousandth step. `switched` lets the switches decide; with
two GPUs, or on PCIe cards joined in pairs, there is nothing to decide.

Bad (yaml):
    baseline:
      gpu: {count: 8, memory: 64Gi, type: a100-sxm-80gb}
    elasticity:
      gpu: {min_count: 8, max_count: 8}

Good (yaml):
    baseline:
      gpu: {count: 8, memory: 64Gi, type: a100-sxm-80gb}
    elasticity:
      gpu: {min_count: 8, max_count: 8}
    nvlink_mode: switched

Source: seed B section 4.2 (write `nvlink_mode: switched` for jobs of several GPUs).
"""

from __future__ import annotations

from dsec import cards
from dsec_cli.diagnostics import Finding, Related, Severity
from dsec_cli.lint.demands import Types, gpu_asks
from dsec_cli.lint.rule import Facts, Rule
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.lint.demands import Ask

KEY = "nvlink_mode"
PAIR = 2
SWITCHED = ("sxm", "b200", "h20-")
"""Parts of the types that are sold on boards with NVSwitches."""


def check(facts: Facts) -> Iterator[Finding]:
    """The greatest demand for GPUs that stand behind switches."""
    if KEY in facts.contract.stated:
        return
    types = Types()
    asks = [ask for ask in gpu_asks(facts.contract) if (ask.wanted or 0) > PAIR and _switched(ask, types)]
    if not asks or not facts.lacks((KEY,)):
        return
    most = max(asks, key=lambda ask: ask.wanted or 0)
    found = Finding(
        code=RULE.code,
        severity=RULE.severity,
        where=most.count_path,
        message=say(
            "{who} asks for {count} GPUs of type {type}, and nvlink_mode does not say how they talk",
            "unsaid",
            who=most.who,
            count=most.wanted,
            type=most.type,
        ),
        reason=say("by default all pairs talk directly, which together is more than the switches carry"),
        help=say("add `nvlink_mode: switched` (or p2p, off, if that is meant)"),
        related=(Related(most.type_path, say("the type has NVSwitches")),) if most.type_path else (),
    )
    from dsec_cli.lint.mend import with_entry  # only a finding pays for it

    yield with_entry(facts, found, (), KEY, "switched")


def _switched(ask: Ask, types: Types) -> bool:
    found = types.resolve(ask.type) if ask.type is not None else ()
    rows = [row for name in found if (row := cards.card(name)) is not None]
    return bool(rows) and all(row.nvlink and any(part in row.type for part in SWITCHED) for row in rows)


RULE = Rule("DS209", "nvlink-mode-missing", Severity.WARNING, check, when=("over-two-gpus",))
