"""Whom to stop so that a Step that must not wait can start: by tolerance level, never a critical one.

Discardable Steps go first, then elastic ones, which go on with fewer devices, then pauseable ones.
Of one level the latest goes first, because it has done least.
"""

from __future__ import annotations

from dsec.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dsec.core.leases import Lease
    from dsec.core.reservation import Room
    from dsec.plan import Demand

ORDER = ("discardable", "elastic", "pauseable")
"""What is taken away first, second, third; `critical` is not in it."""


class Tenant(Record):
    """An attempt that runs."""

    at: int
    iteration: int
    level: str
    began: int
    lease: Lease
    more: tuple[Lease, ...] = ()
    """What it gives back besides: that of its worker."""
    stands_still: bool = False
    """It gives its processors alone: it is frozen, and what is in memory stays there."""
    less: Lease | None = None
    """What it has left when it gives some GPUs back, and goes on; None: it does not."""
    lends: bool = False
    """It stands still and its GPUs' memory is moved away meanwhile: it gives its GPUs, too."""


def must_not_wait(level: str, *, hungry: bool) -> bool:
    """Whether others make room for a Step; one that may be thrown away asks nobody to."""
    return level == "critical" or (hungry and level != "discardable")


def gives_way(level: str, to: str, *, earlier: bool) -> bool:
    """Whether a Step of `level` makes room for one of level `to`; `earlier`: it would go first.

    For a critical one all that goes after it does, but what is critical itself. One that is no more
    than hungry takes from those whose work is cheap to lose, or that go on with less.
    """
    if to == "critical":
        return level in ORDER and not earlier
    return level in ("discardable", "elastic")


def victims(room: Room, wanted: Demand, tenants: Sequence[Tenant], leaving: Sequence[Lease]) -> list[Tenant]:
    """The fewest of the least that must be stopped for `wanted` to fit; none: it fits, or never will.

    `leaving` are leases that come back anyway.
    """
    later = room.copy()
    for lease in leaving:
        later.release(lease)
    if _fits(later, wanted):
        return []
    willing = [one for one in tenants if one.level in ORDER]
    willing.sort(key=lambda one: (ORDER.index(one.level), -one.began, one.at, one.iteration))
    chosen: list[Tenant] = []
    for one in willing:
        _give(later, one)
        chosen.append(one)
        if _fits(later, wanted):
            return _needed(later, wanted, chosen)
    return []


def _needed(later: Room, wanted: Demand, chosen: list[Tenant]) -> list[Tenant]:
    """Those of the chosen without whom it would not fit, the last to be chosen looked at last."""
    for one in list(chosen[:-1]):
        if _keep(later, one):
            if _fits(later, wanted):
                chosen.remove(one)
            else:
                _give(later, one)
    return chosen


def _give(room: Room, one: Tenant) -> None:
    if one.less is not None:
        room.shrink(one.lease, one.less)
        return
    if one.stands_still:
        room.park(one.lease, devices=one.lends)
        return
    for lease in (one.lease, *one.more):
        room.release(lease)


def _keep(room: Room, one: Tenant) -> bool:
    """Undo that; False: what it held is not free any more."""
    if one.less is not None:
        return room.grow(one.less, one.lease)
    if one.stands_still:
        return room.unpark(one.lease)
    kept: list[Lease] = []
    for lease in (one.lease, *one.more):
        if not room.hold(lease):
            for other in kept:
                room.release(other)
            return False
        kept.append(lease)
    return True


def _fits(room: Room, wanted: Demand) -> bool:
    lease = room.grant(wanted)
    if lease is None:
        return False
    room.release(lease)
    return True
