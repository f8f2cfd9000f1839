"""What the machines have: devices, processors and memory, measured or described.

A reading that could not be had is None, never 0.
"""

from __future__ import annotations

from dsec.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

FORMAT = "dsec.inventory/1"
"""Names the stored form: the fields of Inventory beside a `format`."""


AMPLE_CPU_M = 1_000_000_000
"""Thousandths of a processor where none are stated: processors then hold nothing up."""


class Device(Record):
    """One GPU (or one MIG instance, which is a device of its own)."""

    uuid: str
    index: int  # type: ignore[assignment] # a tuple's method of this name is never used here
    model: str
    """As the driver prints it: `NVIDIA A100-SXM4-80GB`."""
    type: str
    """Canonical type from the card table: `a100-sxm-80gb`; "" when unknown."""
    memory_bytes: int | None
    """Usable memory: total less what the driver reserves."""
    free_bytes: int | None
    """Free when read; None in a described inventory."""
    numa: int | None
    pci: str | None
    links: tuple[tuple[str, str], ...]
    """(other uuid, link class as `nvidia-smi topo -m` names it: NV4, PIX, PXB, PHB, NODE, SYS)."""
    speed: int
    """Relative speed in thousandths of the fastest listed type (1000)."""
    health: str
    """`ok`, `lost`, or a reason."""
    node: str | None = None
    """The machine that it is in, where the inventory has several."""


class Node(Record):
    """One machine of several."""

    name: str
    network_bps: int | None
    rdma: bool | None
    """Whether its network card does RDMA over Ethernet."""


_SIMULATED = "-0000-4000-8000-"
"""In the UUIDs that `dsec sim-gpu` gives; drawn ones have twelve random digits there."""


def is_simulated(devices: Iterable[Device]) -> bool:
    """Whether any of the devices is one of `dsec sim-gpu`."""
    return any(_SIMULATED in device.uuid for device in devices)


class Inventory(Record):
    """Devices, cores and memory that a plan may use."""

    origin: str
    """`nvml`, `os` (no GPU library), `described:<file>`."""
    cpu_m: int
    """Usable processors, in thousandths."""
    memory_bytes: int | None
    disk_bytes: int | None
    numa_nodes: int | None
    devices: tuple[Device, ...]
    notes: tuple[str, ...]
    """What was not available, and why."""
    nodes: tuple[Node, ...] | None = None
    """The machines, where there are several; processors and memory are those of all of them."""
    tokens: tuple[tuple[str, int], ...] | None = None
    """What else is taken and given back, in whole numbers: licences, seats, calls at a time."""


def unnamed(inventory: Inventory) -> Inventory:
    """The inventory without the name of the file that describes it."""
    kind, named, _ = inventory.origin.partition(":")
    return inventory._replace(origin=kind) if named else inventory


def steady(inventory: Inventory) -> Inventory:
    """The inventory without readings that change from minute to minute, so that equal machines are equal."""
    devices = tuple(device._replace(free_bytes=None) for device in inventory.devices)
    return inventory._replace(disk_bytes=None, devices=devices)


def within(here: Inventory, described: Inventory) -> Inventory:
    """This machine as far as a description of it goes: the GPUs named there, and no more of the rest.

    Where a description only says of what kind GPUs are, all that are here count. One with UUIDs as drivers
    give them means these GPUs: others are not taken for them.
    """
    named = {device.uuid for device in described.devices}
    kinds_alone = bool(named) and not any(map(_is_drivers, named))
    devices = tuple(device for device in here.devices if device.uuid in named)
    known = [size for size in (here.memory_bytes, described.memory_bytes) if size is not None]
    return here._replace(
        cpu_m=min(here.cpu_m, described.cpu_m),
        memory_bytes=min(known, default=None),
        devices=here.devices if kinds_alone and not devices else devices,
    )


_LENGTHS = (8, 4, 4, 4, 12)


def _is_drivers(uuid: str) -> bool:
    """Whether a driver gave the UUID: those of described GPUs are made of their type."""
    digits = uuid.removeprefix("MIG-").removeprefix("GPU-").partition("/")[0].split("-")
    return tuple(map(len, digits)) == _LENGTHS
