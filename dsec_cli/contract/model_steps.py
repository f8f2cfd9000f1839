"""The Steps of a job, the seeds' tasks, and how often they repeat."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Tag

from dsec_cli.contract.leaves import (
    BY_NODE,
    Bandwidth,
    ByteRate,
    CallTarget,
    Command,
    Cores,
    Count,
    FlopRate,
    GpuMemoryText,
    Many,
    NotEmpty,
    Reduction,
    Size,
    Span,
    StepId,
    Text,
    TokenName,
    VariableName,
    Whole,
    Written,
)
from dsec_cli.contract.model_resources import Level
from dsec_cli.contract.section import Section, optional, required

Run = Annotated[
    Annotated[Command, Tag("<scalar>")] | Annotated[Many[Text], NotEmpty(), Tag("<sequence>")], BY_NODE
]


class Need(Section):
    """A need that says more than the Step's id."""

    heading = "steps[].needs[]"
    step: StepId = required("The Step waited for.", "A 3", example="S3")
    carried: bool | None = optional(
        "Read what that Step wrote in an earlier iteration.", "SPEC A5", default="false", example=True
    )


class StepGpu(Section):
    """GPUs that one attempt of the Step holds."""

    heading = "steps[].resources.gpu"
    count: Count = required("How many GPUs.", "A 3", example=1)
    memory: GpuMemoryText | None = optional(
        "Memory on each.", "A 3", default="the whole device", example="12Gi"
    )
    type: Text | None = optional("GPU type.", "A 3", default="the baseline's", example="a100-pcie-40gb")
    share: Literal["exclusive", "fraction", "mig"] | None = optional(
        "Whether a GPU is held alone, shared as far as its memory goes, or a MIG instance.",
        "SPEC D3",
        default="fraction where memory is stated, else exclusive",
        example="exclusive",
    )
    within: Literal["nvlink", "switch", "numa"] | None = optional(
        "What several GPUs are joined by: NVLink, one PCIe switch, one NUMA node.",
        "SPEC D3",
        default="the nearest there is; nvlink where topology is strict",
        example="nvlink",
    )
    topology: Literal["strict", "prefer"] | None = optional(
        "Whether the Step waits for GPUs that are so joined, or takes others.",
        "SPEC D3",
        default="prefer",
        example="strict",
    )
    nvlink_affinity: Text | None = optional(
        "Group of NVLinks to stay within.", "B 3.1", example="link-group-0"
    )
    numa_affinity: Text | None = optional(
        "Label of Steps whose GPUs are of one NUMA node; `numa-1` is node 1.", "C 2.3", example="trainer"
    )
    min_count: Count | None = optional(
        "Fewest GPUs that the Step may be started with.",
        "SPEC D4",
        default="count; of an elastic Step elasticity.gpu.min_count where that is less",
        example=1,
    )
    max_count: Count | None = optional(
        "Most GPUs that the Step may be started with, as far as the elastic pool has them.",
        "SPEC D4",
        default="count; of an elastic Step elasticity.gpu.max_count where that is more",
        example=4,
    )


class Resources(Section):
    """Resource profile of a Step."""

    heading = "steps[].resources"
    gpu: StepGpu | None = optional("GPUs.", "A 3")
    cpu: Cores | None = optional("Processor cores.", "A 3", example=4)
    memory: Size | None = optional("Main memory.", "A 3", example="8Gi")
    disk: Size | None = optional("Disk space.", "SPEC A4", example="20GB")
    pcie: ByteRate | None = optional("Rate over PCIe. Not applied by a run yet.", "A 3", example="12GB/s")
    network: Bandwidth | None = optional("Network rate.", "SPEC A4", example="1Gbps")
    tokens: dict[TokenName, Annotated[int, Whole(1, 1_000_000)]] | None = optional(
        "How many of the contract's `tokens` it holds while it runs.", "SPEC D4", example={"judge-api": 1}
    )


class RetryPolicy(Section):
    """How often, and how far apart, a failed Step is tried again."""

    heading = "steps[].retries"
    max: Annotated[int, Whole(0, 1000)] = required("Further attempts after the first.", "SPEC A4", example=2)
    backoff: Span | None = optional("Wait before the first of them.", "SPEC A4", default="1s", example="5s")
    factor: Annotated[int, Whole(1, 100)] | None = optional(
        "Each wait is this many times the one before.", "SPEC A4", default="2", example=2
    )


class Layer(Section):
    """A layer of the model that the Step holds, or several alike, in their order."""

    heading = "steps[].layers[]"
    name: Text | None = optional("Name for people.", "SPEC D5", example="embedding")
    memory: Size = required("GPU memory that one of them takes.", "SPEC D5", example="1200Mi")
    count: Annotated[int, Whole(1, 10_000)] | None = optional(
        "How many of them follow each other.", "SPEC D5", default="1", example=32
    )


class Step(Section):
    """The unit of scheduling."""

    heading = "steps[]"
    id: StepId = required("Name by which other Steps need it.", "A 3", example="S2")
    name: Text | None = optional("Name for people.", "A 3", example="PolicyForward")
    run: Run | None = optional(
        "Command: a string is split into words, a list is taken as it is, a block (`|`) is a shell script.",
        "SPEC A4",
        example="python train.py --steps 100",
    )
    shell: Text | None = optional(
        "Shell that reads its script, and its options.",
        "SPEC A4",
        default="that of the contract",
        example="bash -o pipefail",
    )
    call: CallTarget | None = optional(
        "Python function served by a resident worker.", "SPEC A4", example="policy:forward"
    )
    args: dict[str, Any] | None = optional("Keyword arguments of `call`.", "SPEC A4", example={"batch": 64})
    worker: Text | None = optional(
        "Worker that serves the call.", "SPEC A4", default="the Step's own", example="learner"
    )
    needs: (
        Many[Annotated[Annotated[StepId, Tag("<scalar>")] | Annotated[Need, Tag("<mapping>")], BY_NODE]]
        | None
    ) = optional("Steps that must be complete before.", "A 3", example=["S2", "S3"])
    resources: Resources | None = optional("Resource profile.", "A 3")
    layers: (
        Annotated[
            Annotated[Many[Layer], NotEmpty(), Tag("<sequence>")] | Annotated[Layer, Tag("<mapping>")],
            BY_NODE,
        ]
        | None
    ) = optional(
        "Layers of its model, from 0; where they fit no single device, it is split over several.",
        "A 3.1",
        example=[{"memory": "1200Mi", "count": 32}],
    )
    all_reduce: Reduction | None = optional(
        "How the outputs of its parts become one: sum, mean, max, min or module:function.",
        "A 3.1",
        default="sum",
        example="mean",
    )
    level: Level | None = optional("Tolerance level.", "A 3", default="that of fault_tolerance")
    timeout: Span | None = optional(
        "Longest run of one attempt; every Step must have one.", "A 5.4", example="300s"
    )
    checkpoint_grace_period: Span | None = optional(
        "Time to save state before it is stopped.", "A 2.1", default="that of fault_tolerance", example="30s"
    )
    checkpoint_cmd: Text | None = optional(
        "Command that saves its state when it has to make room; it runs beside the Step (DSEC_PID).",
        "A 2.1",
        default="it is asked by its SDK, or stands still",
        example="python save.py $DSEC_PID",
    )
    retries: (
        Annotated[
            Annotated[int, Whole(0, 1000), Tag("<scalar>")] | Annotated[RetryPolicy, Tag("<mapping>")],
            BY_NODE,
        ]
        | None
    ) = optional("Further attempts after a failure.", "SPEC A4", default="0", example=2)
    inputs: Many[Text] | None = optional(
        "Paths it reads; it waits for the Steps that write them, a folder around them or something in them, "
        "but for what Steps that wait for it put into a folder that it reads. "
        "`{run}`, `{iteration}` and `{previous}` are "
        "filled in. Under `{run}` lint asks for a Step that writes them (DS514); of another path that no "
        "Step writes and that does not exist `dsec plan` and `dsec run` tell, and start all the same.",
        "A 5.4",
        example=["{run}/rollouts-{iteration}.npz"],
    )
    outputs: Many[Text] | None = optional(
        "Paths it writes.", "A 5.4", example=["{run}/policy-{iteration}.npz"]
    )
    expected_duration: Span | None = optional(
        "Expected run time.", "SPEC A4", default="learned from earlier runs", example="40s"
    )
    env: dict[VariableName, Written] | None = optional(
        "Environment variables.", "SPEC A4", example={"OMP_NUM_THREADS": 1}
    )
    cwd: Text | None = optional(
        "Working folder.", "SPEC A4", default="the contract's folder", example="trainer"
    )
    break_cycle: bool | None = optional(
        "This Step's edge from `break_point` reads the iteration before.",
        "A 5.4",
        default="false",
        example=True,
    )
    break_point: StepId | None = optional(
        "Which needed Step is read from the iteration before.",
        "A 5.4",
        default="the only edge that lies on a cycle",
        example="S3",
    )


class ComputeUnit(Section):
    """Hardware that a task wants."""

    heading = "tasks[].compute_unit"
    gpu_type: Text | None = optional("GPU type.", "B 3.1", example="a100")
    min_memory: GpuMemoryText | None = optional("Least GPU memory.", "B 3.1", example="64GB")
    nvlink_affinity: Text | None = optional(
        "Group of NVLinks to stay within.", "B 3.1", example="link-group-0"
    )
    fp16_throughput: FlopRate | None = optional(
        "Least FP16 throughput that a card's data sheet must give.", "B 3.1", example="2000 TFLOPS"
    )
    memory_bandwidth: ByteRate | None = optional(
        "Least memory bandwidth that a card's data sheet must give.", "B 3.1", example="3.2 TB/s"
    )
    script: Command | None = optional("Command; may also stand beside `compute_unit`.", "B 3.1")


class Task(Section):
    """A Step as the seeds' heterogeneous jobs write it."""

    heading = "tasks[]"
    name: StepId = required("Name by which `communication` refers to it.", "B 3.1", example="embedding-gen")
    compute_unit: ComputeUnit | None = optional("Hardware wanted.", "B 3.1")
    script: Command | None = optional("Command.", "B 3.1", example="python embed_gen.py")
    timeout: Span | None = optional("Longest run of one attempt.", "A 5.4", example="2h")


class Communication(Section):
    """Data that flows from one task to another."""

    heading = "communication[]"
    source: StepId = required("Task that sends.", "B 3.1", key="from", example="embedding-gen")
    target: StepId = required("Task that receives.", "B 3.1", key="to", example="llm-inference")
    protocol: (
        Literal["shared-memory", "nvlink-p2p", "pcie", "rdma-over-converged-ethernet", "tcp", "quic"] | None
    ) = optional("How.", "B 3.1", default="follows from where both ends are placed")


class Carried(Section):
    """An edge into the next iteration."""

    heading = "iterations.carried[]"
    source: StepId = required("Step that writes.", "SPEC A5", key="from", example="S5")
    target: StepId = required("Step that reads it an iteration later.", "SPEC A5", key="to", example="S2")


class Iterations(Section):
    """How often the Steps repeat, and how far iterations may overlap."""

    heading = "iterations"
    count: Annotated[int, Whole(1, 1_000_000)] = required("Number of iterations.", "SPEC A5", example=20)
    max_staleness: Count | None = optional(
        "How many iterations older than the newest a carried input may be.", "SPEC A5", default="0", example=1
    )
    in_flight: Annotated[int, Whole(1, 1_000_000)] | None = optional(
        "Most iterations begun and not finished.", "SPEC A5", default="max_staleness + 2", example=3
    )
    carried: Many[Carried] | None = optional("Edges into the next iteration.", "SPEC A5")
