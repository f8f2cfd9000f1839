"""The execution plan: all that the runtime needs, and nothing of the document but source places.

Stored as canonical JSON (`dsec.codec`): UTF-8, sorted keys, integers only, LF. `hash` is the
BLAKE3 of that encoding with `hash` empty, under the domain tag `dsec.plan/1`.
"""

from __future__ import annotations

from dsec.inventory import Inventory
from dsec.record import Record

FORMAT = "dsec.plan/1"


class Source(Record):
    """Where in the contract a thing was stated; line and column count from 1 (code points)."""

    file: str
    line: int
    column: int


class Edge(Record):
    """The Step waits for `step`; `carried` edges read an earlier iteration."""

    step: str
    kind: str
    """`order`, `data`, `communication` or `carried`."""
    staleness: int
    """Carried edges: iteration i needs iteration i - 1 - staleness of `step`; else 0."""
    src: Source


class Terms(Record):
    """How devices and other things are had, where a Step says more than numbers, sizes and types."""

    share: str = ""
    """`exclusive`, `fraction`, `mig`; "": exclusive for a whole device, by memory for a part of one."""
    within: str = ""
    """What its devices are to be joined by: `nvlink`, `switch` or `numa`; "": the nearest there is."""
    strict: bool = False
    """Whether it waits for devices that are so joined rather than take others."""
    group: int = 0
    """The NVLink group that its devices are of, counted from 1; 0: any."""
    tokens: tuple[tuple[str, int], ...] = ()
    """What it takes of each of `Inventory.tokens`, by name."""
    numa: int | None = None
    """The NUMA node that its devices are of; None: any."""


class Demand(Record):
    """Resource vector of one attempt."""

    cpu_m: int
    memory_bytes: int
    gpu_count: int
    gpu_memory_bytes: int
    """Per GPU; 0 with gpu_count > 0 means the whole device."""
    gpu_types: tuple[str, ...]
    """Canonical types that satisfy the Step; empty: any."""
    disk_bytes: int
    network_bps: int
    terms: Terms | None = None
    """None: nothing more is said."""


class Command(Record):
    """Exactly one of argv, shell, call is non-empty."""

    argv: tuple[str, ...]
    shell: str
    """Script run as `/bin/sh -e -c SCRIPT`."""
    call: str
    """`module:function` in a resident worker."""
    args: str
    """Canonical JSON object for `call`."""
    worker: str
    """Worker group of `call`."""


class Retries(Record):
    """`max` further attempts after the first."""

    max: int
    backoff_ms: int
    factor: int


class Placement(Record):
    """Devices planned for the Step; the runtime may take like devices when these are busy."""

    devices: tuple[str, ...]
    """UUIDs; empty: CPU only."""
    reason: str


class PlannedStep(Record):
    """One Step, in topological order within the plan."""

    id: str
    name: str
    command: Command
    env: tuple[tuple[str, str], ...]
    cwd: str
    """Relative to the contract's folder."""
    needs: tuple[Edge, ...]
    demand: Demand
    level: str
    timeout_ms: int
    """0: none."""
    grace_ms: int
    """Between TERM and KILL."""
    retries: Retries
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    placement: Placement
    estimate_ms: int
    estimate_source: str
    """`declared`, `history` or `default`."""
    rank_ms: int
    """The higher starts first; the earlier in the plan on a tie.

    In the order `rank` the upward rank: the longest estimated path from the Step's start to the end
    of its iteration. What it is in the order that was chosen, `Schedule` says.
    """
    slack_ms: int
    reasons: tuple[str, ...]
    key: str
    """Merkle key: BLAKE3 of the Step's own fields and its needs' keys."""
    src: Source


class Iterations(Record):
    """How often the Steps repeat."""

    count: int  # type: ignore[assignment] # a tuple's method of this name is never used here
    max_staleness: int
    in_flight: int


class Schedule(Record):
    """How the order of the Steps was chosen: by the makespan of one iteration on the inventory.

    Of each order, a Step's `rank_ms` is: `fifo`, how many Steps become ready with it or later; `lpt`,
    its estimate; `rank`, its upward rank; `rank+fbi` and `search`, the time from its start to the end
    of the iteration in the schedule that the order was read from. Where Steps differ in their class
    (`core.precedence`), that of each class is lifted above the next.
    """

    order: str
    devices: str
    """`fit` or `quick`: whether Steps were given what fits best or the quickest that was free."""
    makespans_ms: tuple[tuple[str, int], ...]
    """Of every order that was tried."""
    trials: int
    """Changes that `search` tried."""
    bounds_ms: tuple[tuple[str, int], ...]
    """By name: no schedule on the inventory is shorter."""
    over_bound_ppm: int
    """By how many millionths the makespan is longer than the highest bound."""
    otherwise: tuple[str, ...] | None = None
    """Steps that were given the other of `fit` and `quick`, as the contract has them; None: there is none."""


class Analysis(Record):
    """What the compiler knows of the graph before anything runs."""

    critical_path: tuple[str, ...]
    critical_path_ms: int
    lower_bound_ms: int
    makespan_ms: int
    """Of one iteration, list-scheduled on the inventory."""
    levels: tuple[tuple[str, ...], ...]
    cuts: tuple[tuple[str, str], ...]
    """Edges (from, to) turned into carried ones by `break_cycle`."""
    schedule: Schedule | None = None
    """None: the plan was written before orders were compared; its ranks are upward ranks."""


class Dependency(Record):
    """Something that must be there, in one version, before the first Step starts."""

    name: str
    """Of a package: the distribution's."""
    kind: str
    """`package`, `model`, `environment`, `dataset`, `tool` or `plugin`."""
    version: str
    """Of a package a PEP 440 range ("": any), else one version, as SemVer where it reads as that."""
    source: str
    """Where it is kept: `ds://PATH`, a path, a URL; "": a package, or `ds://NAME`."""
    content_hash: str
    """`blake3:HEX` or `sha256:HEX` of its content; "": none is stated."""
    src: Source


class Link(Record):
    """How data can get from one Step to another that it is declared to go to."""

    source: str
    target: str
    protocol: str
    """As the contract language names them: `shared-memory`, `nvlink-p2p`, `pcie`, ..."""
    route: str
    """`NV12`, `PIX`, `one device`, `host`, `network`, ...; "": not known."""
    bandwidth: str
    """Its class: `device`, `nvlink`, `pcie`, `pcie across NUMA nodes`, `host`, `network`, `unknown`."""
    declared: bool
    """Whether the contract states the protocol."""
    reason: str


class Elastic(Record):
    """A Step that may be started with fewer or more GPUs than its demand says."""

    step: str
    least: int
    most: int
    high_bytes: int | None = None
    """Per GPU: executions above it bring one more GPU; None: the contract states no bounds of memory."""
    low_bytes: int | None = None
    """Per GPU: time below it takes one away."""


class Checkpoint(Record):
    """How a Step that cannot ask the runtime itself saves its state."""

    step: str
    shell: str
    """Run beside the Step as `/bin/sh -e -c SCRIPT`; exit code 0: the state is saved."""


class Budget(Record):
    """GPU time of the whole run, in GPU-milliseconds; None: the contract says nothing."""

    least_ms: int | None
    """Charged in any case (`min_gpu_hours`)."""
    most_ms: int | None
    """Beyond it the run costs extra, and is ended unless it is nearly done (`max_gpu_hours`)."""


class Network(Record):
    """What the contract says of the network between Steps; None: nothing."""

    bandwidth_min_bps: int | None = None
    latency_cap_ns: int | None = None
    bandwidth_cap_bps: int | None = None


class HostNeed(Record):
    """What the machine must be in order for, by the name of a check of `dsec doctor`."""

    check: str
    why: str


class Plan(Record):
    """A compiled contract."""

    format: str
    tool: str
    name: str
    contract_file: str
    contract_hash: str
    inventory: Inventory
    inventory_hash: str
    iterations: Iterations
    steps: tuple[PlannedStep, ...]
    analysis: Analysis
    notes: tuple[str, ...]
    hash: str
    dependencies: tuple[Dependency, ...] = ()
    links: tuple[Link, ...] | None = None
    """One for each `communication`, in the contract's order; None: there is none."""
    nvlink_mode: str | None = None
    """As the contract states it: `switched`, `p2p` or `off`."""
    elastic: tuple[Elastic, ...] | None = None
    """In the order of the Steps; None: there is none."""
    budget: Budget | None = None
    """None: the contract bounds no GPU-hours."""
    checkpoints: tuple[Checkpoint, ...] | None = None
    """In the order of the Steps; None: there is none."""
    network: Network | None = None
    """None: the contract says nothing of the network."""
    host: tuple[HostNeed, ...] | None = None
    """What is looked at before the first Step starts; None: nothing beside what Steps demand."""
    snapshot_interval_ns: int | None = None
    """Between two state snapshots that a run takes by itself; None: the contract states none."""

    @property
    def quick(self) -> bool:
        """Whether Steps take the quickest free devices rather than those that fit best."""
        schedule = self.analysis.schedule
        return schedule is not None and schedule.devices == "quick"

    @property
    def quicks(self) -> list[bool]:
        """The same per Step, as some may be given the other."""
        found, schedule = [self.quick] * len(self.steps), self.analysis.schedule
        if schedule is not None and schedule.otherwise:
            others = set(schedule.otherwise)
            found = [quick != (step.id in others) for quick, step in zip(found, self.steps, strict=True)]
        return found
