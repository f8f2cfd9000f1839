"""`--split`: which Steps are cut into how many parts, and a graph that shows them."""

from __future__ import annotations

from dsec.parts import COUNT
from dsec.record import Record
from dsec_cli.dag.demand import demand_of
from dsec_cli.dag.pool import pool_of
from dsec_cli.dag.split import FEWEST, WHOLE, decide
from dsec_cli.dag.split_graph import learned_of_parts, split_contract, split_graph
from dsec_cli.dag.whatif import meant
from dsec_cli.exit import UsageError
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from dsec.inventory import Inventory
    from dsec.plan import Plan
    from dsec_cli.contract.values import Contract
    from dsec_cli.dag.graph import StepGraph
    from dsec_cli.dag.split import Decided
    from dsec_cli.diagnostics import Finding

MOST_PARTS = 1024
_DIGITS = 10
_SHOWN = 64
"""Devices that a graph assumes for parts, where no inventory is given."""


def asked_parts(texts: Sequence[str], steps: Collection[str]) -> dict[str, int]:
    """`S2=3` as 3 parts of S2, `S2` as few as can be, `S2=1` none; UsageError for anything else."""
    asked: dict[str, int] = {}
    for text in texts:
        name, equals, count = text.partition("=")
        if name not in steps:
            raise UsageError(
                say("--split {text}: there is no Step {name!r}", text=text, name=name),
                hint=meant(name, steps),
            )
        asked[name] = _part_count(count, text) if equals else FEWEST
    return asked


def _part_count(count: str, text: str) -> int:
    """The number of parts that `text` states as its `count`."""
    if count.isascii() and count.isdigit() and len(count) < _DIGITS and 1 <= int(count) <= MOST_PARTS:
        return int(count)
    raise UsageError(
        say(
            "--split {text}: {count!r} is no number of parts from 1 to {most}",
            text=text,
            count=count,
            most=MOST_PARTS,
        ),
        hint=say("S2=2 cuts Step S2 into two parts, S2=1 leaves it whole"),
    )


class Parted(Record):
    """A graph with parts in it, and the contract as it then is."""

    graph: StepGraph
    contract: Contract
    learned: Mapping[str, int]
    findings: tuple[Finding, ...]
    """Why what was asked for, or what the given inventory needs, cannot be."""


def in_parts(
    graph: StepGraph,
    contract: Contract,
    *,
    learned: Mapping[str, int],
    asked: Mapping[str, int],
    inventory: Inventory | None,
) -> Parted:
    """The graph with what the devices of the inventory, else of the baseline, cannot hold in parts."""
    if inventory is not None:
        return _parted(graph, contract, decide(graph, contract, inventory, asked), learned)
    whole = [demand_of(step, contract) for step in graph.steps if not step.layers]
    pool = pool_of(contract, whole)
    stated = contract.baseline.gpu if contract.baseline is not None else None
    kept: Mapping[str, int] = asked
    if stated is None or stated.memory is None:
        kept = {**{step.id: WHOLE for step in graph.steps if step.layers}, **asked}
    devices = [
        device._replace(uuid=f"GPU-{at}", index=at) for at in range(_SHOWN) for device in pool.devices[:1]
    ]
    decided = decide(graph, contract, pool._replace(devices=tuple(devices)), kept)
    # A baseline that is too small forbids nothing: what is there, the plan will see.
    return _parted(graph, contract, decided if asked else decided._replace(findings=()), learned)


def as_planned(graph: StepGraph, contract: Contract, *, learned: Mapping[str, int], plan: Plan) -> Parted:
    """The graph with the parts that the Steps of a plan were cut into."""
    asked = {step.id: WHOLE for step in graph.steps if step.layers}
    for step in plan.steps:
        count, name = dict(step.env).get(COUNT, ""), step.id.rpartition(".")[0]
        if count.isdecimal() and name in asked:
            asked[name] = int(count)
    decided = decide(graph, contract, plan.inventory, asked)
    return _parted(graph, contract, decided._replace(findings=()), learned)


def _parted(graph: StepGraph, contract: Contract, decided: Decided, learned: Mapping[str, int]) -> Parted:
    splits = decided.splits
    return Parted(
        split_graph(graph, splits, learned),
        split_contract(contract, splits),
        learned_of_parts(learned, splits),
        decided.findings,
    )
