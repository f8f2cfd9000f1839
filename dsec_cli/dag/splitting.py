"""From the order of a contract's Steps to that of its Steps and the parts of those that are split."""

from __future__ import annotations

from dsec.record import Record
from dsec_cli.dag.cycles import Order, order_steps
from dsec_cli.dag.split import decide
from dsec_cli.dag.split_graph import learned_of_parts, split_contract, split_graph

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from dsec.inventory import Inventory
    from dsec_cli.contract.values import Contract
    from dsec_cli.dag.split import Split
    from dsec_cli.diagnostics import Finding


class Cut(Record):
    """An order with the parts in it."""

    order: Order
    contract: Contract
    learned: Mapping[str, int]
    """Milliseconds by Step id, of parts too."""
    splits: dict[str, Split]
    findings: tuple[Finding, ...]
    """Steps that should be split and cannot; the order is then that of before."""


def split_order(
    order: Order,
    contract: Contract,
    inventory: Inventory,
    *,
    asked: Mapping[str, int],
    learned: Mapping[str, int],
) -> Cut:
    """Split what fits no device of the inventory, and what is asked for (`split.decide`)."""
    decided = decide(order.graph, contract, inventory, asked)
    if decided.findings or not decided.splits:
        return Cut(order, contract, learned, decided.splits, decided.findings)
    after = order_steps(split_graph(order.graph, decided.splits, learned))
    if not isinstance(after, Order):
        raise AssertionError("parts stand where the whole stood, so no cycle can come of them")
    changed = split_contract(contract, decided.splits)
    return Cut(after, changed, learned_of_parts(learned, decided.splits), decided.splits, ())
