"""Puts together what the views draw."""

from __future__ import annotations

from dsec.core.measures import circles
from dsec.inventory import steady
from dsec.parts import COUNT
from dsec.record import Record
from dsec_cli.dag.analysis import analyze, rounds_of
from dsec_cli.dag.cycles import Order, order_steps
from dsec_cli.dag.demand import demand_of
from dsec_cli.dag.elastic import elastic_steps
from dsec_cli.dag.estimates import estimate
from dsec_cli.dag.idle import idle_reasons
from dsec_cli.dag.pool import BASELINE, basis_text, pool_of, untyped
from dsec_cli.dag.tolerance import level_of
from dsec_cli.dag.use import uses
from dsec_cli.dag.view import Picture
from dsec_cli.diagnostics import Finding

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from dsec.inventory import Device, Inventory
    from dsec.plan import Demand, Link, Source
    from dsec_cli.contract.values import Contract
    from dsec_cli.dag.analysis import Analysis
    from dsec_cli.dag.graph import StepGraph
    from dsec_cli.dag.idle import Idle
    from dsec_cli.dag.view import Run
    from dsec_cli.source.tree import Path


class Drawn(Record):
    """A picture, and what is wrong with the graph on the machine that it is drawn for."""

    picture: Picture
    faults: tuple[Finding, ...]


class _Place(Record):
    """The machine that a graph is analysed on, and the demands that it meets."""

    machine: Inventory
    demands: list[Demand]
    basis: str
    faults: tuple[Finding, ...] = ()


def picture_of(
    contract: Contract,
    graph: StepGraph,
    *,
    title: str,
    learned: Mapping[str, int],
    locate: Callable[[Path], Source],
    inventory: Inventory | None = None,
) -> Drawn:
    """The picture of a graph, analysed on the machine that its contract describes; cyclic ones are not.

    `inventory`: the machine to analyse it on instead, where it fits.
    """
    result = order_steps(graph, circles=circles)
    demands = [demand_of(step, contract) for step in graph.steps]
    place = _place(contract, graph, demands, inventory)
    found: Analysis | None = None
    links: tuple[Link, ...] = ()
    impossible: list[Finding] = []
    if isinstance(result, Order):
        estimates, rounds = estimate(graph.steps, learned), rounds_of(result.graph, contract)
        found = analyze(
            result,
            estimates,
            demands=place.demands,
            inventory=place.machine,
            rounds=rounds,
            tolerances=[level_of(step, contract) for step in graph.steps],
        )
        if contract.communication:
            from dsec_cli.dag.linking import links_of  # few graphs have any

            devices = [part.devices for part in found.slices]
            links, impossible = links_of(
                graph, contract, devices, place.machine, placed=place.machine.origin != BASELINE
            )
    picture = Picture(
        title=title,
        graph=graph,
        result=result,
        levels=tuple(level_of(step, contract) for step in graph.steps),
        elastic=elastic_steps(graph.steps, demands, contract) or (),
        demands=tuple(demands),
        analysis=found,
        basis=place.basis,
        iterations=contract.iterations.count if contract.iterations is not None else 1,
        locate=locate,
        devices=tuple((device.uuid, device_name(device)) for device in place.machine.devices),
        uses=uses(found, place.demands, place.machine) if found is not None else (),
        idle=_idle(found, graph) if found is not None else (),
        links=links,
    )
    return Drawn(picture, (*place.faults, *impossible))


def on_devices_of(run: Run, picture: Picture) -> Picture:
    """The picture with the run's devices in place of the assumed ones, as far as it has any.

    They are an assumption and nowhere: one by one they stand for those that the run was planned on.
    """
    theirs = {old: new for (old, _), new in zip(picture.devices, run.devices, strict=False)}
    found = picture.analysis
    if found is not None:
        slices = tuple(
            one._replace(devices=tuple(theirs[uuid][0] if uuid in theirs else uuid for uuid in one.devices))
            for one in found.slices
        )
        found = found._replace(slices=slices)
    devices = tuple(theirs.get(uuid, (uuid, name)) for uuid, name in picture.devices)
    return picture._replace(analysis=found, devices=devices)


def _place(
    contract: Contract, graph: StepGraph, demands: list[Demand], inventory: Inventory | None
) -> _Place:
    """The inventory where all fits there, else what the contract itself describes."""
    faults: tuple[Finding, ...] = ()
    if inventory is not None:
        from dsec_cli.dag.settling import refused, settle  # as they are for a plan

        settled = settle(graph, contract, demands, steady(inventory))
        if isinstance(settled, Finding):
            faults = (settled,)
        else:
            faults = tuple(refused(graph.steps, settled.demands, settled.inventory))
            if not faults:
                return _Place(settled.inventory, settled.demands, settled.inventory.origin)
    pool = _roomy(pool_of(contract, demands), graph)
    return _Place(pool, untyped(demands), basis_text(contract, pool), faults)


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
