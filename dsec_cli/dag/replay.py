"""A plan's Steps as the scheduler sees them: to try the plan out again, on its own inventory."""

from __future__ import annotations

from dsec.core.leases import Ledger
from dsec.core.overlap import Rounds, idle, overlap, thousandths
from dsec.core.schedule import Work, list_schedule, makespan
from dsec.record import Record
from dsec_cli.dag.pool import AMPLE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec.core.overlap import Overlap
    from dsec.plan import Plan


class Stage(Record):
    """What a plan's schedule is made of."""

    successors: list[list[int]]
    works: list[Work]
    rounds: Rounds
    choices: list[bool]
    """Per Step, whether it takes the quickest free devices rather than those that fit best."""


def stage_of(plan: Plan) -> Stage:
    """The plan's Steps by number, who waits for whom, and how they repeat."""
    number = {step.id: at for at, step in enumerate(plan.steps)}
    successors: list[list[int]] = [[] for _ in plan.steps]
    carried: list[tuple[int, int, int]] = []
    for at, step in enumerate(plan.steps):
        for edge in step.needs:
            if edge.kind == "carried":
                carried.append((number[edge.step], at, edge.staleness + 1))
            else:
                successors[number[edge.step]].append(at)
    works = [Work(step.demand, step.estimate_ms, step.rank_ms, step.command.worker) for step in plan.steps]
    rounds = Rounds(plan.iterations.count, plan.iterations.in_flight, tuple(carried))
    return Stage(successors, works, rounds, plan.quicks)


def plan_overlap(plan: Plan) -> Overlap | None:
    """What all iterations of a plan cost on its inventory."""
    stage = stage_of(plan)
    return overlap(
        stage.successors, stage.works, rounds=stage.rounds, inventory=plan.inventory, choices=stage.choices
    )


class Use(Record):
    """One iteration on the inventory."""

    makespan: int
    gpu_idle_permille: int | None
    """None without GPUs or time."""
    cpu_busy_permille: int | None
    """None without time, or where the number of cores is unknown."""


def use_of(plan: Plan) -> Use:
    """How long one iteration takes, and how much of the machine it uses."""
    stage = stage_of(plan)
    slices = list_schedule(stage.successors, stage.works, Ledger(plan.inventory), choices=stage.choices)
    span = makespan(slices)
    cores = plan.inventory.cpu_m
    busy = sum(
        min(work.demand.cpu_m, cores) * (part.end - part.start)
        for work, part in zip(stage.works, slices, strict=True)
    )
    return Use(
        span,
        idle(slices, len(plan.inventory.devices), 0, span),
        thousandths(busy, cores * span) if 0 < cores < AMPLE and span else None,
    )
