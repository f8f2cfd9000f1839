"""A plan as a scene: its Steps, each as long as it is expected to be, on its machine or on another."""

from __future__ import annotations

from dsec.core.pace import Paces, spans_of
from dsec.core.placement import slots
from dsec.core.simulated import Manners, Scene, Workload
from dsec.core.simulation import simulate
from dsec.plan import Placement

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec.inventory import Inventory
    from dsec.plan import Plan, PlannedStep

_ANYWHERE = Placement((), "")


def of_plan(
    plan: Plan,
    *,
    iterations: int | None = None,
    manners: Manners | None = None,
    other: Inventory | None = None,
) -> Scene:
    """`iterations`: instead of the plan's; `other`: another machine."""
    stated = plan.iterations
    steps = plan.steps if other is None else moved(plan, other)
    work = Workload(
        steps=steps,
        iterations=stated if iterations is None else stated._replace(count=iterations),
        lengths_ms=[step.estimate_ms for step in steps],
        jobs=[0] * len(steps),
        arrivals={},
        checkpoints_ms=[0] * len(steps),
        spans=spans_of(plan),
    )
    machine = plan.inventory if other is None else other
    return Scene(work, (machine,), manners=(manners or Manners())._replace(quicks=plan.quicks))


def moved(plan: Plan, other: Inventory) -> tuple[PlannedStep, ...]:
    """The Steps on other devices, which take longer or less long by their speed."""
    demands = [step.demand for step in plan.steps]
    here, there = (Paces(demands, [slots(one)]).best for one in (plan.inventory, other))
    return tuple(
        step._replace(estimate_ms=-(-step.estimate_ms * here[at] // there[at]), placement=_ANYWHERE)
        for at, step in enumerate(plan.steps)
    )


def elastic_ms(plan: Plan) -> int:
    """What one iteration takes when its elastic Steps get fewer or more GPUs."""
    return simulate(of_plan(plan, iterations=1)).end_ms
