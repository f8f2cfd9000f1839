"""Puts together what the views draw."""

from __future__ import annotations

from dsec.core.measures import circles
from dsec.parts import COUNT
from dsec_cli.dag.analysis import analyze, rounds_of
from dsec_cli.dag.cycles import Order, order_steps
from dsec_cli.dag.demand import demand_of
from dsec_cli.dag.estimates import estimate
from dsec_cli.dag.idle import idle_reasons
from dsec_cli.dag.pool import basis_text, pool_of, untyped
from dsec_cli.dag.tolerance import level_of
from dsec_cli.dag.use import uses
from dsec_cli.dag.view import Picture

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from dsec.inventory import Device, Inventory
    from dsec.plan import Source
    from dsec_cli.contract.values import Contract
    from dsec_cli.dag.analysis import Analysis
    from dsec_cli.dag.graph import StepGraph
    from dsec_cli.dag.idle import Idle
    from dsec_cli.source.tree import Path


def picture_of(
    contract: Contract,
    graph: StepGraph,
    *,
    title: str,
    learned: Mapping[str, int],
    locate: Callable[[Path], Source],
) -> Picture:
    """The picture of a graph, analysed on the machine that its contract describes; cyclic ones are not."""
    result = order_steps(graph, circles=circles)
    demands = [demand_of(step, contract) for step in graph.steps]
    pool = _roomy(pool_of(contract, demands), graph)
    found = None
    if isinstance(result, Order):
        estimates = estimate(graph.steps, learned)
        found = analyze(
            result,
            estimates,
            demands=untyped(demands),
            inventory=pool,
            rounds=rounds_of(result.graph, contract),
        )
    return Picture(
        title=title,
        graph=graph,
        result=result,
        levels=tuple(level_of(step, contract) for step in graph.steps),
        demands=tuple(demands),
        analysis=found,
        basis=basis_text(contract, pool),
        iterations=contract.iterations.count if contract.iterations is not None else 1,
        locate=locate,
        devices=tuple((device.uuid, device_name(device)) for device in pool.devices),
        uses=uses(found, demands, pool) if found is not None else (),
        idle=_idle(found, graph) if found is not None else (),
    )


def _roomy(pool: Inventory, graph: StepGraph) -> Inventory:
    """The pool with a device for each part of a Step that is split, as it has one for each Step."""
    parts = [step.env for step in graph.steps if step.because]
    most = max((int(value) for env in parts for name, value in env if name == COUNT), default=0)
    if not pool.devices or most <= len(pool.devices):
        return pool
    first = pool.devices[0]
    more = [first._replace(uuid=f"GPU-{at}", index=at) for at in range(len(pool.devices), most)]
    return pool._replace(devices=(*pool.devices, *more))


def _idle(found: Analysis, graph: StepGraph) -> tuple[Idle, ...]:
    wants = [one.gpu_count for one in found.demands]
    return idle_reasons(graph.successors, found.slices, wants, found.gpus)


def device_name(device: Device) -> str:
    """`GPU 0 a100-sxm-80gb`."""
    kind = device.type or device.model
    return f"GPU {device.index}{f' {kind}' if kind else ''}"
