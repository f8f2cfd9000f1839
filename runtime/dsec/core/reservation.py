"""The promise to a Step that does not fit: what starts behind it does not delay it.

The same rule as the one that `machine` plans by. Ends are expected ones, so this is as good as the
estimates are; an attempt that runs longer than expected is taken to end now, and then nothing that
the Step needs is given to another.
"""

from __future__ import annotations

from dsec.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Protocol

    from dsec.core.leases import Lease
    from dsec.plan import Demand

    class Room(Protocol):
        """What grants leases: the ledger of one machine, or of several."""

        @property
        def returned(self) -> int:
            """Leases given back so far."""

        def grant(
            self, demand: Demand, preferred: tuple[str, ...] = (), *, quick: bool = False
        ) -> Lease | None:
            """Hold what is asked for, on the preferred devices when they are free; None: not now."""

        def shared(self, lease: Lease) -> int:
            """How many of its devices others use, too."""

        def foreign(self, lease: Lease) -> int:
            """GiB of its devices that processes outside DSec hold."""

        def release(self, lease: Lease) -> None:
            """Take a lease back."""

        def park(self, lease: Lease, *, devices: bool = False) -> None:
            """Take back its processors alone."""

        def shrink(self, lease: Lease, less: Lease) -> None:
            """Take back those devices that `less` has no more."""

        def grow(self, less: Lease, lease: Lease) -> bool:
            """Undo that; False: they are not free any more."""

        def unpark(self, lease: Lease) -> bool:
            """Give a parked lease its processors again; False: they are not free."""

        def copy(self) -> Room:
            """Another one that holds the same."""

        def hold(self, lease: Lease) -> bool:
            """Hold what the original granted; False: it is not free here."""


class Held(Record):
    """A running attempt's lease, and when it is expected back."""

    end: int
    lease: Lease


class Reservation:
    """When a Step that does not fit will, and what there is beside it then."""

    __slots__ = ("devices", "later", "time")

    def __init__(self, time: int, later: Room, devices: tuple[str, ...]) -> None:
        self.time = time
        self.later = later
        """The room at that time, the Step's own lease held."""
        self.devices = devices
        """What the Step is to get."""


def reserve(
    room: Room,
    waiting: Demand,
    running: Iterable[Held],
    *,
    preferred: tuple[str, ...] = (),
    quick: bool = False,
) -> Reservation | None:
    """As far as what runs now decides it; None: it waits for something that no attempt gives back."""
    later = room.copy()
    expected = sorted(running, key=lambda one: one.end)
    for at, held in enumerate(expected):
        later.release(held.lease)
        if at + 1 < len(expected) and expected[at + 1].end == held.end:
            continue
        lease = later.grant(waiting, preferred, quick=quick)
        if lease is not None:
            return Reservation(held.end, later, lease.devices)
    return None


def beside(room: Room, demand: Demand, reservation: Reservation, *, quick: bool = False) -> Lease | None:
    """A lease on what is free now and not needed by the reservation, held in both; None: there is none.

    It shares no more devices than it would without the reservation: what is kept free for another is no
    reason to put two on one device.
    """
    lease = room.grant(demand, quick=quick)
    if lease is None or reservation.later.hold(lease):
        return lease
    least = room.shared(lease)
    room.release(lease)
    then = reservation.later.grant(demand, quick=quick)
    if then is None:
        return None
    lease = room.grant(demand, then.devices)
    if lease is not None and lease.devices == then.devices and room.shared(lease) <= least:
        return lease
    if lease is not None:
        room.release(lease)
    reservation.later.release(then)
    return None
