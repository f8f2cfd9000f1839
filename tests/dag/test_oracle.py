"""The search against an exact solver on small graphs."""

import math

import pytest

from dsec.core.contest import Contest
from dsec.core.order import topological
from dsec.core.schedule import Work
from dsec.core.search import Draw, best_order
from dsec.inventory import Device, Inventory
from dsec.plan import Demand

cp_model = pytest.importorskip("ortools.sat.python.cp_model", reason="ortools is not installed")
GIB = 2**30
CPUS, GPUS = 4000, 2


def instance(seed):
    """Up to 14 Steps on four cores and two equal GPUs, of which a Step takes one or both as a whole."""
    draw = Draw([seed])
    n = 6 + draw.below(9)
    successors = [
        sorted({u + 1 + draw.below(6) for _ in range(draw.below(3))} & set(range(n))) for u in range(n)
    ]
    demands = [Demand(1000 * (1 + draw.below(3)), 0, (0, 1, 2)[draw.below(3)], 0, (), 0, 0) for _ in range(n)]
    works = [Work(demand, 1 + draw.below(30), 0) for demand in demands]
    return successors, works


def optimum(successors, works):
    """The shortest makespan there is, proved by CP-SAT."""
    model = cp_model.CpModel()
    horizon = sum(work.duration for work in works)
    starts = [model.new_int_var(0, horizon, "") for _ in works]
    spans = [
        model.new_fixed_size_interval_var(start, work.duration, "")
        for start, work in zip(starts, works, strict=True)
    ]
    model.add_cumulative(spans, [work.demand.cpu_m for work in works], CPUS)
    model.add_cumulative(spans, [work.demand.gpu_count for work in works], GPUS)
    end = model.new_int_var(0, horizon, "")
    for step, targets in enumerate(successors):
        model.add(end >= starts[step] + works[step].duration)
        for target in targets:
            model.add(starts[target] >= starts[step] + works[step].duration)
    model.minimize(end)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.max_deterministic_time = 20
    assert solver.solve(model) == cp_model.OPTIMAL
    return round(solver.objective_value)


@pytest.mark.battery
def test_the_search_is_within_a_hundredth_of_the_optimum():
    devices = tuple(
        Device(f"GPU-{at}", at, "", "a", 80 * GIB, None, None, None, (), 1000, "ok") for at in range(GPUS)
    )
    box = Inventory("described:test", CPUS, None, None, None, devices, ())
    ratios = []
    for seed in range(24):
        successors, works = instance(seed)
        found = best_order(Contest(successors, topological(successors), works, box))
        shortest = optimum(successors, works)
        assert max(bound for _, bound in found.bounds) <= shortest <= found.best.run.makespan
        ratios.append(found.best.run.makespan / shortest)
    assert math.exp(sum(map(math.log, ratios)) / len(ratios)) <= 1.01
