"""What a contract asks of GPUs, wherever it is stated, and which cards or devices can give it."""

from __future__ import annotations

from dsec import cards
from dsec.record import Record
from dsec.units import Bytes
from dsec_cli.contract.values import GpuMemory
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec.inventory import Device
    from dsec_cli.contract.values import Contract, ElasticGpu, Gpu, Step
    from dsec_cli.source.tree import Path


class Ask(Record):
    """A demand for GPUs, with the place of each of its parts."""

    who: str
    wanted: int | None
    """How many GPUs."""
    count_path: Path
    memory: GpuMemory | None
    memory_path: Path
    type: str | None
    """Stated here, or inherited from the baseline."""
    type_path: Path | None
    """Where the type is stated; None when it is inherited."""


def gpu_asks(contract: Contract) -> Iterator[Ask]:
    """The baseline's demand, elasticity's least, and that of each Step, in this order."""
    baseline = contract.baseline.gpu if contract.baseline is not None else None
    if baseline is not None:
        yield _own("baseline.gpu", baseline, None)
    elastic = contract.elasticity.gpu if contract.elasticity is not None else None
    if elastic is not None:
        yield _least(elastic, baseline)
    for step in contract.steps:
        if step.demand.gpu is not None:
            yield _of_step(step, step.demand.gpu, baseline)


def _own(who: str, gpu: Gpu, inherited: str | None) -> Ask:
    path = gpu.path
    type_path = (*path, "type") if gpu.type is not None else None
    return Ask(
        who, gpu.count, (*path, "count"), gpu.memory, (*path, "memory"), gpu.type or inherited, type_path
    )


def _least(elastic: ElasticGpu, baseline: Gpu | None) -> Ask:
    path = elastic.path
    inherited = baseline.type if baseline is not None else None
    return Ask(
        "elasticity.gpu",
        elastic.min_count,
        (*path, "min_count"),
        elastic.memory_min,
        (*path, "memory_min"),
        inherited,
        None,
    )


def _of_step(step: Step, gpu: Gpu, baseline: Gpu | None) -> Ask:
    if step.kind == "task":
        path = gpu.path
        type_path = (*path, "gpu_type") if gpu.type is not None else None
        return Ask(
            say("task {id}", id=step.id),
            gpu.count,
            path,
            gpu.memory,
            (*path, "min_memory"),
            gpu.type,
            type_path,
        )
    own = _own(say("Step {id}", id=step.id), gpu, baseline.type if baseline is not None else None)
    return _of_largest_layer(step, own) if step.layers else own


def _of_largest_layer(step: Step, ask: Ask) -> Ask:
    """What a device must hold of a Step that can be split: its largest layer, and what comes besides."""
    from dsec_cli.dag.splittable import beside_layers  # few contracts state layers

    least = Bytes(max(layer.memory for layer in step.layers) + beside_layers(step))
    return ask._replace(
        who=say("the largest layer of Step {id}", id=step.id),
        memory=GpuMemory(least, nominal=False, text=str(least)),
        memory_path=(*step.path, "layers"),
    )


class Types:
    """The card table's answers, each asked for once: a contract names few types in many places."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[str, ...]] = {}

    def resolve(self, text: str) -> tuple[str, ...]:
        """Canonical types that satisfy `text`."""
        found = self._known.get(text)
        if found is None:
            found = self._known[text] = cards.resolve(text)
        return found


def fits_type(wanted: str | None, device: Device, types: Types) -> bool:
    """Whether a device is of the wanted type; a type that the card table lacks must match by name."""
    if wanted is None:
        return True
    known = types.resolve(wanted)
    if known:
        return device.type in known
    return cards.spelt(wanted) in (device.type, cards.spelt(device.model))


def fits_memory(memory: GpuMemory | None, device: Device) -> bool:
    """Whether a device has the memory; one whose size could not be read is given the benefit."""
    if memory is None or device.memory_bytes is None:
        return True
    if not memory.nominal:
        return device.memory_bytes >= memory.bytes
    card = cards.card(device.type)
    if card is not None:
        return cards.satisfies(memory.bytes, card, nominal=True)
    return device.memory_bytes >= cards.class_bytes(memory.bytes)
