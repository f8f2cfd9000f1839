"""The ledger of leases: which devices, processors and memory running attempts hold.

Not thread-safe: the executor has one thread. Every grant is paired with one release.
"""

from __future__ import annotations

from dsec.core.placement import Slot, best_speed, choose, foreign, shared, slots
from dsec.inventory import Inventory
from dsec.plan import Demand, Terms
from dsec.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_APART = 2**40


class Lease(Record):
    """What one attempt holds until it gives it back."""

    serial: int
    """Unique within the ledger."""
    devices: tuple[str, ...]
    """UUIDs, by index."""
    gpu_memory_bytes: int
    """Of each device; 0: the whole device."""
    cpu_m: int
    """At most the machine's: a larger demand runs alone."""
    memory_bytes: int
    terms: Terms | None = None
    """As it was asked for."""


class Ledger:
    """Grants and takes back leases on one inventory; never more than it has."""

    def __init__(self, inventory: Inventory, table: list[Slot] | None = None, *, serial: int = 0) -> None:
        """`table`: the inventory's devices where something is held of them; leases count from `serial`."""
        self.inventory = inventory
        self._slots = slots(inventory) if table is None else table
        self._by_uuid = {slot.device.uuid: slot for slot in self._slots}
        self._mixed = len({slot.device.speed for slot in self._slots}) > 1
        self._cpu_m = self.cpu_free_m = inventory.cpu_m
        self._memory_free = 2**63 if inventory.memory_bytes is None else inventory.memory_bytes
        self._tokens = dict(inventory.tokens or ())
        self._held: dict[int, Lease] = {}
        self._parked: frozenset[int] = frozenset()
        """Leases whose processors were given back before the rest."""
        self._lent: frozenset[int] = frozenset()
        """Those of them whose devices were given back, too."""
        self._lost = {slot.device.uuid for slot in self._slots if not slot.healthy}
        self._withheld: set[str] = set()
        """Devices that another run has, or may have."""
        self._serial = serial
        self.returned = 0
        """Leases given back so far: while this stays the same, what did not fit does not fit."""

    def grant(
        self,
        demand: Demand,
        preferred: tuple[str, ...] = (),
        *,
        quick: bool = False,
        most_shared: int | None = None,
    ) -> Lease | None:
        """Hold what `demand` asks for, on `preferred` devices when they are free; None: not now.

        They are not free where others use one of them and fewer devices need be shared.
        `quick`: else the quickest devices rather than those that fit best; also if the preferred are slower.
        `most_shared`: None, too, where more devices than that would be shared with others.
        """
        cpu_m = demand.cpu_m if demand.cpu_m < self._cpu_m else self._cpu_m
        if cpu_m > self.cpu_free_m or demand.memory_bytes > self._memory_free:
            return None
        if demand.terms is not None and not self._has_tokens(demand.terms):
            return None
        devices: tuple[str, ...] = ()
        if demand.gpu_count:
            chosen = self._preferred(demand, preferred, quick=quick)
            chosen = chosen or choose(demand, self._slots, quickest=quick)
            if chosen is None or (most_shared is not None and shared(chosen) > most_shared):
                return None
            for slot in chosen:
                slot.take(demand)
            devices = tuple(slot.device.uuid for slot in chosen)
        self.cpu_free_m -= cpu_m
        self._memory_free -= demand.memory_bytes
        if demand.terms is not None:
            self._take_tokens(demand.terms, 1)
        self._serial += 1
        lease = Lease._make(
            (self._serial, devices, demand.gpu_memory_bytes, cpu_m, demand.memory_bytes, demand.terms)
        )
        self._held[self._serial] = lease
        return lease

    def _preferred(
        self, demand: Demand, preferred: tuple[str, ...], *, quick: bool
    ) -> tuple[Slot, ...] | None:
        if len(set(preferred)) != demand.gpu_count:
            return None
        found = [self._by_uuid[uuid] for uuid in preferred if uuid in self._by_uuid]
        # Asked as any others are: what the plan found joined may not be so on the machine that it runs on.
        chosen = choose(demand, found) if len(found) == demand.gpu_count else None
        if chosen is not None and quick and self._mixed and _speed(chosen) < best_speed(demand, self._slots):
            return None  # quicker ones were held when it was planned, and are free now
        if chosen is not None and foreign(chosen):
            # What was measured when the run began decides before what was planned without it.
            other = choose(demand, self._slots, quickest=quick)
            if other is not None and foreign(other) < foreign(chosen) and shared(other) <= shared(chosen):
                return None
        if chosen is not None and shared(chosen):
            other = choose(demand, self._slots, quickest=quick)
            return None if other is not None and shared(other) < shared(chosen) else chosen
        return chosen

    def shared(self, lease: Lease) -> int:
        """How many of its devices others use, too."""
        slots_ = [self._by_uuid[uuid] for uuid in lease.devices]
        return sum(slot.holders > 1 or slot.crowded for slot in slots_)

    def foreign(self, lease: Lease) -> int:
        """GiB of its devices that processes outside DSec hold."""
        return foreign([self._by_uuid[uuid] for uuid in lease.devices]) if lease.devices else 0

    def release(self, lease: Lease) -> None:
        """Take back what `lease` holds; a lease is given back once."""
        if self._held.pop(lease.serial, None) is not lease:
            raise AssertionError(f"lease {lease.serial} is not held here")
        self.returned += 1
        lent, self._lent = lease.serial in self._lent, self._lent - {lease.serial}
        if lease.serial in self._parked:
            self._parked -= {lease.serial}
        else:
            self.cpu_free_m += lease.cpu_m
        self._memory_free += lease.memory_bytes
        if lease.terms is not None:
            self._take_tokens(lease.terms, -1)
        for uuid in lease.devices if not lent else ():
            self._by_uuid[uuid].give_back(lease.gpu_memory_bytes)

    def park(self, lease: Lease, *, devices: bool = False) -> None:
        """Take back the processors of what stands still, its `devices` too where it lends them."""
        if lease.serial in self._parked or self._held.get(lease.serial) is not lease:
            raise AssertionError(f"lease {lease.serial} has no processors to give back")
        self._parked |= {lease.serial}
        if devices:
            self._lent |= {lease.serial}
            for uuid in lease.devices:
                self._by_uuid[uuid].give_back(lease.gpu_memory_bytes)
        self.cpu_free_m += lease.cpu_m
        self.returned += 1

    def unpark(self, lease: Lease) -> bool:
        """Give a parked lease its processors again, and devices that it lent; False: they are not free."""
        if lease.serial not in self._parked:
            raise AssertionError(f"lease {lease.serial} has its processors")
        if lease.cpu_m > self.cpu_free_m or (lease.serial in self._lent and not self._take_again(lease)):
            return False
        self._parked -= {lease.serial}
        self.cpu_free_m -= lease.cpu_m
        return True

    def shrink(self, lease: Lease, less: Lease) -> None:
        """Take back those devices that `less`, else the same lease, has no more."""
        if self._held.get(lease.serial) is not lease or lease.serial in self._lent:
            raise AssertionError(f"lease {lease.serial} has no devices to give back")
        for uuid in set(lease.devices) - set(less.devices):
            self._by_uuid[uuid].give_back(lease.gpu_memory_bytes)
        self._held[lease.serial] = less
        self.returned += 1

    def grow(self, less: Lease, lease: Lease) -> bool:
        """Undo that; False: they are not free any more."""
        missing = [self._by_uuid[uuid] for uuid in lease.devices if uuid not in less.devices]
        demand = Demand(0, 0, len(missing), lease.gpu_memory_bytes, (), 0, 0, lease.terms)
        if not all(slot.free_for(demand) for slot in missing):
            return False
        for slot in missing:
            slot.take(demand)
        self._held[lease.serial] = lease
        return True

    def _take_again(self, lease: Lease) -> bool:
        """Hold the very devices that it lent."""
        demand = Demand(0, 0, len(lease.devices), lease.gpu_memory_bytes, (), 0, 0, lease.terms)
        slots_ = [self._by_uuid[uuid] for uuid in lease.devices]
        # It has never ended there, so it goes on there, too, where another run is to have them next.
        for slot in slots_:
            slot.healthy = slot.device.uuid not in self._lost
        free = all(slot.free_for(demand) for slot in slots_)
        for slot in slots_:
            slot.healthy = slot.device.uuid not in self._lost | self._withheld
        if not free:
            return False
        for slot in slots_:
            slot.take(demand)
        self._lent -= {lease.serial}
        return True

    def _has_tokens(self, terms: Terms) -> bool:
        return all(self._tokens.get(name, 0) >= amount for name, amount in terms.tokens)

    def _take_tokens(self, terms: Terms, times: int) -> None:
        for name, amount in terms.tokens:
            self._tokens[name] -= amount * times

    def copy(self) -> Ledger:
        """Another ledger that holds the same leases; granting there changes nothing here."""
        other = Ledger(self.inventory, [slot.copy() for slot in self._slots])
        other._tokens = dict(self._tokens)
        other.cpu_free_m, other._memory_free = self.cpu_free_m, self._memory_free
        # What either grants from now on must not be taken for a lease of the other.
        other._held, other._serial = dict(self._held), self._serial + _APART
        other._parked, other._lent = self._parked, self._lent
        other._lost, other._withheld = set(self._lost), set(self._withheld)
        return other

    def hold(self, lease: Lease) -> bool:
        """Hold what another ledger granted, on the very same devices; False: it is not free here."""
        size, terms = lease.gpu_memory_bytes, lease.terms
        demand = Demand(lease.cpu_m, lease.memory_bytes, len(lease.devices), size, (), 0, 0, terms)
        free = all(self._by_uuid[uuid].free_for(demand) for uuid in lease.devices)
        if not free or not self.has_beside(demand):
            return False
        for uuid in lease.devices:
            self._by_uuid[uuid].take(demand)
        if terms is not None:
            self._take_tokens(terms, 1)
        self.cpu_free_m -= lease.cpu_m
        self._memory_free -= lease.memory_bytes
        self._held[lease.serial] = lease
        return True

    def has_beside(self, demand: Demand) -> bool:
        """Whether processors, memory and tokens are free for `demand`, devices aside."""
        if demand.terms is not None and not self._has_tokens(demand.terms):
            return False
        return min(demand.cpu_m, self._cpu_m) <= self.cpu_free_m and demand.memory_bytes <= self._memory_free

    def lose(self, uuid: str) -> None:
        """Never grant this device again; leases on it are still given back as usual."""
        self._lost.add(uuid)
        self._by_uuid[uuid].healthy = False

    def find(self, uuid: str) -> None:
        """Grant a device again that was lost."""
        self._lost.discard(uuid)
        self._by_uuid[uuid].healthy = uuid not in self._withheld

    def measure(self, uuid: str, held: int) -> tuple[bool, bool]:
        """Processes outside DSec hold so many bytes of the device: whether that is news, and newly much."""
        slot = self._by_uuid[uuid]
        before, crowded = slot.foreign, slot.crowded
        slot.measure(held)
        news = slot.foreign != before
        return news, news and slot.crowded and not crowded and uuid not in self._withheld

    def withhold(self, uuids: Iterable[str]) -> None:
        """Grant these no more until they are allowed again: another run's turn has come."""
        for uuid in uuids:
            self._withheld.add(uuid)
            self._by_uuid[uuid].healthy = False

    def allow(self, uuids: Iterable[str]) -> None:
        """Grant these again, but those that are lost."""
        for uuid in uuids:
            self._withheld.discard(uuid)
            self._by_uuid[uuid].healthy = uuid not in self._lost

    def usable(self) -> list[str]:
        """Devices that are not lost, by index, whoever has them."""
        return [slot.device.uuid for slot in self._slots if slot.device.uuid not in self._lost]

    def in_use(self) -> set[str]:
        """Devices that leases hold, or lent for a while."""
        lent = {uuid for serial in self._lent for uuid in self._held[serial].devices}
        return lent | {slot.device.uuid for slot in self._slots if slot.holders}

    @property
    def held(self) -> tuple[Lease, ...]:
        """Leases not given back yet, oldest first."""
        return tuple(self._held.values())


def _speed(chosen: tuple[Slot, ...]) -> int:
    """Of the slowest of them."""
    return min(slot.device.speed for slot in chosen)
