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
        later.release(one.lease)
        chosen.append(one)
        if _fits(later, wanted):
            return _needed(later, wanted, chosen)
    return []


def _needed(later: Room, wanted: Demand, chosen: list[Tenant]) -> list[Tenant]:
    """Those of the chosen without whom it would not fit, the last to be chosen looked at last."""
    for one in list(chosen[:-1]):
        if later.hold(one.lease):
            if _fits(later, wanted):
                chosen.remove(one)
            else:
                later.release(one.lease)
    return chosen


def _fits(room: Room, wanted: Demand) -> bool:
    lease = room.grant(wanted)
    if lease is None:
        return False
    room.release(lease)
    return True
