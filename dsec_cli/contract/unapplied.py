"""Which keys that a document states are checked and not applied by a run yet.

A key leaves this table when a run obeys it; `docs/explanation/limits.md` has the same list.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.contract.values import Contract
    from dsec_cli.source.tree import Path

ROOTS = ("base", "security_policy", "bandwidth_cap", "latency_cap", "policies", "lifecycle")
"""Keys of a document's root, in the order in which they are named."""


def unapplied(contract: Contract) -> Iterator[tuple[str, Path]]:
    """Each such key once, as a reader calls it, with the first place that states it."""
    for key in ROOTS:
        if key in contract.stated:
            yield key, (key,)
    if contract.mounts:
        yield "mounts", contract.mounts[0].path
    for variable in contract.env_vars:
        if variable.ttl is not None:
            yield "ttl", (*variable.path, "ttl")
            break
    for one in contract.dependencies:
        if one.build_options:
            yield "build_options", (*one.path, "build_options")
            break
    for step in contract.steps:
        if step.demand.pcie is not None:
            yield "pcie", (*step.demand.path, "pcie")
            break
