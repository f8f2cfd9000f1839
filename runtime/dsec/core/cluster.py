"""The ledgers of several machines as one: a lease lies within one of them.

Not one pool: a Step's devices, processors and memory are those of one machine.
"""

from __future__ import annotations

from dsec.core.leases import Ledger

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dsec.core.leases import Lease
    from dsec.inventory import Inventory
    from dsec.plan import Demand

_MACHINE = 2**48
"""Serials of a machine's leases begin at its number times this."""


class Cluster:
    """Grants and takes back leases on several inventories, whose devices have different UUIDs."""

    def __init__(self, inventories: Sequence[Inventory]) -> None:
        self._ledgers = [Ledger(one, serial=at * _MACHINE) for at, one in enumerate(inventories)]
        self._idle = [len(one.devices) for one in inventories]
        self._home = {device.uuid: at for at, one in enumerate(inventories) for device in one.devices}
        self._holders = dict.fromkeys(self._home, 0)
        self._closed: frozenset[int] = frozenset()
        self.returned = 0
        """Leases given back so far."""

    def grant(self, demand: Demand, preferred: tuple[str, ...] = (), *, quick: bool = False) -> Lease | None:
        """Hold what `demand` asks for; machines with fewer idle devices first, so that some stay whole.

        The machine where the fewest devices are shared goes before them all.
        """
        machines = self._sequence(demand, preferred)
        limits: Sequence[int | None] = range(demand.gpu_count + 1) if len(machines) > 1 else (None,)
        for limit in limits:
            for at in machines:
                if limit is not None and self._idle[at] + limit < demand.gpu_count:
                    continue
                lease = self._ledgers[at].grant(demand, preferred, quick=quick, most_shared=limit)
                if lease is not None:
                    self._count(at, lease, 1)
                    return lease
        return None

    def _sequence(self, demand: Demand, preferred: tuple[str, ...]) -> list[int]:
        if len(self._ledgers) == 1:
            return [] if 0 in self._closed else [0]
        machines = [at for at in range(len(self._ledgers)) if at not in self._closed]
        if demand.gpu_count:
            machines.sort(key=self._idle.__getitem__)
        else:
            machines.sort(key=lambda at: -self._ledgers[at].cpu_free_m)
        home = self._home.get(preferred[0]) if preferred else None
        if home is not None and home in machines:
            machines.remove(home)
            machines.insert(0, home)
        return machines

    def shared(self, lease: Lease) -> int:
        """How many of its devices others use, too."""
        return self._ledgers[self.machine(lease)].shared(lease)

    def foreign(self, lease: Lease) -> int:
        """GiB of its devices that processes outside DSec hold."""
        return self._ledgers[self.machine(lease)].foreign(lease)

    def _count(self, at: int, lease: Lease, change: int) -> None:
        for uuid in lease.devices:
            before = self._holders[uuid]
            self._holders[uuid] = before + change
            self._idle[at] += (before + change == 0) - (before == 0)

    def release(self, lease: Lease) -> None:
        """Take back what the lease holds."""
        at = self.machine(lease)
        self._ledgers[at].release(lease)
        self.returned += 1
        self._count(at, lease, -1)

    def park(self, lease: Lease, *, devices: bool = False) -> None:
        """Take back the processors of what stands still."""
        self._ledgers[self.machine(lease)].park(lease, devices=devices)
        self.returned += 1

    def shrink(self, lease: Lease, less: Lease) -> None:
        """Take back those devices that `less` has no more."""
        self._ledgers[self.machine(lease)].shrink(lease, less)
        self.returned += 1

    def grow(self, less: Lease, lease: Lease) -> bool:
        """Undo that; False: they are not free any more."""
        return self._ledgers[self.machine(lease)].grow(less, lease)

    def unpark(self, lease: Lease) -> bool:
        """Give a parked lease its processors again; False: they are not free."""
        return self._ledgers[self.machine(lease)].unpark(lease)

    def machine(self, lease: Lease) -> int:
        """The number of the machine that the lease is on."""
        return lease.serial // _MACHINE

    def copy(self) -> Cluster:
        """Another one that holds the same leases; granting there changes nothing here."""
        other = Cluster.__new__(Cluster)
        other._ledgers = [ledger.copy() for ledger in self._ledgers]
        other._idle, other._home, other._holders = list(self._idle), self._home, dict(self._holders)
        other._closed, other.returned = self._closed, self.returned
        return other

    def hold(self, lease: Lease) -> bool:
        """Hold what the original granted; False: it is not free here."""
        at = self.machine(lease)
        held = at not in self._closed and self._ledgers[at].hold(lease)
        if held:
            self._count(at, lease, 1)
        return held

    def lose(self, uuid: str) -> None:
        """Never grant this device again; leases on it are still given back as usual."""
        self._ledgers[self._home[uuid]].lose(uuid)

    def find(self, uuid: str) -> None:
        """Grant a device again that was lost."""
        self._ledgers[self._home[uuid]].find(uuid)

    def close(self, at: int) -> None:
        """Grant nothing on this machine any more."""
        self._closed |= {at}

    def open(self, at: int) -> None:
        """Grant on this machine again."""
        self._closed -= {at}

    @property
    def held(self) -> tuple[Lease, ...]:
        """Leases not given back yet, machine by machine."""
        return tuple(lease for ledger in self._ledgers for lease in ledger.held)
