"""The list schedule on a machine with processors, memory, devices and resident workers.

Whatever fits is started, the first of the order first. Once a Step does not fit, it has a
reservation: the first time at which what runs now will have left it enough. A Step behind it starts
only when it ends before that time, or holds nothing that is then needed. So small Steps fill gaps
and cannot starve a large one.

Ready Steps are kept in buckets of equal demand, so a decision costs the number of different demands,
not the number of Steps.
"""

from __future__ import annotations

from dsec.core.course import course
from dsec.core.grants import Grants
from dsec.core.lean import lean_run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dsec.core.schedule import Work
    from dsec.core.trial import Graph, Manner, Run
    from dsec.inventory import Inventory

_AMPLE = 2**63


class Machine:
    """What works take and what there is, granted as the runtime's ledger grants it."""

    def __init__(self, works: Sequence[Work], inventory: Inventory) -> None:
        numbers: dict[object, int] = {}
        self.bucket_of = [numbers.setdefault((work.demand, work.worker), len(numbers)) for work in works]
        firsts = dict(zip(reversed(self.bucket_of), reversed(works), strict=True))
        kinds = [firsts[number] for number in range(len(numbers))]
        self.workers = [work.worker for work in kinds]
        self.durations = [work.duration for work in works]
        self.cpu = inventory.cpu_m
        self.memory = _AMPLE if inventory.memory_bytes is None else inventory.memory_bytes
        self.cpus = [min(work.demand.cpu_m, inventory.cpu_m) for work in kinds]
        self.least = min(self.cpus, default=0)
        """With less than this free nothing starts."""
        self.memories = [work.demand.memory_bytes for work in kinds]
        self.grants = Grants(inventory, [work.demand for work in kinds])
        self.devices = self.grants.kinds
        """Per bucket, what it asks of devices and tokens; -1: nothing."""
        some = max(self.devices, default=-1) >= 0
        self.mixed = self.grants.mixed and some
        self.lean = not some and not any(self.workers)
        """Whether Steps take processors and memory alone."""

    def run(self, graph: Graph, order: Sequence[int], manner: Manner) -> Run | None:
        """The schedule that `order` leads to; None as soon as it must end after the limit."""
        return (lean_run if self.lean else course)(self, graph, order, manner)
