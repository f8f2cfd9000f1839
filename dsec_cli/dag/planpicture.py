"""A plan as a picture: what a run followed, whatever has become of its contract since."""

from __future__ import annotations

from dsec.core.leases import Ledger
from dsec.core.measures import measure
from dsec.core.overlap import idle
from dsec.core.schedule import list_schedule, makespan
from dsec_cli.contract.values import Demand as StatedDemand
from dsec_cli.contract.values import Step
from dsec_cli.dag.analysis import Analysis
from dsec_cli.dag.cycles import Order
from dsec_cli.dag.estimates import Estimate
from dsec_cli.dag.graph import Edge, StepGraph, adjacency
from dsec_cli.dag.idle import idle_reasons
from dsec_cli.dag.picture import device_name
from dsec_cli.dag.replay import stage_of
from dsec_cli.dag.use import uses
from dsec_cli.dag.view import Picture

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec.plan import Plan, PlannedStep, Source
    from dsec_cli.dag.view import Run
    from dsec_cli.source.tree import Path

_NOTHING = StatedDemand((), None, None, None, None, None, None, None, None, None)


def picture_of_plan(plan: Plan, run: Run | None = None) -> Picture:
    """The picture of one iteration as planned, with what a run did."""
    graph = _graph(plan)
    found = _analysis(plan, graph)
    demands = tuple(step.demand for step in plan.steps)
    places = [step.src for step in plan.steps]

    def locate(path: Path) -> Source:
        return places[int(path[1])]

    return Picture(
        title=plan.name,
        graph=graph,
        result=Order(graph, tuple(range(len(plan.steps)))),
        levels=tuple(step.level for step in plan.steps),
        demands=demands,
        analysis=found,
        basis=f"as planned on {_machine(plan)}",
        iterations=plan.iterations.count,
        locate=locate,
        run=run,
        devices=tuple((device.uuid, device_name(device)) for device in plan.inventory.devices),
        uses=uses(found, demands, plan.inventory),
        idle=idle_reasons(
            graph.successors, found.slices, [demand.gpu_count for demand in demands], found.gpus
        ),
        links=plan.links or (),
        elastic=plan.elastic or (),
    )


def _machine(plan: Plan) -> str:
    gpus = len(plan.inventory.devices)
    cores = f"{plan.inventory.cpu_m / 1000:g} cores"
    return f"{gpus} GPU{'s' * (gpus != 1)}, {cores}" if gpus else cores


def _graph(plan: Plan) -> StepGraph:
    numbers = {step.id: at for at, step in enumerate(plan.steps)}
    edges: list[Edge] = []
    carried: list[Edge] = []
    for at, step in enumerate(plan.steps):
        for need in step.needs:
            kind = "order" if need.kind == "carried" else need.kind
            edge = Edge(need.step, step.id, kind, ("steps", at))
            (carried if need.kind == "carried" else edges).append(edge)
    return StepGraph(
        steps=tuple(_step(step, at) for at, step in enumerate(plan.steps)),
        numbers=numbers,
        edges=tuple(edges),
        carried=tuple(carried),
        cuts=(),
        misplaced=(),
        successors=adjacency(len(plan.steps), numbers, edges),
    )


def _step(step: PlannedStep, at: int) -> Step:
    """What a view looks at of a Step."""
    return Step(
        path=("steps", at),
        id=step.id,
        name=step.name or None,
        kind="step",
        run=None,
        args=step.command.args,
        worker=step.command.worker or None,
        env=step.env,
        cwd=step.cwd,
        needs=(),
        demand=_NOTHING,
        level=step.level,
        timeout=None,
        grace=None,
        retries=None,
        inputs=(),
        outputs=(),
        expect=None,
        break_cycle=False,
        break_point=None,
    )


def _analysis(plan: Plan, graph: StepGraph) -> Analysis:
    """The plan's own schedule, played again: nothing is searched anew."""
    weights = [step.estimate_ms for step in plan.steps]
    measures = measure(graph.successors, weights)
    if measures is None:
        raise AssertionError("a plan's Steps have an order")
    stage = stage_of(plan)
    slices = list_schedule(stage.successors, stage.works, Ledger(plan.inventory), choices=stage.choices)
    whole, gpus, stated = makespan(slices), len(plan.inventory.devices), plan.analysis.schedule
    nodes = measures.nodes
    return Analysis(
        levels=tuple(map(tuple, nodes.levels)),
        estimates=tuple(Estimate(step.estimate_ms, step.estimate_source) for step in plan.steps),
        demands=tuple(step.demand for step in plan.steps),
        ranks_ms=tuple(step.rank_ms for step in plan.steps),
        upward_ms=tuple(nodes.ranks),
        starts_ms=tuple(nodes.starts),
        slacks_ms=tuple(nodes.slacks),
        critical_path=tuple(measures.critical_path),
        critical_path_ms=measures.length,
        bounds_ms=stated.bounds_ms if stated is not None else (("critical path", measures.length),),
        slices=tuple(slices),
        makespan_ms=whole,
        gpus=gpus,
        gpu_idle_permille=idle(slices, gpus, 0, whole),
        overlap=None,
        order=stated.order if stated is not None else "rank",
        quick=plan.quick,
        choices=stage.choices,
        makespans_ms=stated.makespans_ms if stated is not None else (),
        trials=stated.trials if stated is not None else 0,
    )
