"""What a run asks the broker for: from what waits in it, and what it could start if all devices were its own.

A request is for whole devices, though Steps of one run may share them: what packs onto a device that is
asked for already, or that the run has, is not asked for again.
"""

from __future__ import annotations

from dsec.core.brokerage import Request
from dsec.core.groups import LEVELS, NODE, NVLINK, TYPE, parts
from dsec.core.placement import slots
from dsec.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dsec.core.leases import Ledger
    from dsec.core.placement import Slot
    from dsec.inventory import Inventory
    from dsec.plan import Demand

MOST = 32
"""Requests of a run at a time."""
_MOST_SETS = 16


class Want(Record):
    """Ready instances of one Step."""

    at: int
    """The Step's number in the plan."""
    demand: Demand
    many: int
    """How many of them."""
    planned: tuple[str, ...]
    waited_us: int
    hunger: int
    urgent: bool


class Asking:
    """The questions of one run."""

    def __init__(self, inventory: Inventory) -> None:
        self._table = slots(inventory)

    def requests(self, wants: Sequence[Want], ledger: Ledger) -> list[Request]:
        """The most urgent first, as the wants are; `since_us` is how long each has waited."""
        later = ledger.copy()
        later.allow(later.usable())
        taken, usable = ledger.in_use(), set(ledger.usable())
        found: list[Request] = []
        for want in wants:
            for instance in range(min(want.many, MOST - len(found))):
                lease = later.grant(want.demand, want.planned)
                # Where it waits for processors, memory or tokens GPUs would idle meanwhile.
                if lease is None and (instance or not later.has_beside(want.demand)):
                    break
                best = () if lease is None else lease.devices
                if best and taken.issuperset(best):
                    continue
                taken.update(best)
                sets = tuple(self._sets(want.demand, usable, best))
                if sets:
                    found.append(
                        Request(want.demand.gpu_count, sets, want.waited_us, want.hunger, want.urgent)
                    )
                if lease is None:
                    break
        return found

    def _sets(self, demand: Demand, usable: set[str], best: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
        """Groups of devices of which any so many would do, the better joined first."""
        free = [slot for slot in self._table if slot.device.uuid in usable and slot.free_for(demand)]
        terms, count = demand.terms, demand.gpu_count
        if terms is not None and terms.strict and terms.within:
            levels = [LEVELS.index(terms.within)]
        else:
            levels = [NVLINK, TYPE, NODE] if count > 1 else [NODE]
        known: list[tuple[str, ...]] = []
        for level in levels:
            groups = [part for pool in parts(free, NODE, count) for part in parts(pool, level, count)]
            for group in sorted((_ordered(group, best) for group in groups), key=lambda one: one[0]):
                if group[1] not in known and len(known) < _MOST_SETS:
                    known.append(group[1])
                    yield group[1]


def _ordered(group: Sequence[Slot], best: tuple[str, ...]) -> tuple[bool, tuple[str, ...]]:
    """Whether it lacks some of the best, and its devices, those first."""
    devices = sorted((slot.device.uuid not in best, slot.device.index, slot.device.uuid) for slot in group)
    return not {*best} <= {uuid for _, _, uuid in devices}, tuple(uuid for _, _, uuid in devices)
