"""Which devices a demand gets: hard type match, packed memory, linked groups, least fragmentation.

Pure and deterministic: the same inventory and the same leases give the same devices, ties go to
the lower index. Planner, simulator and runtime all choose through `choose`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from dsec.cards import GIB
from dsec.core.groups import NVLINK, islands_of, link_groups, peers_of, sizes, together
from dsec.core.reasons import absence, all_held, over, reason, too_few
from dsec.inventory import Device, Inventory
from dsec.plan import Demand, Placement
from dsec.record import Record

EXCLUSIVE, FRACTION, MIG = SHARES = ("exclusive", "fraction", "mig")
"""How a device may be had: alone; with others, as far as its memory goes; as an instance, alone."""


_CROWDED = 8
"""A device counts as used by processes outside DSec when they hold more than this part of its memory."""


class Refusal(Record):
    """Why a demand cannot be placed, with the arithmetic."""

    text: str
    cause: str = ""
    """Why GPUs that the machine may have cannot be used: its driver, or a mask; "": that is not why."""


class Slot:
    """One device and what is held of it."""

    __slots__ = (
        "capacity",
        "crowded",
        "device",
        "foreign",
        "group",
        "healthy",
        "holders",
        "islands",
        "mig",
        "peers",
        "used",
        "whole",
        "worth",
    )

    def __init__(
        self, device: Device, *, islands: tuple[int, ...], group: int, peers: frozenset[str] | None
    ) -> None:
        self.device = device
        held = _foreign(device)
        self.capacity = None if device.memory_bytes is None else device.memory_bytes - held
        """Memory that may be packed: usable, less what others held when it was read; None: unknown."""
        self.foreign = 0
        """Whole GiB that processes outside DSec hold, as last measured."""
        self.crowded = False
        """Whether they hold so much that it is in use; a desktop or a driver's service does not count."""
        self.measure(held)
        self.worth = _worth(self.capacity, device.speed)
        """Of idle devices that will do, the one of the least is given away first."""
        self.islands = islands
        """One group number for each of `groups.LEVELS`; equal numbers are together."""
        self.group = group
        """Its NVLink group, counted from 1; 0: none."""
        self.peers = peers
        """Whom it has NVLinks to; None: to all of its group."""
        self.mig = device.uuid.startswith("MIG-")
        self.healthy = device.health == "ok"
        self.used = 0
        self.holders = 0
        self.whole = False
        """One holder has all of it: declared so, a MIG instance, or of unknown memory."""

    def measure(self, held: int) -> None:
        """Processes outside DSec hold so many bytes; what may be packed stays as it was planned with."""
        self.foreign = held // GIB
        self.crowded = held * _CROWDED > (self.device.memory_bytes or 0)

    def free_for(self, demand: Demand) -> bool:
        """Whether one attempt with `demand` could have this device now."""
        if not self.healthy or self.whole or (demand.gpu_types and self.device.type not in demand.gpu_types):
            return False
        terms, capacity, asked = demand.terms, self.capacity, demand.gpu_memory_bytes
        alone = self.mig or asked == 0 or capacity is None
        if self.mig and demand.gpu_count > 1:
            return False  # CUDA shows a process one MIG instance, never two
        if terms is not None:
            if (terms.group and terms.group != self.group) or (terms.share == MIG and not self.mig):
                return False
            if terms.numa is not None and terms.numa != self.device.numa:
                return False
            alone = alone or terms.share == EXCLUSIVE
        if alone and self.holders:
            return False
        return capacity is None or self.used + asked <= capacity

    @property
    def taken(self) -> bool:
        """Whether whoever gets the device now would share it."""
        return self.holders > 0 or self.crowded

    def take(self, demand: Demand) -> None:
        """Hold the device for one attempt."""
        self.holders += 1
        self.used += demand.gpu_memory_bytes
        terms = demand.terms
        self.whole = (
            demand.gpu_memory_bytes == 0
            or self.mig
            or self.capacity is None
            or (terms is not None and terms.share == EXCLUSIVE)
        )

    def give_back(self, memory_bytes: int) -> None:
        """Undo one `take` of that much memory."""
        self.holders -= 1
        self.used -= memory_bytes
        self.whole = False
        if self.holders < 0 or self.used < 0:
            raise AssertionError(f"{self.device.uuid} was given back more often than it was taken")

    def copy(self) -> Slot:
        """Another slot in the same state."""
        other = Slot(self.device, islands=self.islands, group=self.group, peers=self.peers)
        other.healthy, other.used, other.holders, other.whole = (
            self.healthy,
            self.used,
            self.holders,
            self.whole,
        )
        other.foreign, other.crowded = self.foreign, self.crowded
        return other


def slots(inventory: Inventory) -> list[Slot]:
    """The inventory's devices, by index, with nothing held."""
    devices = sorted(inventory.devices, key=lambda device: (device.index, device.uuid))
    islands = islands_of(devices)
    groups, peers = link_groups(islands), peers_of(devices, islands)
    return [
        Slot(device, islands=islands[at], group=groups[at], peers=peers[at])
        for at, device in enumerate(devices)
    ]


def _foreign(device: Device) -> int:
    if device.memory_bytes is None or device.free_bytes is None:
        return 0
    return max(0, device.memory_bytes - device.free_bytes)


def _worth(capacity: int | None, speed: int) -> tuple[int, int, int]:
    """The size, a slow device before a quick one of like size, the exact size.

    Sizes are alike that are equal once rounded up to three binary digits: what a driver keeps for itself
    does not make an A100 of 79.4 GiB more precious than an H100 of 79.0.
    """
    if capacity is None:
        return 2**63, speed, 0
    step = 1 << max(0, capacity.bit_length() - 3)
    return -(-capacity // step) * step, speed, capacity


def choose(demand: Demand, table: Iterable[Slot], *, quickest: bool = False) -> tuple[Slot, ...] | None:
    """The devices that `demand` gets now, by index; None when there are not enough.

    No more devices are shared than must be. Then best fit decides, unless `quickest` asks for the
    devices of the highest speed first.
    """
    count = demand.gpu_count
    if not count:
        return ()
    free: list[Slot] | None = [slot for slot in table if slot.free_for(demand)]
    if not free or len(free) < count:
        return None
    if count > 1:
        taken = {slot for slot in free if slot.taken}
        free = together(free, count, demand.terms, quickest=quickest, taken=taken)
        if free is None:
            return None
    else:
        free = [slot for slot in free if not slot.taken] or free
        if quickest:
            best = max(slot.device.speed for slot in free)
            free = [slot for slot in free if slot.device.speed == best]
    if len(free) == count:
        return tuple(sorted(free, key=_index))
    if count == 1:
        return (_fittest(free),)
    crowd = sizes([slot for slot in free if not slot.holders])
    free.sort(key=lambda slot: (*_fit(slot), *_broken(slot, crowd)))
    return tuple(sorted(free[:count], key=_index))


def _index(slot: Slot) -> int:
    return slot.device.index


def _fittest(free: list[Slot]) -> Slot:
    """The first by fit, then by what it breaks; most often several fit alike, or one does."""
    fits = [_fit(slot) for slot in free]
    best = min(fits)
    alike = [slot for slot, fit in zip(free, fits, strict=True) if fit == best]
    if len(alike) == 1:
        return alike[0]
    crowd = sizes([slot for slot in free if not slot.holders])
    return min(alike, key=lambda slot: _broken(slot, crowd))


def _fit(slot: Slot) -> tuple[bool, int, bool, tuple[int, ...]]:
    """An idle device before a shared one, few neighbours; of idle ones the least worth, else the fullest.

    Two Steps share a device only when none is idle: memory that is left over costs nothing, a GPU
    that idles beside a shared one does.
    """
    if not slot.holders:
        return slot.crowded, slot.foreign, False, slot.worth
    left = 2**63 if slot.capacity is None else slot.capacity - slot.used
    return True, slot.foreign, True, (left,)


def foreign(chosen: Iterable[Slot]) -> int:
    """GiB of these devices that processes outside DSec held when they were read."""
    return sum(slot.foreign for slot in chosen)


def shared(chosen: Iterable[Slot]) -> int:
    """How many of these devices others use already."""
    return sum(slot.taken for slot in chosen)


def _broken(slot: Slot, crowd: Mapping[int, int]) -> tuple[int, ...]:
    """The smallest group first that it would break (NVLink, switch, NUMA node), then the lowest index."""
    nvlink, switch, numa = slot.islands[NVLINK:]
    return crowd.get(nvlink, 0), crowd.get(switch, 0), crowd.get(numa, 0), slot.device.index


def best_speed(demand: Demand, table: Iterable[Slot]) -> int:
    """The speed of the quickest devices that can meet the demand; 0: there are none."""
    chosen = choose(demand, table, quickest=True)
    return min((slot.device.speed for slot in chosen), default=0) if chosen else 0


def feasible(demand: Demand, inventory: Inventory) -> Refusal | None:
    """None when the demand fits the inventory with nothing else running, else why not.

    Processors are never refused: a Step that declares more than there are runs alone.
    """
    if inventory.memory_bytes is not None and demand.memory_bytes > inventory.memory_bytes:
        return Refusal(over("memory", demand.memory_bytes, inventory.memory_bytes))
    if inventory.disk_bytes is not None and demand.disk_bytes > inventory.disk_bytes:
        return Refusal(over("disk", demand.disk_bytes, inventory.disk_bytes))
    short = _short_of_tokens(demand, inventory)
    if short:
        return Refusal(short)
    table = slots(inventory)
    if choose(demand, table) is None:
        cause = absence(inventory)
        return Refusal(f"{too_few(demand, table)}: {cause}" if cause else too_few(demand, table), cause)
    return None


def _short_of_tokens(demand: Demand, inventory: Inventory) -> str:
    """The first token of which more is taken than there is; empty: there is none."""
    there = dict(inventory.tokens or ())
    for name, amount in demand.terms.tokens if demand.terms is not None else ():
        if amount > there.get(name, 0):
            return f"takes {amount} of {name}, of which there are {there.get(name, 0)}"
    return ""


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
        return Refusal(all_held(demand, table))
    return Placement(tuple(slot.device.uuid for slot in chosen), reason(chosen, demand))
