"""Which Steps are split over several devices, and where their layers are cut."""

from __future__ import annotations

from dsec.cards import memory_text
from dsec.core.partition import balanced, fewest
from dsec.core.placement import feasible, slots
from dsec.inventory import steady
from dsec.record import Record
from dsec_cli.dag.demand import demand_of
from dsec_cli.dag.pool import BASELINE, untyped
from dsec_cli.dag.splittable import (
    Obstacle,
    beside_layers,
    layer_sizes,
    layers_bytes,
    memory_short_of_layers,
    obstacles,
    part_id,
)
from dsec_cli.diagnostics import Finding, Severity
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from dsec.inventory import Inventory
    from dsec.plan import Demand
    from dsec_cli.contract.values import Contract, Step
    from dsec_cli.dag.graph import StepGraph

FULL = 90
"""Per cent of a device that a part fills at most, where there are devices enough for that."""
FEWEST = 0
"""Asked for: as few parts as can be, but more than one."""
WHOLE = 1
"""Asked for: no split."""


class Split(Record):
    """How one Step is cut."""

    ends: tuple[int, ...]
    """Behind which layer each part ends."""
    sizes: tuple[int, ...]
    """Of each layer."""
    beside: int
    """What every part takes besides its layers."""
    why: str
    """What the plan says of it."""


class Decided(Record):
    """What is split, and what should be and cannot."""

    splits: dict[str, Split]
    findings: tuple[Finding, ...]


def decide(
    graph: StepGraph, contract: Contract, inventory: Inventory, asked: Mapping[str, int] | None = None
) -> Decided:
    """Split what fits no device of the inventory, and what is asked for.

    `asked`: parts per Step id, FEWEST or WHOLE; Steps that are not named are split where they must be.
    """
    asked = asked or {}
    splits: dict[str, Split] = {}
    findings: list[Finding] = []
    for step in graph.steps:
        wanted = asked.get(step.id)
        short = memory_short_of_layers(step, _gpus(step)) if step.layers else None
        if short is not None:
            findings.append(_contradiction(step, short))
            continue
        if wanted == WHOLE or not (step.layers or wanted is not None):
            continue
        refused = _refused(step, contract, inventory)
        if wanted is None and not refused:
            continue
        found = _split(step, graph, contract, inventory, -1 if wanted is None else wanted)
        if isinstance(found, Obstacle):
            findings.append(_finding(step, found))
        else:
            splits[step.id] = found._replace(why=f"{found.why}, {refused or 'as was asked for'}")
    return Decided(splits, tuple(findings))


def _gpus(step: Step) -> int:
    gpu = step.demand.gpu
    return 1 if gpu is None or not gpu.count else gpu.count


def _refused(step: Step, contract: Contract, inventory: Inventory) -> str:
    """Why the whole Step fits no device; "" when it does, or when not memory is what it lacks."""
    demand = _demand(step, contract, inventory)
    machine = steady(inventory)
    refusal = feasible(demand, machine)
    if refusal is None or feasible(demand._replace(gpu_memory_bytes=1), machine) is not None:
        return ""
    return f"as {step.id} {refusal.text}"


def _split(
    step: Step, graph: StepGraph, contract: Contract, inventory: Inventory, wanted: int
) -> Split | Obstacle:
    others = graph.numbers.keys()
    if not step.layers:
        return Obstacle(
            step.path,
            say("it states no layers"),
            say("state them: layers: [{memory: 1200Mi, count: 32}]"),
        )
    for obstacle in obstacles(step, others):
        return obstacle
    sizes, beside = layer_sizes(step), beside_layers(step)
    all_rooms = _rooms(step, contract, inventory, beside)
    if all_rooms is None:
        all_rooms = [layers_bytes(step)] * max(wanted, 2)
    rooms = sorted(all_rooms, reverse=True)[: _most(step, contract)]
    parts, filling = (wanted, "") if wanted > WHOLE else _as_few_as_do(sizes, rooms, beside)
    ends = balanced(sizes, rooms, parts)
    if ends is None or (wanted > WHOLE and len(ends) < wanted):
        within = balanced(sizes, all_rooms, parts) if wanted > WHOLE else fewest(sizes, all_rooms)
        if within is not None and len(rooms) < len(all_rooms):
            return _too_many(step, parts if wanted > WHOLE else within, len(rooms))
        return _too_little(step, sizes, all_rooms, beside, parts=parts if wanted > WHOLE else 0)
    taken = _taken(step, graph, len(ends))
    if taken is not None:
        return taken
    why = f"{len(ends)} parts, the largest as small as can be{filling}"
    return Split(ends, tuple(sizes), beside, why)


def _most(step: Step, contract: Contract) -> int | None:
    """How many GPUs elasticity lets the job have; None: it does not say, or the Step takes none."""
    elastic = contract.elasticity.gpu if contract.elasticity is not None else None
    return elastic.max_count if elastic is not None and step.demand.gpu is not None else None


def _as_few_as_do(sizes: list[int], rooms: list[int], beside: int) -> tuple[int, str]:
    """How many parts, and how full devices get."""
    least = fewest(sizes, [max(0, (room + beside) * FULL // 100 - beside) for room in rooms])
    if least is not None:
        return max(least, 2), f", devices filled to {FULL} % at most"
    return max(fewest(sizes, rooms) or 0, 2), f", devices filled to more than {FULL} % as there are no more"


def _rooms(step: Step, contract: Contract, inventory: Inventory, beside: int) -> list[int] | None:
    """What each device that will do has for layers; None: the Step takes no device, or sizes are unknown."""
    demand = _demand(step, contract, inventory)._replace(gpu_memory_bytes=1)
    if not demand.gpu_count:
        return None
    able = [slot.capacity for slot in slots(steady(inventory)) if slot.free_for(demand)]
    if any(capacity is None for capacity in able):
        return None
    return [max(0, (capacity or 0) - beside) for capacity in able]


def _demand(step: Step, contract: Contract, inventory: Inventory) -> Demand:
    """What the Step asks for; of the baseline as an inventory, devices have no types."""
    demand = demand_of(step, contract)
    return untyped([demand])[0] if inventory.origin == BASELINE else demand


def _too_little(step: Step, sizes: list[int], rooms: list[int], beside: int, *, parts: int) -> Obstacle:
    """The arithmetic of what does not fit."""
    at = (*step.path, "layers")
    room, largest = max(rooms, default=0), max(sizes)
    more = say("plan for another machine with --inventory FILE, or for smaller layers")
    besides = say(" besides {beside}", beside=memory_text(beside)) if beside else ""
    if not rooms:
        return Obstacle(at, say("the inventory has no device of its kind"), more)
    if largest > room:
        message = say(
            "layer {layer} takes {size}, and the largest device has {room}{besides}",
            layer=sizes.index(largest),
            size=memory_text(largest),
            room=memory_text(room),
            besides=besides,
        )
        return Obstacle(at, message, more)
    if parts > min(len(sizes), len(rooms)):
        message = say(
            "in {parts} parts it needs as many layers and devices; there are {layers} and {devices}",
            parts=parts,
            layers=len(sizes),
            devices=len(rooms),
        )
        return Obstacle(at, message, say("ask for fewer parts"))
    count = parts or len(rooms)
    largest_rooms = sorted(rooms, reverse=True)[:count]
    message = say(
        "its {layers} layers take {size}, and no cut of them, whole and in their order, fits {count} "
        "devices of {room} in all{besides}",
        layers=len(sizes),
        size=memory_text(sum(sizes)),
        count=count,
        room=memory_text(sum(largest_rooms)),
        besides=besides,
    )
    return Obstacle(at, message, more)


def _too_many(step: Step, parts: object, most: int) -> Obstacle:
    return Obstacle(
        (*step.path, "layers"),
        say(
            "its {parts} parts take as many GPUs, and elasticity.gpu.max_count is {most}",
            parts=parts,
            most=most,
        ),
        say("raise max_count, or plan for larger devices"),
    )


def _taken(step: Step, graph: StepGraph, parts: int) -> Obstacle | None:
    """Whether another Step has the id of one of the parts."""
    for index in range(2, parts):
        if part_id(step.id, index) in graph.numbers:
            return Obstacle(
                (*step.path, "id"),
                say(
                    "{name} is the id of another Step, and would be that of a part",
                    name=part_id(step.id, index),
                ),
                say("give the other Step another id"),
            )
    return None


def _contradiction(step: Step, obstacle: Obstacle) -> Finding:
    """Planned by what is stated it would run out of memory: no place is right for both."""
    return Finding(
        code="DS210",
        severity=Severity.ERROR,
        where=obstacle.where,
        message=say(
            "Step {id} cannot be placed: {why}", "layers-over-memory", id=step.id, why=obstacle.message
        ),
        reason=say("its GPU memory decides which device it gets, and its layers whether it is split"),
        help=obstacle.help,
    )


def _finding(step: Step, obstacle: Obstacle) -> Finding:
    return Finding(
        code="DS210",
        severity=Severity.ERROR,
        where=obstacle.where,
        message=say("Step {id} cannot be split: {why}", "cannot-split", id=step.id, why=obstacle.message),
        reason=say("a Step that fits no single device is split where its layers are cut"),
        help=obstacle.help,
    )
