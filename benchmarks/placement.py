"""How often devices of one Step are joined, and what waits, against taking the first that are free.

`python benchmarks/placement.py`: on built-in machines, Steps of 1, 2 and 4 GPUs come and go (numbers are
drawn by a generator of its own, so they are the same everywhere). The machine is kept about full: a Step
that does not fit waits, first come, first served. Counted are the grants of several GPUs and how many of
them cross what they need not have crossed: a NUMA node, a PCIe switch or NVLink pair of enough devices.
No time is measured.
"""

from __future__ import annotations

from collections import deque

from dsec.core.groups import NUMA, NVLINK, SWITCH
from dsec.core.placement import Slot, choose, slots
from dsec.core.search import Draw
from dsec.devices.profiles import profile
from dsec.plan import Demand

MACHINES = ("8xl40s", "4xa100-pcie-80gb", "8xa100-sxm-80gb", "8xl4")
SIZES = (1, 1, 1, 2, 2, 4)
EVENTS = 20_000


def first_fit(demand: Demand, table: list[Slot]) -> tuple[Slot, ...] | None:
    """The first free devices, whatever joins them."""
    free = [slot for slot in table if slot.free_for(demand)]
    return tuple(free[: demand.gpu_count]) if len(free) >= demand.gpu_count else None


def crosses(chosen: tuple[Slot, ...], table: list[Slot]) -> bool:
    """Whether the devices are of two groups, of a level that has groups large enough for them."""
    for level in (NVLINK, SWITCH, NUMA):
        groups = [slot.islands[level] for slot in table]
        enough = any(groups.count(group) >= len(chosen) for group in groups)
        if enough and len({slot.islands[level] for slot in chosen}) > 1:
            return True
    return False


def played(machine: str, how: str) -> tuple[int, int]:
    """Grants of several devices, and how many of them cross."""
    table, draw = slots(profile(f"builtin:{machine}")), Draw([len(machine)])
    held: list[tuple[Demand, tuple[Slot, ...]]] = []
    queue: deque[Demand] = deque()
    several = crossing = 0
    for _ in range(EVENTS):
        while len(queue) < 2:
            count = min(SIZES[draw.below(len(SIZES))], len(table))
            queue.append(Demand(0, 0, count, 0, (), 0, 0))
        chosen = choose(queue[0], table) if how == "groups" else first_fit(queue[0], table)
        if chosen is None:
            demand, gone = held.pop(draw.below(len(held)))
            for slot in gone:
                slot.give_back(demand.gpu_memory_bytes)
            continue
        demand = queue.popleft()
        for slot in chosen:
            slot.take(demand)
        held.append((demand, chosen))
        if len(chosen) > 1:
            several += 1
            crossing += crosses(chosen, table)
    return several, crossing


def main() -> None:
    """Print one line for each machine."""
    print(f"{'machine':<18} {'grants':>7} {'first fit crosses':>18} {'groups cross':>13}")
    for machine in MACHINES:
        (several, first), (_, grouped) = played(machine, "first"), played(machine, "groups")
        print(f"{machine:<18} {several:>7} {first / several:>18.1%} {grouped / several:>13.1%}")


if __name__ == "__main__":
    main()
