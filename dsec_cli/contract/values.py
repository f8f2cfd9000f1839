"""The typed contract: what a document states, as immutable values that carry their path.

Built by `contract.build` from the located tree, without pydantic; the language itself is
described in `contract.model`. A field is None where the document does not state it or states it
wrongly (the wrong statement is a finding of its own), so rules never see half-parsed text.
"""

from __future__ import annotations

from dsec.record import Record
from dsec.units import BitsPerSecond, Bytes, BytesPerSecond, Duration, FlopsPerSecond
from dsec_cli.source.tree import Path

LEVELS = ("critical", "pauseable", "elastic", "discardable")
"""Tolerance levels, from what is never taken away to what goes first."""


class GpuMemory(Record):
    """GPU memory asked for: exact bytes, or a nominal class such as `24GB-class`."""

    bytes: Bytes
    """For a class, the nominal size (24 GB -> 24 x 10^9)."""
    nominal: bool
    text: str


class Gpu(Record):
    """GPU demand of a baseline or a Step."""

    path: Path
    count: int | None  # type: ignore[assignment] # a tuple's method of this name is never used here
    memory: GpuMemory | None
    type: str | None
    """As written: `a100-pcie-40gb`, `a100`, or an at-least form such as `>=a100`."""
    share: str | None = None
    """`exclusive`, `fraction` or `mig`."""
    within: str | None = None
    """`nvlink`, `switch` or `numa`."""
    topology: str | None = None
    """`strict` or `prefer`."""
    min_count: int | None = None
    """Of a Step: the fewest that it may be started with."""
    max_count: int | None = None


class Baseline(Record):
    """`baseline`: the standing resources."""

    path: Path
    gpu: Gpu | None
    cpu_m: int | None
    """Thousandths of a core: `cpu: 8` is 8000."""
    memory: Bytes | None


class ElasticGpu(Record):
    """`elasticity.gpu`."""

    path: Path
    min_count: int | None
    max_count: int | None
    memory_min: GpuMemory | None
    memory_max: GpuMemory | None


class ElasticNetwork(Record):
    """`elasticity.network`."""

    path: Path
    bandwidth_min: BitsPerSecond | None
    bandwidth_max: BitsPerSecond | None


class Elasticity(Record):
    """`elasticity`: the allowed resources."""

    path: Path
    gpu: ElasticGpu | None
    network: ElasticNetwork | None


class FaultTolerance(Record):
    """`fault_tolerance`."""

    path: Path
    level: str | None
    checkpoint_grace_period: Duration | None
    resume_strategy: str | None


class Dependency(Record):
    """One entry of `dependencies`: a named model/environment/dataset, or a Python package."""

    path: Path
    name: str | None
    package: str | None
    version: str | None
    type: str | None
    source: str | None
    hash: str | None
    build_options: tuple[str, ...]


class EnvVar(Record):
    """One entry of `runtime_context.env_vars`."""

    path: Path
    name: str | None
    value: str | None
    source: str | None
    ttl: Duration | None


class Mount(Record):
    """One entry of `runtime_context.mounts`."""

    path: Path
    target: str | None
    source: str | None
    mode: str | None
    cache_ttl: Duration | None


class Egress(Record):
    """One entry of `security_policy.network.egress`."""

    path: Path
    domain: str | None
    ports: tuple[int, ...]
    rate_limit: str | None
    allow_internal_only: bool


class SecurityPolicy(Record):
    """`security_policy`."""

    path: Path
    egress: tuple[Egress, ...]
    read_allowed: tuple[str, ...]
    write_allowed: tuple[str, ...]
    allow_sbrk: bool | None
    dns_passthrough: bool | None


class Need(Record):
    """One edge into a Step, as its `needs` states it."""

    path: Path
    step: str
    carried: bool
    """Reads what the Step wrote in an earlier iteration."""


class Retries(Record):
    """How often, and how far apart, a Step is tried again."""

    max: int
    backoff: Duration
    factor: int
    """Each wait is this many times the one before (1: constant)."""


class Run(Record):
    """What a Step executes: exactly one of the three is set."""

    argv: tuple[str, ...]
    shell: str | None
    """Script text, read by the Step's shell."""
    call: str | None
    """`module:function`, served by a resident worker."""


class Demand(Record):
    """`resources` of a Step."""

    path: Path
    gpu: Gpu | None
    cpu_m: int | None
    memory: Bytes | None
    disk: Bytes | None
    pcie: BytesPerSecond | None
    network: BitsPerSecond | None
    memory_bandwidth: BytesPerSecond | None
    fp16_throughput: FlopsPerSecond | None
    nvlink_affinity: str | None
    tokens: tuple[tuple[str, int], ...] | None = None
    """Sorted by name."""
    numa_affinity: str | None = None


class Layer(Record):
    """One entry of a Step's `layers`: one layer, or several alike."""

    name: str | None
    memory: Bytes
    """Of one of them."""
    many: int


class Step(Record):
    """One entry of `steps` (or of the seed's `tasks`, which become Steps: name -> id)."""

    path: Path
    id: str
    name: str | None
    kind: str
    """`step` or `task`."""
    run: Run | None
    args: str
    """Canonical JSON object handed to `call`; "{}" when none."""
    worker: str | None
    """Resident worker group that serves `call` (default: the Step's own)."""
    env: tuple[tuple[str, str], ...]
    cwd: str | None
    needs: tuple[Need, ...]
    demand: Demand
    level: str | None
    timeout: Duration | None
    grace: Duration | None
    retries: Retries | None
    inputs: tuple[tuple[Path, str], ...]
    outputs: tuple[tuple[Path, str], ...]
    expect: Duration | None
    break_cycle: bool
    break_point: str | None
    layers: tuple[Layer, ...] = ()
    """In order; how a Step that fits no single device is split."""
    all_reduce: str | None = None
    """How the outputs of its parts become one: the name of a reduction, or `module:function`."""
    because: tuple[str, ...] = ()
    """What the compiler has to say of a Step that it made itself."""
    checkpoint_cmd: str | None = None
    """Saves its state when it has to make room."""
    shell: str | None = None
    """Shell of its script with options; None: the contract's."""


class Link(Record):
    """One entry of `communication` or of `iterations.carried`."""

    path: Path
    source: str
    target: str
    protocol: str | None


class Iterations(Record):
    """`iterations`: how often the Steps repeat and how far iterations may overlap."""

    path: Path
    count: int  # type: ignore[assignment] # a tuple's method of this name is never used here
    max_staleness: int
    in_flight: int
    """Greatest number of iterations begun and not finished."""
    carried: tuple[Link, ...]


class Contract(Record):
    """Everything one document states."""

    kind: str
    """`contract`, `environment`, `tasks`, `steps`, `health`, `deploy` or `plugin` (see `contract.kinds`)."""
    document: int
    name: str | None
    version: str | None
    base: str | None
    baseline: Baseline | None
    elasticity: Elasticity | None
    fault_tolerance: FaultTolerance | None
    dependencies: tuple[Dependency, ...]
    env_vars: tuple[EnvVar, ...]
    mounts: tuple[Mount, ...]
    security_policy: SecurityPolicy | None
    exclude_patterns: tuple[str, ...] | None
    data_source: str | None
    nvlink_mode: str | None
    max_gpu_hours: float | None
    min_gpu_hours: float | None
    bandwidth_cap: BitsPerSecond | None
    latency_cap: Duration | None
    snapshot_interval: Duration | None
    steps: tuple[Step, ...]
    communication: tuple[Link, ...]
    iterations: Iterations | None
    stated: frozenset[str]
    """Root keys that the document has, right or wrong."""
    tokens: tuple[tuple[str, int], ...] | None = None
    """Sorted by name."""
    shell: str | None = None
    """Shell of the Steps' scripts with options; None: bash where it is installed, else sh."""
    max_steps_per_episode: int | None = None
    checkpoint_interval_steps: int | None = None
    """Training steps between two checkpoints of a Step."""
