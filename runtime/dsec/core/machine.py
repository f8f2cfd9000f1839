"""The list schedule on a machine with processors, memory, devices and resident workers.

Whatever fits is started, the first of the order first. Once a Step does not fit, it has a
reservation: the first time at which what runs now will have left it enough. A Step behind it starts
only when it ends before that time, or holds nothing that is then needed. So small Steps fill gaps
and cannot starve a large one.

Ready Steps are kept in buckets of equal demand, so a decision costs the number of different demands,
not the number of Steps.
"""

from __future__ import annotations

from math import gcd

from dsec.core.course import course
from dsec.core.grants import Grants
from dsec.core.lean import lean_run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dsec.core.schedule import Work
    from dsec.core.trial import Graph, Manner, Run
    from dsec.inventory import Inventory
    from dsec.plan import Demand

_AMPLE = 2**63


class Machine:
    """What works take and what there is, granted as the runtime's ledger grants it."""

    def __init__(self, works: Sequence[Work], inventory: Inventory) -> None:
        self.bucket_of, numbers = _buckets(works)
        firsts = dict(zip(reversed(self.bucket_of), reversed(works), strict=True))
        kinds = [firsts[number] for number in range(numbers)]
        self.workers = [work.worker for work in kinds]
        self.durations = [work.duration for work in works]
        self.cpu, self.cpus = _whole(
            inventory.cpu_m, [min(one.demand.cpu_m, inventory.cpu_m) for one in kinds]
        )
        self.least = min(self.cpus, default=0)
        """With less than this free nothing starts."""
        memory = _AMPLE if inventory.memory_bytes is None else inventory.memory_bytes
        self.memory, self.memories = _whole(memory, [one.demand.memory_bytes for one in kinds])
        self.grants = Grants(inventory, [work.demand for work in kinds], steps=len(works))
        self.devices = self.grants.kinds
        """Per bucket, what it asks of devices and tokens; -1: nothing."""
        some = max(self.devices, default=-1) >= 0
        self.mixed = self.grants.mixed and some
        self.lean = not some and not any(self.workers)
        """Whether Steps take processors and memory alone."""

    def run(self, graph: Graph, order: Sequence[int], manner: Manner) -> Run | None:
        """The schedule that `order` leads to; None as soon as it must end after the limit."""
        return (lean_run if self.lean else course)(self, graph, order, manner)


def _whole(there: int, taken: list[int]) -> tuple[int, list[int]]:
    """What there is and what is taken of it, in the largest unit of which all takes are multiples.

    Small numbers are reckoned with in half the time, and what is less than the unit nobody can take.
    """
    unit = gcd(*taken) or 1
    return there // unit, [one // unit for one in taken]


def _buckets(works: Sequence[Work]) -> tuple[list[int], int]:
    """Per work the number of those with the same demand and worker, and how many numbers there are."""
    numbers: dict[tuple[Demand, str], int] = {}
    known: dict[tuple[int, str], int] = {}  # by the `id` of the demand, as looking it up reads all of it
    found: list[int] = []
    for demand, _, _, worker in works:
        number = known.get((id(demand), worker))
        if number is None:
            number = known[id(demand), worker] = numbers.setdefault((demand, worker), len(numbers))
        found.append(number)
    return found, len(numbers)
