"""Order and inventory in, plan out: every decision taken once, with its reason in words."""

from __future__ import annotations

from dsec.codec import canonical
from dsec.core.dependencies import DATA_SOURCE
from dsec.core.experience import NOTHING
from dsec.core.placement import slots
from dsec.core.reasons import reason
from dsec.hashing import digest
from dsec.inventory import steady, unnamed
from dsec.plan import (
    FORMAT,
    Analysis,
    Budget,
    Checkpoint,
    Dependency,
    Iterations,
    Network,
    Placement,
    Plan,
    Schedule,
    Source,
)
from dsec.planfile import seal
from dsec.record import Record
from dsec.versions import coerced
from dsec_cli.dag.analysis import analyze, rounds_of
from dsec_cli.dag.demand import demands_of, gpu_count
from dsec_cli.dag.elastic import elastic_steps
from dsec_cli.dag.estimates import estimate
from dsec_cli.dag.hosting import host_needs
from dsec_cli.dag.linking import links_of
from dsec_cli.dag.lowering import Decided, lowered
from dsec_cli.dag.settling import refused, settle
from dsec_cli.dag.shell import SH
from dsec_cli.dag.tolerance import level_of
from dsec_cli.dag.view import time_text
from dsec_cli.diagnostics import Finding, Severity
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from dsec.core.experience import Experience
    from dsec.core.placement import Slot
    from dsec.inventory import Inventory
    from dsec.plan import Demand
    from dsec_cli.contract.values import Contract, Step
    from dsec_cli.dag import analysis
    from dsec_cli.dag.cycles import Order
    from dsec_cli.dag.graph import StepGraph
    from dsec_cli.source.tree import Path


class Origin(Record):
    """What is compiled, by whom, and where its parts are stated."""

    file: str
    """The contract, relative to its folder."""
    content: tuple[bytes, ...]
    """The contract's bytes, then those of the files merged into it."""
    tool: str
    locate: Callable[[Path], Source]
    notes: tuple[str, ...] = ()
    """What was noticed when it was read."""
    shell: str = SH
    """Reads scripts for which the contract states no shell."""


class Infeasible(Record):
    """Why this contract has no plan on this inventory."""

    findings: tuple[Finding, ...]


def compile_plan(
    order: Order,
    contract: Contract,
    *,
    inventory: Inventory,
    origin: Origin,
    learned: Mapping[str, int],
    known: Experience = NOTHING,
) -> Plan | Infeasible:
    """The plan of one contract, or what it asks for and cannot have.

    `learned`: median milliseconds per Step id from earlier runs; `known`: what these taught about
    devices. Same arguments, same bytes.
    """
    steps = order.graph.steps
    demands = demands_of(steps, contract)
    # Free memory is read anew before anything starts; a plan that held it would change by the minute.
    # Free disk is looked at once: a Step that needs more would fail late and leave the disk full.
    settled = settle(order.graph, contract, demands, steady(inventory), known=known)
    if isinstance(settled, Finding):
        return Infeasible((*_not_runnable(steps), settled))
    demands, machine = settled.demands, settled.inventory
    disk = machine._replace(disk_bytes=inventory.disk_bytes)
    findings = [*_not_runnable(steps), *refused(steps, demands, disk)]
    if findings:
        return Infeasible(tuple(findings))
    estimates = estimate(steps, learned)
    found = analyze(
        order,
        estimates,
        demands=demands,
        inventory=machine,
        rounds=rounds_of(order.graph, contract),
        tolerances=[level_of(step, contract) for step in steps],
    )
    places = _placements(found, machine)
    for at, text in settled.avoided.items():
        places[at] = places[at]._replace(reason=f"{places[at].reason}, {text}")
    links, impossible = links_of(order.graph, contract, [place.devices for place in places], machine)
    if impossible:
        return Infeasible(tuple(impossible))
    return seal(
        Plan(
            format=FORMAT,
            tool=origin.tool,
            name=contract.name or origin.file.rpartition("/")[2].partition(".")[0],
            contract_file=origin.file,
            contract_hash=digest("dsec.contract/1", *origin.content),
            inventory=machine._replace(origin=_by_file_name(machine.origin)),
            inventory_hash=digest("dsec.inventory/1", canonical(unnamed(machine))),
            iterations=_iterations(contract),
            steps=lowered(Decided(order, contract, found, places, origin.locate, origin.shell)),
            analysis=_analysis(order.graph, found),
            notes=(
                *origin.notes,
                *settled.notes,
                *_notes(contract, inventory),
                *_far_off(steps, learned),
            ),
            hash="",
            dependencies=_dependencies(contract, origin),
            links=links or None,
            nvlink_mode=contract.nvlink_mode,
            elastic=elastic_steps(steps, demands, contract),
            budget=_budget(contract),
            checkpoints=_checkpoints(steps),
            network=_network(contract),
            host=host_needs(steps, demands, nvlink_mode=contract.nvlink_mode),
            snapshot_interval_ns=_whole(contract.snapshot_interval),
        )
    )


def _by_file_name(origin: str) -> str:
    """`described:box.yaml`, whatever folder it was named by: where a plan is made is no part of it."""
    kind, named, name = origin.partition(":")
    return f"{kind}:{name.rpartition('/')[2]}" if named else origin


def _checkpoints(steps: tuple[Step, ...]) -> tuple[Checkpoint, ...] | None:
    return tuple([Checkpoint(one.id, one.checkpoint_cmd) for one in steps if one.checkpoint_cmd]) or None


def _network(contract: Contract) -> Network | None:
    """What links between Steps are to carry, and what the breaker allows."""
    elasticity = contract.elasticity
    stated = elasticity.network if elasticity is not None else None
    found = Network(
        bandwidth_min_bps=_whole(stated.bandwidth_min if stated is not None else None),
        latency_cap_ns=_whole(contract.latency_cap),
        bandwidth_cap_bps=_whole(contract.bandwidth_cap),
    )
    return None if found == Network() else found


def _whole(value: int | None) -> int | None:
    return None if value is None else int(value)


def _budget(contract: Contract) -> Budget | None:
    """GPU-hours as the contract bounds them, in whole GPU-milliseconds."""
    least, most = (
        None if hours is None else round(hours * 3_600_000)
        for hours in (contract.min_gpu_hours, contract.max_gpu_hours)
    )
    return None if least is None and most is None else Budget(least, most)


def _not_runnable(steps: tuple[Step, ...]) -> list[Finding]:
    return [
        Finding(
            code="DS109",
            severity=Severity.ERROR,
            where=step.path,
            message=say("Step {id} says neither run nor call", id=step.id),
            reason=say("a plan holds what each Step executes"),
            help=say("give it a command (run: python train.py) or a function (call: module:function)"),
            part="entry",
        )
        for step in steps
        if step.run is None
    ]


def _placements(found: analysis.Analysis, inventory: Inventory) -> list[Placement]:
    """Each Step on the devices that the list schedule gave it, with the reason placement would give."""
    shared = _shared(found)
    table = {slot.device.uuid: slot for slot in slots(inventory)}
    known: dict[tuple[tuple[str, ...], Demand, bool], Placement] = {}
    quickly: dict[tuple[int, int, bool], Placement] = {}  # by `id`: to look a demand up is to read all of it
    places: list[Placement] = []
    for at, ((_, _, devices), demand) in enumerate(zip(found.slices, found.demands, strict=True)):
        place = quickly.get((id(devices), id(demand), at in shared))
        if place is None:
            case = devices, demand, at in shared
            if case not in known:
                known[case] = _placement(*case, table)
            place = quickly[id(devices), id(demand), at in shared] = known[case]
        places.append(place)
    return places


def _placement(
    devices: tuple[str, ...], demand: Demand, shared: bool, table: Mapping[str, Slot]
) -> Placement:
    chosen = [table[uuid] for uuid in devices]
    held = chosen if shared else []
    for slot in held:
        slot.take(demand)
    place = Placement(devices, reason(chosen, demand))
    for slot in held:
        slot.give_back(demand.gpu_memory_bytes)
    return place


def _shared(found: analysis.Analysis) -> set[int]:
    """Steps that have another one beside them on a device at some time of the schedule."""
    by_device: dict[str, list[tuple[int, int, int]]] = {}
    for at, (start, end, devices) in enumerate(found.slices):
        for uuid in devices:
            by_device.setdefault(uuid, []).append((start, end, at))
    shared: set[int] = set()
    for intervals in by_device.values():
        until, holder = 0, -1
        for start, end, at in sorted(intervals):
            if start < until:
                shared.update((holder, at))
            if end > until:
                until, holder = end, at
    return shared


def _iterations(contract: Contract) -> Iterations:
    stated = contract.iterations
    if stated is None:
        return Iterations(count=1, max_staleness=0, in_flight=1)
    return Iterations(stated.count, stated.max_staleness, stated.in_flight)


def _dependencies(contract: Contract, origin: Origin) -> tuple[Dependency, ...]:
    """What the contract loads, in its order, its data set last; a version such as `v4.2` in full, `4.2.0`."""
    stated = tuple(
        Dependency(
            name=one.package or one.name or "",
            kind="package" if one.package else one.type or "",
            version=(one.version or "") if one.package else coerced(one.version or "") or one.version or "",
            source=one.source or "",
            content_hash=one.hash or "",
            src=origin.locate(one.path),
        )
        for one in contract.dependencies
        if one.package or one.name
    )
    if contract.data_source is None:
        return stated
    src = origin.locate((DATA_SOURCE,))
    return (*stated, Dependency(DATA_SOURCE, "dataset", "", contract.data_source, "", src))


def _analysis(graph: StepGraph, found: analysis.Analysis) -> Analysis:
    ids = [step.id for step in graph.steps]
    return Analysis(
        critical_path=tuple(ids[at] for at in found.critical_path),
        critical_path_ms=found.critical_path_ms,
        lower_bound_ms=found.lower_bound_ms,
        makespan_ms=found.makespan_ms,
        levels=tuple(tuple(ids[at] for at in level) for level in found.levels),
        cuts=tuple(sorted({(edge.source, edge.target) for edge in graph.cuts})),
        schedule=_schedule(ids, found),
    )


def _schedule(ids: Sequence[str], found: analysis.Analysis) -> Schedule:
    bound = found.lower_bound_ms
    choices = found.choices or ()
    return Schedule(
        order=found.order,
        devices="quick" if found.quick else "fit",
        makespans_ms=found.makespans_ms,
        trials=found.trials,
        bounds_ms=found.bounds_ms,
        over_bound_ppm=(found.makespan_ms - bound) * 1_000_000 // bound if bound else 0,
        otherwise=tuple([name for name, quick in zip(ids, choices, strict=False) if quick != found.quick])
        or None,
    )


def _notes(contract: Contract, inventory: Inventory) -> tuple[str, ...]:
    """What the reader of a plan should know and no Step says."""
    secrets = [
        f"{variable.name} comes from {variable.source}: a plan holds no secrets, so set it where it runs"
        for variable in contract.env_vars
        if variable.name and variable.source and variable.value is None
    ]
    return (*_short_of_baseline(contract, inventory), *secrets)


_FAR = 5
"""How many times longer or shorter than declared a measured duration is worth a word."""
_FAR_MS = 1000
"""What is less apart than this is not."""
_FAR_TOLD = 3


def _far_off(steps: Iterable[Step], learned: Mapping[str, int]) -> list[str]:
    """What earlier runs took where it is far from what is declared: one sample may be of a trial."""
    found = []
    for step in steps:
        if step.id in learned and step.expect is not None:
            took, declared = learned[step.id], step.expect.ms
            if abs(took - declared) >= _FAR_MS and not declared <= took * _FAR <= declared * _FAR**2:
                found.append((step.id, time_text(took), step.expect))
    told = [
        f"Step {name} took {took} in earlier runs, expected_duration is {expect}: planned as it took; "
        "--durations declared takes what is declared"
        for name, took, expect in found[:_FAR_TOLD]
    ]
    more = len(found) - len(told)
    return [*told, f"so it is with {more} more Steps"] if more else told


def _short_of_baseline(contract: Contract, inventory: Inventory) -> list[str]:
    """The baseline is the job's standing demand; Steps are placed by their own, so this only informs."""
    baseline = contract.baseline
    if baseline is None:
        return []
    short: list[str] = []
    gpus = gpu_count(baseline.gpu)
    if gpus > len(inventory.devices):
        short.append(f"baseline states {gpus} GPUs, the inventory has {len(inventory.devices)}")
    if baseline.cpu_m is not None and baseline.cpu_m > inventory.cpu_m:
        short.append(
            f"baseline states {baseline.cpu_m / 1000:g} cores, the inventory has {inventory.cpu_m / 1000:g}"
        )
    if baseline.memory and inventory.memory_bytes is not None and baseline.memory > inventory.memory_bytes:
        have = inventory.memory_bytes // 2**20
        short.append(f"baseline states {baseline.memory} of memory, the inventory has {have}Mi")
    return short
