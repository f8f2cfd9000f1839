"""Which devices a demand gets: hard type match, packed memory, linked groups, least fragmentation.

Pure and deterministic: the same inventory and the same leases give the same devices, ties go to
the lower index. Planner, simulator and runtime all choose through `choose`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from dsec.cards import GIB, memory_text
from dsec.inventory import Device, Inventory
from dsec.plan import Demand, Placement
from dsec.record import Record

LEVELS = ("type", "nvlink", "switch", "numa")
"""How a group of devices is narrowed: one type first, then NVLink, one PCIe switch, one NUMA node."""


class Refusal(Record):
    """Why a demand cannot be placed, with the arithmetic."""

    text: str


class Slot:
    """One device and what is held of it."""

    __slots__ = ("capacity", "device", "foreign", "healthy", "holders", "islands", "mig", "used", "whole")

    def __init__(
        self, device: Device, *, capacity: int | None, foreign: int, islands: tuple[int, ...], mig: bool
    ) -> None:
        self.device = device
        self.capacity = capacity
        """Memory that may be packed: usable, less what others held when it was read; None: unknown."""
        self.foreign = foreign
        """Whole GiB that processes outside DSec held when the device was read."""
        self.islands = islands
        """One group number per level of LEVELS; equal numbers are together."""
        self.mig = mig
        self.healthy = device.health == "ok"
        self.used = 0
        self.holders = 0
        self.whole = False
        """One holder has all of it, declared or because its memory is unknown."""

    def free_for(self, demand: Demand) -> bool:
        """Whether one attempt with `demand` could have this device now."""
        if not self.healthy or self.whole or (demand.gpu_types and self.device.type not in demand.gpu_types):
            return False
        if self.mig and demand.gpu_count > 1:
            return False  # CUDA shows a process one MIG instance, never two
        if demand.gpu_memory_bytes == 0 or self.capacity is None:
            return self.holders == 0
        return self.used + demand.gpu_memory_bytes <= self.capacity

    def take(self, demand: Demand) -> None:
        """Hold the device for one attempt."""
        self.holders += 1
        self.used += demand.gpu_memory_bytes
        self.whole = demand.gpu_memory_bytes == 0 or self.capacity is None

    def give_back(self, memory_bytes: int) -> None:
        """Undo one `take` of that much memory."""
        self.holders -= 1
        self.used -= memory_bytes
        self.whole = False
        if self.holders < 0 or self.used < 0:
            raise AssertionError(f"{self.device.uuid} was given back more often than it was taken")


def slots(inventory: Inventory) -> list[Slot]:
    """The inventory's devices, by index, with nothing held."""
    devices = sorted(inventory.devices, key=lambda device: (device.index, device.uuid))
    islands = _islands(devices)
    return [
        Slot(
            device,
            capacity=_capacity(device),
            foreign=_foreign(device) // GIB,
            islands=islands[at],
            mig=device.uuid.startswith("MIG-"),
        )
        for at, device in enumerate(devices)
    ]


def _foreign(device: Device) -> int:
    if device.memory_bytes is None or device.free_bytes is None:
        return 0
    return max(0, device.memory_bytes - device.free_bytes)


def _capacity(device: Device) -> int | None:
    if device.memory_bytes is None:
        return None
    return device.memory_bytes - _foreign(device)


def _islands(devices: Sequence[Device]) -> list[tuple[int, ...]]:
    types: dict[str, int] = {}
    by_type = [types.setdefault(device.type, at) for at, device in enumerate(devices)]
    nodes: dict[int, int] = {}
    by_numa = [
        at if device.numa is None else nodes.setdefault(device.numa, at) for at, device in enumerate(devices)
    ]
    by_nvlink = _components(devices, is_nvlink)
    by_switch = _components(devices, lambda link: link in ("PIX", "PXB"))
    return list(zip(by_type, by_nvlink, by_switch, by_numa, strict=True))


def is_nvlink(link: str) -> bool:
    """`NV4`, `NV12`: bonded NVLinks, as `nvidia-smi topo -m` names them."""
    return link.startswith("NV") and link[2:].isdecimal()


def _components(devices: Sequence[Device], joins: Callable[[str], bool]) -> list[int]:
    """Per device, the lowest position in its connected group."""
    at_uuid = {device.uuid: at for at, device in enumerate(devices)}
    group = list(range(len(devices)))

    def root(at: int) -> int:
        while group[at] != at:
            group[at] = group[group[at]]
            at = group[at]
        return at

    for at, device in enumerate(devices):
        for other, link in device.links:
            if joins(link) and other in at_uuid:
                low, high = sorted((root(at), root(at_uuid[other])))
                group[high] = low
    return [root(at) for at in range(len(devices))]


def choose(demand: Demand, table: Iterable[Slot], *, quickest: bool = False) -> tuple[Slot, ...] | None:
    """The devices that `demand` gets now, by index; None when there are not enough.

    Best fit decides, unless `quickest` asks for the devices of the highest speed first.
    """
    count = demand.gpu_count
    free = [slot for slot in table if slot.free_for(demand)]
    if len(free) < count:
        return None
    if quickest:
        pace = sorted((slot.device.speed for slot in free), reverse=True)[count - 1]
        free = [slot for slot in free if slot.device.speed >= pace]
    if count > 1:
        free = _narrowed(free, count)
    crowd = _sizes(free, LEVELS.index("nvlink"))
    free.sort(key=lambda slot: _fit(slot, crowd))
    return tuple(sorted(free[:count], key=lambda slot: slot.device.index))


def _fit(slot: Slot, crowd: Mapping[int, int]) -> tuple[int, int, int, int, int]:
    """No neighbours, an idle device before a shared one, then best fit.

    Two Steps share a device only when none is idle: memory that is left over costs nothing, a GPU
    that idles beside a shared one does. Best fit is the least memory left over, then the smallest
    NVLink group broken, then the lowest index.
    """
    left = 2**63 if slot.capacity is None else slot.capacity - slot.used
    return (slot.foreign, min(slot.holders, 1), left, crowd[slot.islands[1]], slot.device.index)


def _sizes(free: Sequence[Slot], level: int) -> dict[int, int]:
    sizes: dict[int, int] = {}
    for slot in free:
        sizes[slot.islands[level]] = sizes.get(slot.islands[level], 0) + 1
    return sizes


def _narrowed(free: list[Slot], count: int) -> list[Slot]:
    """The smallest group that still has `count` devices, level by level."""
    for level in range(len(LEVELS)):
        groups: dict[int, list[Slot]] = {}
        for slot in free:
            groups.setdefault(slot.islands[level], []).append(slot)
        enough = [group for group in groups.values() if len(group) >= count]
        if enough:
            free = min(enough, key=_group_fit)
    return free


def _group_fit(group: list[Slot]) -> tuple[int, int, int, int]:
    first = group[0]
    room = 2**63 if first.capacity is None else first.capacity
    return (sum(slot.foreign for slot in group), len(group), room, first.device.index)


def feasible(demand: Demand, inventory: Inventory) -> Refusal | None:
    """None when the demand fits the inventory with nothing else running, else why not.

    Processors are never refused: a Step that declares more than there are runs alone.
    """
    if inventory.memory_bytes is not None and demand.memory_bytes > inventory.memory_bytes:
        return Refusal(_over("memory", demand.memory_bytes, inventory.memory_bytes))
    if inventory.disk_bytes is not None and demand.disk_bytes > inventory.disk_bytes:
        return Refusal(_over("disk", demand.disk_bytes, inventory.disk_bytes))
    table = slots(inventory)
    if choose(demand, table) is None:
        return Refusal(_too_few(demand, table))
    return None


def place(demand: Demand, inventory: Inventory, taken: Iterable[tuple[str, int]]) -> Placement | Refusal:
    """Devices for `demand` beside `taken`: (uuid, memory held) pairs, 0 for a whole device."""
    refusal = feasible(demand, inventory)
    if refusal is not None:
        return refusal
    table = slots(inventory)
    by_uuid = {slot.device.uuid: slot for slot in table}
    for uuid, memory_bytes in taken:
        by_uuid[uuid].take(Demand(0, 0, 1, memory_bytes, (), 0, 0))
    chosen = choose(demand, table)
    if chosen is None:
        fit = sum(1 for slot in table if slot.free_for(demand))
        return Refusal(f"{_wanted(demand)}: {fit} of {len(table)} devices free, the others are held")
    return Placement(tuple(slot.device.uuid for slot in chosen), reason(chosen))


def reason(chosen: Sequence[Slot]) -> str:
    """Why these: `a100-sxm-80gb 0,1: NV12, NUMA 0`."""
    if not chosen:
        return "no GPU asked for"
    devices = [slot.device for slot in chosen]
    kinds = sorted({device.type or device.model or "GPU" for device in devices})
    where = ",".join(str(device.index) for device in devices)
    nodes = {device.numa for device in devices}
    facts = [_links(devices)] if len(devices) > 1 else []
    if len(nodes) == 1 and None not in nodes:
        facts.append(f"NUMA {devices[0].numa}")
    if any(slot.holders for slot in chosen):
        facts.append("shared, memory packed")
    return f"{' + '.join(kinds)} {where}" + (f": {', '.join(facts)}" if facts else "")


def _links(devices: Sequence[Device]) -> str:
    uuids = {device.uuid for device in devices}
    found = {link for device in devices for other, link in device.links if other in uuids}
    return "/".join(sorted(found)) if found else "link unknown"


def _over(what: str, need: int, have: int) -> str:
    return f"needs {memory_text(need)} of {what}, the inventory has {memory_text(have)}"


def _wanted(demand: Demand) -> str:
    kind = " or ".join(demand.gpu_types) or "any type"
    memory = f" with {memory_text(demand.gpu_memory_bytes)} each" if demand.gpu_memory_bytes else ""
    return f"needs {demand.gpu_count} GPU{'s' if demand.gpu_count > 1 else ''} ({kind}){memory}"


def _too_few(demand: Demand, table: Sequence[Slot]) -> str:
    """Each device's reason, equal ones counted together."""
    reasons: dict[str, int] = {}
    for slot in table:
        text = _unfit(slot, demand)
        if text:
            reasons[text] = reasons.get(text, 0) + 1
    fit = len(table) - sum(reasons.values())
    parts = [f"{count} x {text}" for text, count in reasons.items()]
    if not table:
        return f"{_wanted(demand)}; the inventory has no GPU"
    return f"{_wanted(demand)}; {fit} of {len(table)} fit" + (f": {'; '.join(parts)}" if parts else "")


def _unfit(slot: Slot, demand: Demand) -> str:
    device = slot.device
    kind = device.type or device.model or "GPU"
    if not slot.healthy:
        return f"{kind} is {device.health}"
    if demand.gpu_types and device.type not in demand.gpu_types:
        return f"{kind} is another type" if device.type else f"{kind} is of an unknown type"
    if slot.mig and demand.gpu_count > 1:
        return f"{kind} is a MIG instance, of which a process sees one"
    if slot.capacity is not None and demand.gpu_memory_bytes > slot.capacity:
        held = f", {slot.foreign} GiB of it held by other processes" if slot.foreign else ""
        return f"{kind} has {memory_text(device.memory_bytes or 0)} usable{held}"
    return ""
