"""What is settled of demands before anything is scheduled: tokens, NVLink groups, devices to avoid."""

from __future__ import annotations

from dsec.record import Record
from dsec_cli.dag.affinity import Unjoined, joined
from dsec_cli.dag.demand import tokens_of
from dsec_cli.diagnostics import Finding, Severity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dsec.inventory import Inventory
    from dsec.plan import Demand
    from dsec_cli.contract.values import Contract
    from dsec_cli.dag.graph import StepGraph


class Settled(Record):
    """Demands as they are met, and the machine that meets them."""

    demands: list[Demand]
    inventory: Inventory


def settle(
    graph: StepGraph, contract: Contract, demands: Sequence[Demand], inventory: Inventory
) -> Settled | Finding:
    """The demands of the graph's Steps on `inventory`, or why Steps cannot be together there."""
    counted = tokens_of(contract)
    machine = inventory if counted is None else inventory._replace(tokens=counted)
    found = joined(graph, contract, demands, machine)
    return _unjoined(found, inventory) if isinstance(found, Unjoined) else Settled(found, machine)


def _unjoined(wrong: Unjoined, inventory: Inventory) -> Finding:
    return Finding(
        code="DS509",
        severity=Severity.ERROR,
        where=wrong.where,
        message=wrong.text,
        reason=f"the inventory ({inventory.origin}) joins its GPUs otherwise",
        help="leave the protocol or the label out, or plan for another machine with --inventory FILE",
    )
