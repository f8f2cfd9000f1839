"""What is settled of demands before they are scheduled: tokens, NVLink groups, what earlier runs taught."""

from __future__ import annotations

from dsec.core.experience import NOTHING, Experience, learned_speeds
from dsec.core.placement import feasible
from dsec.record import Record
from dsec_cli.dag.affinity import Unjoined, joined, near, unkept
from dsec_cli.dag.demand import tokens_of
from dsec_cli.diagnostics import Finding, Severity
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dsec.core.placement import Refusal
    from dsec.inventory import Inventory
    from dsec.plan import Demand
    from dsec.words import Said
    from dsec_cli.contract.values import Contract, Gpu, Step
    from dsec_cli.dag.graph import StepGraph
    from dsec_cli.source.tree import Path


class Settled(Record):
    """Demands as they are met, and the machine that meets them."""

    demands: list[Demand]
    inventory: Inventory
    avoided: Mapping[int, str]
    """By a Step's place in the graph, the types that it keeps off: `rtx-4090 (ran out of memory there)`."""
    notes: tuple[str, ...]


def settle(
    graph: StepGraph,
    contract: Contract,
    demands: Sequence[Demand],
    inventory: Inventory,
    *,
    known: Experience = NOTHING,
) -> Settled | Finding:
    """The demands of the graph's Steps on `inventory`, or why Steps cannot be together there.

    `known`: what earlier runs taught about devices.
    """
    counted = tokens_of(contract)
    machine = inventory if counted is None else inventory._replace(tokens=counted)
    machine, notes = _with_speeds(machine, known)
    found: list[Demand] | Unjoined = list(demands)
    if contract.communication or _labelled(graph):
        found = joined(graph, contract, demands, machine)
        found = found if isinstance(found, Unjoined) else near(graph, found, machine)
        notes += unkept(graph, machine)
    if isinstance(found, Unjoined):
        return _unjoined(found, inventory)
    avoided: dict[int, str] = {}
    for at, step in enumerate(graph.steps) if known.ran_out else ():
        types = known.ran_out.get(step.id)
        if types and found[at].gpu_count:
            kept, text = _kept_off(found[at], types, machine)
            if kept is not None:
                found[at], avoided[at] = kept, text
            elif text:
                notes.append(f"Step {step.id} ran out of memory on {text} before, and nothing else fits it")
    return Settled(found, machine, avoided, tuple(notes))


def _labelled(graph: StepGraph) -> bool:
    """Whether some Step asks to be near others; most graphs are not looked through three times for none."""
    stated = [step.demand for step in graph.steps]
    return any(one.nvlink_affinity or one.numa_affinity for one in stated)


def _with_speeds(inventory: Inventory, known: Experience) -> tuple[Inventory, list[str]]:
    speeds = learned_speeds(known, inventory.devices) if known.paces else {}
    if not speeds:
        return inventory, []
    notes = [
        f"GPU {one.index} ({one.type}): speed {speeds[one.uuid]} instead of {one.speed}, as earlier runs took"
        for one in inventory.devices
        if one.uuid in speeds
    ]
    devices = tuple(one._replace(speed=speeds.get(one.uuid, one.speed)) for one in inventory.devices)
    return inventory._replace(devices=devices), notes


def _kept_off(demand: Demand, ran_out: Mapping[str, int], inventory: Inventory) -> tuple[Demand | None, str]:
    """The demand without the types on which memory ran out, and these; no demand: nothing else fits."""
    there = sorted({device.type for device in inventory.devices if device.type})
    may = [type_ for type_ in there if not demand.gpu_types or type_ in demand.gpu_types]
    off = [type_ for type_ in may if ran_out.get(type_)]
    if not off:
        return None, ""
    rest = demand._replace(gpu_types=tuple(type_ for type_ in may if type_ not in off))
    if not rest.gpu_types or feasible(rest, inventory) is not None:
        return None, ", ".join(off)
    return rest, f"not {', '.join(off)}, where it ran out of memory"


def _unjoined(wrong: Unjoined, inventory: Inventory) -> Finding:
    return Finding(
        code="DS509",
        severity=Severity.ERROR,
        where=wrong.where,
        message=say("Steps {steps} must share {why}", "no-group", steps=wrong.steps, why=wrong.text),
        reason=say("the inventory ({origin}) joins its GPUs otherwise", origin=inventory.origin),
        help=say("leave the protocol or the label out, or plan for another machine with --inventory FILE"),
    )


def refused(steps: Sequence[Step], demands: Sequence[Demand], inventory: Inventory) -> list[Finding]:
    """DS210, one per Step that fits not even the empty inventory; equal demands are asked once."""
    answers: dict[Demand, Refusal | None] = {}
    known: dict[int, Refusal | None] = {}  # by the demand's `id`: to look a demand up is to read all of it
    findings: list[Finding] = []
    for step, demand in zip(steps, demands, strict=True):
        gpu = step.demand.gpu
        if gpu is not None and gpu.share == "fraction" and gpu.memory is None and demand.gpu_count:
            findings.append(_shares_nothing(step, gpu))
        if id(demand) not in known:
            if demand not in answers:
                answers[demand] = feasible(demand, inventory)
            known[id(demand)] = answers[demand]
        refusal = known[id(demand)]
        if refusal is not None:
            findings.append(_refusal_finding(step, demand, refusal, inventory))
    return findings


def _shares_nothing(step: Step, gpu: Gpu) -> Finding:
    return Finding(
        code="DS109",
        severity=Severity.ERROR,
        where=gpu.path,
        message=say("Step {step} shares its GPUs by memory, and states none", "no-share", step=step.id),
        reason=say("how many Steps fit on a GPU follows from what each of them takes"),
        help=say("state the memory that it takes of each GPU, for example memory: 12Gi"),
        part="entry",
    )


def _refused(step: Step, refusal: Refusal) -> Said:
    if not refusal.cause:
        return say("Step {step} {refusal}", "no-place", step=step.id, refusal=refusal.text)
    text = refusal.text.removesuffix(f": {refusal.cause}")
    return say("{cause}; Step {step} {refusal}", "no-place", cause=refusal.cause, step=step.id, refusal=text)


def _place(step: Step, inventory: Inventory) -> Path:
    """The value that asks for too much; where it cannot be told, the demand as a whole."""
    own, gpu = step.demand, step.demand.gpu
    if own.memory is not None and inventory.memory_bytes is not None and own.memory > inventory.memory_bytes:
        return (*own.path, "memory")
    if own.cpu_m is not None and own.cpu_m > inventory.cpu_m:
        return (*own.path, "cpu")
    if gpu is None or step.kind == "task":
        return gpu.path if gpu is not None else own.path
    most = max((device.memory_bytes or 0 for device in inventory.devices), default=0)
    if gpu.count is not None and gpu.count > len(inventory.devices):
        return (*gpu.path, "count")
    if gpu.memory is not None and not gpu.memory.nominal and 0 < most < gpu.memory.bytes:
        return (*gpu.path, "memory")
    return (*gpu.path, "type") if gpu.type is not None else gpu.path


def _refusal_finding(step: Step, demand: Demand, refusal: Refusal, inventory: Inventory) -> Finding:
    return Finding(
        code="DS210",
        severity=Severity.ERROR,
        where=_place(step, inventory) or step.path,
        message=_refused(step, refusal),
        reason=say(
            "the inventory ({origin}) cannot meet this demand, even with nothing else running",
            origin=inventory.origin,
        ),
        help=_way_out(demand, inventory, refusal.cause),
    )


_MASK = "CUDA_VISIBLE_DEVICES="


def _way_out(demand: Demand, inventory: Inventory, cause: str) -> str:
    if cause.startswith(_MASK):
        return say("change or unset CUDA_VISIBLE_DEVICES; dsec inventory lists the GPUs that it shows")
    sick = [device.health != "ok" for device in inventory.devices]
    if cause or (sick and all(sick)):
        return say("dsec doctor says more; or plan for another machine with --inventory FILE")
    if demand.gpu_types and any(not device.type for device in inventory.devices):
        return say(
            "where the inventory was pasted: add what nvidia-smi -q or -L printed, which has the types"
        )
    return say("lower the demand, or plan for another machine with --inventory FILE")
