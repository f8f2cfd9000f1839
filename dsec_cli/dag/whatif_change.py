"""A contract with the changes of a scenario made: its Steps, its iterations, its graph."""

from __future__ import annotations

from itertools import product

from dsec.durations import MOST_MS
from dsec.record import Record
from dsec.units import Duration
from dsec_cli.contract.values import Gpu, Iterations
from dsec_cli.dag.cycles import Order, order_steps
from dsec_cli.dag.estimates import estimate
from dsec_cli.dag.graph import adjacency
from dsec_cli.dag.whatif import REMOVE, BadScenarioError, Percent
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from dsec_cli.contract.values import Contract, Step
    from dsec_cli.dag.graph import Edge, StepGraph
    from dsec_cli.dag.whatif import Change


_MOST_BRIDGES = 1_000_000
"""Edges that removing one Step may add."""


class Changed(Record):
    """All that the compiler is given instead of what the contract states."""

    contract: Contract
    order: Order
    asked: dict[str, int]
    """Parts of Steps, by id."""
    durations: dict[str, int]
    """Milliseconds by Step id, from earlier runs; not of Steps whose duration is changed."""
    told: tuple[str, ...]
    """Each change in words: `S4 gpu.count 1 -> 2`."""


def changed(
    contract: Contract, order: Order, changes: Sequence[Change], durations: Mapping[str, int]
) -> Changed:
    """Make the changes, in order; raises BadScenarioError for one that cannot be made."""
    steps = {step.id: step for step in order.graph.steps}
    known, asked, removed = dict(durations), {}, []
    told: list[str] = []
    for change in changes:
        if not change.step:
            contract, words = _of_job(contract, change)
        elif change.step not in steps:
            raise BadScenarioError(
                say("--what-if changes Step {step} after it was removed", step=change.step),
                say("remove it last, or leave out its other changes"),
            )
        elif change.field == REMOVE:
            del steps[change.step]
            removed.append(change.step)
            words = say("without {step}", step=change.step)
        elif change.field == "split":
            asked[change.step] = _whole(change)
            whole = say("{step} in one piece", step=change.step)
            parts = say("{step} in {parts} parts", step=change.step, parts=change.value)
            words = whole if change.value == 1 else parts
        elif change.field == "duration":
            steps[change.step], words = _timed(steps[change.step], change, known)
        else:
            before = _told(steps[change.step], change.field)
            steps[change.step] = _of_step(steps[change.step], change)
            words = _became(change.step, change.field, before, _told(steps[change.step], change.field))
        told.append(words)
    if not steps:
        raise BadScenarioError(say("--what-if removes every Step"), say("leave at least one"))
    return Changed(contract, _ordered(order, steps, removed), asked, known, tuple(told))


def _ordered(order: Order, steps: Mapping[str, Step], removed: Sequence[str]) -> Order:
    graph = order.graph
    if not removed:
        return order._replace(graph=graph._replace(steps=tuple(steps.values())))
    for name in removed:
        graph = without(graph, name)
    after = order_steps(graph._replace(steps=tuple(steps.values())))
    if not isinstance(after, Order):
        raise AssertionError("whoever waited for a Step waits for what that waited for: no cycle comes of it")
    return after


def without(graph: StepGraph, name: str) -> StepGraph:
    """The graph without a Step: who waited for it waits for what it waited for."""
    steps = tuple(step for step in graph.steps if step.id != name)
    numbers = {step.id: at for at, step in enumerate(steps)}
    into = [edge for edge in graph.edges if edge.target == name]
    out = [edge for edge in graph.edges if edge.source == name]
    if len(into) * len(out) > _MOST_BRIDGES:
        raise BadScenarioError(
            say("--what-if cannot remove {name}: too much waits for too much through it", name=name),
            say("shorten it instead: step={name},duration=0s", name=name),
        )
    edges = [*_others(graph.edges, name), *(_bridge(one, two) for one, two in product(into, out))]
    # One of both ends in an earlier iteration: so does the bridge.
    early_in = [edge for edge in graph.carried if edge.target == name and edge.source != name]
    early_out = [edge for edge in graph.carried if edge.source == name and edge.target != name]
    bridges = (*product(into, early_out), *product(early_in, out))
    carried = [*_others(graph.carried, name), *(_bridge(one, two) for one, two in bridges)]
    return graph._replace(
        steps=steps,
        numbers=numbers,
        edges=tuple(edges),
        carried=tuple(carried),
        cuts=tuple(_others(graph.cuts, name)),
        successors=adjacency(len(steps), numbers, edges),
    )


def _others(edges: Sequence[Edge], name: str) -> list[Edge]:
    return [edge for edge in edges if name not in (edge.source, edge.target)]


def _bridge(one: Edge, two: Edge) -> Edge:
    return one._replace(target=two.target, kind="order", path=two.path, via="")


def _whole(change: Change) -> int:
    if not isinstance(change.value, int):
        raise AssertionError(f"{change.field} is read as a whole number")
    return change.value


def _timed(step: Step, change: Change, known: dict[str, int]) -> tuple[Step, str]:
    """The Step with another duration, which then counts instead of what was measured."""
    [before] = estimate([step], known)
    known.pop(step.id, None)
    if isinstance(change.value, Percent):
        after = Duration(min(before.ms * change.value * 10_000, MOST_MS * 1_000_000))
    elif isinstance(change.value, Duration):
        after = change.value
    else:
        raise AssertionError("a duration is a time or a share")
    sign = {"default": "?", "declared": "", "history": "~"}[before.source]
    return step._replace(expect=after), _became(step.id, "duration", _time(before.ms) + sign, _time(after.ms))


def _became(step: str, field: str, before: str, after: str) -> str:
    return say("{step} {field} {before} -> {after}", step=step, field=field, before=before, after=after)


def _time(ms: int) -> str:
    from dsec_cli.dag.view import time_text

    return time_text(ms)


def _of_step(step: Step, change: Change) -> Step:
    if change.field == "level":
        return step._replace(level=str(change.value))
    fields: dict[str, Any] = {}
    if change.field in ("cpu", "memory"):
        fields = {"cpu_m" if change.field == "cpu" else "memory": change.value}
    else:
        gpu = step.demand.gpu or Gpu(step.path, 1, None, None)
        part: dict[str, Any] = {change.field.partition(".")[2]: change.value}
        gpu = gpu._replace(**part)
        fields = {"gpu": gpu if gpu.count else None}
    return step._replace(demand=step.demand._replace(**fields))


def _told(step: Step, field: str) -> str:
    """A field's value in words."""
    demand = step.demand
    if field == "level":
        return step.level or say("default")
    if field == "cpu":
        return say("default") if demand.cpu_m is None else f"{demand.cpu_m / 1000:g}"
    if field == "memory":
        return say("none") if demand.memory is None else str(demand.memory)
    gpu = demand.gpu
    if field == "gpu.count":
        return "0" if gpu is None else str(1 if gpu.count is None else gpu.count)
    if gpu is None:
        return say("none")
    if field == "gpu.memory":
        return say("whole device") if gpu.memory is None else gpu.memory.text
    if field == "gpu.type":
        return gpu.type or say("baseline's")
    stated = {"gpu.share": gpu.share, "gpu.within": gpu.within, "gpu.topology": gpu.topology}[field]
    return stated or say("default")


def _of_job(contract: Contract, change: Change) -> tuple[Contract, str]:
    value = _whole(change)
    before = contract.iterations or Iterations(("iterations",), 1, 0, 1, ())
    after = before
    if change.field == "iterations":
        old, after = before.count, before._replace(count=value)
    elif change.field == "in_flight":
        old, after = before.in_flight, before._replace(in_flight=value)
    else:
        old, after = before.max_staleness, before._replace(max_staleness=value)
        if before.in_flight == before.max_staleness + 2:  # as it is where nothing is stated
            after = after._replace(in_flight=value + 2)
    if contract.iterations is None and after.count > 1 and change.field == "iterations":
        after = after._replace(in_flight=max(after.in_flight, after.max_staleness + 2))
    return contract._replace(iterations=after), f"{change.field} {old} -> {value}"
