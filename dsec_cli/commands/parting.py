"""`--split`: which Steps are cut into how many parts, and a graph that shows them."""

from __future__ import annotations

from dsec.parts import COUNT
from dsec_cli.dag.demand import demand_of
from dsec_cli.dag.pool import pool_of
from dsec_cli.dag.split import FEWEST, WHOLE, decide
from dsec_cli.dag.split_graph import learned_of_parts, split_graph
from dsec_cli.dag.whatif import meant
from dsec_cli.exit import UsageError
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from dsec.plan import Plan
    from dsec_cli.contract.values import Contract
    from dsec_cli.dag.graph import StepGraph
    from dsec_cli.diagnostics import Finding

MOST_PARTS = 1024
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
        asked[name] = part_count(count, text) if equals else FEWEST
    return asked


def part_count(text: str, whole: str) -> int:
    """The number of parts that a text states."""
    if text.isascii() and text.isdigit() and 1 <= int(text[:9]) <= MOST_PARTS:
        return int(text)
    raise UsageError(
        say(
            "{whole}: {text!r} is no number of parts from 1 to {most}",
            whole=whole,
            text=text,
            most=MOST_PARTS,
        ),
        hint=say("S2=2 cuts Step S2 into two parts, S2=1 leaves it whole"),
    )


def in_parts(
    graph: StepGraph, contract: Contract, learned: Mapping[str, int], asked: Mapping[str, int]
) -> tuple[StepGraph, Mapping[str, int], tuple[Finding, ...]]:
    """The graph with what the baseline's devices cannot hold in parts, and why what was asked cannot be."""
    whole = [demand_of(step, contract) for step in graph.steps if not step.layers]
    pool = pool_of(contract, whole)
    stated = contract.baseline.gpu if contract.baseline is not None else None
    if stated is None or stated.memory is None:
        asked = {**{step.id: WHOLE for step in graph.steps if step.layers}, **asked}
    devices = [
        device._replace(uuid=f"GPU-{at}", index=at) for at in range(_SHOWN) for device in pool.devices[:1]
    ]
    decided = decide(graph, contract, pool._replace(devices=tuple(devices)), asked)
    findings = decided.findings if asked else ()
    return split_graph(graph, decided.splits, learned), learned_of_parts(learned, decided.splits), findings


def as_planned(graph: StepGraph, contract: Contract, plan: Plan) -> StepGraph:
    """The graph with the parts that the Steps of a plan were cut into."""
    asked = {step.id: WHOLE for step in graph.steps if step.layers}
    for step in plan.steps:
        count, name = dict(step.env).get(COUNT, ""), step.id.rpartition(".")[0]
        if count.isdecimal() and name in asked:
            asked[name] = int(count)
    return split_graph(graph, decide(graph, contract, plan.inventory, asked).splits, {})
