"""The contract language, described once: schemas, reference and the fast checker's table come from here.

Only structure is said here, field by field; what fields must be to each other is for lint rules.
Nothing at run time imports this module: `contract.generate` does, and tests.
"""

from __future__ import annotations

from typing import Annotated, Literal

from dsec_cli.contract.leaves import Bandwidth, Count, Hours, Many, Span, Text, TokenName, Whole, Written
from dsec_cli.contract.model_operations import Deploy, Plugin, PluginUse, Policy
from dsec_cli.contract.model_resources import Baseline, Dependency, Elasticity, FaultTolerance
from dsec_cli.contract.model_sandbox import IncludeCode, RuntimeContext, SecurityPolicy
from dsec_cli.contract.model_steps import Communication, Iterations, Step, Task
from dsec_cli.contract.section import Section, optional, required


class Statement(Section):
    """What any document beside a job may state."""

    heading = "the document"
    version: Written | None = optional(
        "Your own version of this contract, not that of a format; quote it, for 1.10 is not 1.1.",
        "B 2",
        example="1.2.0",
    )
    name: Text | None = optional("Name of the job.", "B 2", example="retrieval-augmented-agent-v3")
    base: Text | None = optional(
        "Image or environment that the job starts from. Not applied by a run yet.",
        "B 2",
        example="deepseek/dsec-python311-cu121:latest",
    )
    baseline: Baseline | None = optional("Standing resources.", "A 2.1")
    elasticity: Elasticity | None = optional("Allowed resources.", "A 2.1")
    fault_tolerance: FaultTolerance | None = optional("What may be done to the job.", "A 2.1")
    dependencies: Many[Dependency] | None = optional("What it loads.", "A 2.1, B 2")
    runtime_context: RuntimeContext | None = optional("Environment and mounts.", "B 2")
    security_policy: SecurityPolicy | None = optional("What it may touch. Not applied by a run yet.", "B 2")
    include_code: IncludeCode | None = optional("Source files in snapshots.", "B 4.3", key="include-code")
    steps: Many[Step] | None = optional("The Steps.", "A 3")
    shell: Text | None = optional(
        "Shell that reads scripts (`run: |`), and its options; `-e` and `-c` are added.",
        "SPEC A4",
        default="bash where it is installed, else sh",
        example="bash -o pipefail",
    )
    iterations: Iterations | None = optional("How often the Steps repeat.", "SPEC A5", default="once")
    tokens: dict[TokenName, Annotated[int, Whole(1, 1_000_000)]] | None = optional(
        "What Steps may hold only so many of at a time: licences, seats, calls of a service.",
        "SPEC D4",
        example={"judge-api": 4},
    )
    tasks: Many[Task] | None = optional("Steps of a heterogeneous job.", "B 3.1")
    communication: Many[Communication] | None = optional("Data flows between tasks.", "B 3.1")
    data_source: Text | None = optional(
        "Data set of the job: verified before the first Step, which finds it at DSEC_DEP_DATA_SOURCE.",
        "A 4.1",
        example="ds://datasets/autodrive-v3",
    )
    max_steps_per_episode: Count | None = optional(
        "Longest episode; Steps read it as DSEC_MAX_STEPS_PER_EPISODE.", "A 2", example=1000
    )
    checkpoint_interval_steps: Count | None = optional(
        "Training steps between checkpoints; Steps read it as DSEC_CHECKPOINT_INTERVAL_STEPS.",
        "A 2",
        example=500,
    )
    max_gpu_hours: Hours | None = optional(
        "GPU-hours beyond which use is charged extra.", "A 2.2", example=96
    )
    min_gpu_hours: Hours | None = optional("GPU-hours charged at least.", "A 2.2", example=8)
    nvlink_mode: Literal["switched", "p2p", "off"] | None = optional("How GPUs talk over NVLink.", "B 4.2")
    plugins: Many[PluginUse] | None = optional("Plugins.", "C 3.1")
    bandwidth_cap: Bandwidth | None = optional(
        "Rate of gradient bytes above which a worker is slowed. Not applied by a run yet; ds-netcheck "
        "reports it.",
        "C 2.1",
        example="100MB/s",
    )
    latency_cap: Span | None = optional(
        "Synchronisation time above which a worker is slowed. Not applied by a run yet; ds-netcheck judges "
        "flows by it.",
        "C 2.1",
        example="75ms",
    )
    snapshot_interval: Span | None = optional(
        "Time between the state snapshots that a run takes by itself; five minutes where none is stated.",
        "C 2.2",
        example="90s",
    )
    policies: Many[Policy] | None = optional(
        "What is done when a metric's condition holds. Not applied by a run yet.", "C 5.2"
    )
    telemetry: bool | None = optional(
        "Accepted and ignored: nothing is ever sent.", "A 5.5", default="false", example=False
    )


class Contract(Statement):
    """`dsandbox.yaml`: a job with its four mandatory dimensions."""

    baseline: Baseline = required("Standing resources.", "A 2.1")
    elasticity: Elasticity = required("Allowed resources.", "A 2.1")
    fault_tolerance: FaultTolerance = required("What may be done to the job.", "A 2.1")
    dependencies: Many[Dependency] = required("What it loads.", "A 2.1, B 2")


class Environment(Statement):
    """An environment: base image, packages, runtime context and policy."""

    base: Text = required(
        "Image or environment that the job starts from. Not applied by a run yet.",
        "B 2",
        example="deepseek/dsec-python311-cu121:latest",
    )


class Tasks(Statement):
    """A heterogeneous job of communicating tasks."""

    tasks: Many[Task] = required("Steps of a heterogeneous job.", "B 3.1")


class Steps(Statement):
    """`ds_config.yaml`: the Step part of a job, kept beside its contract."""


class Health(Statement):
    """Thresholds and policies of training health."""


KINDS: dict[str, type[Section]] = {
    "contract": Contract,
    "environment": Environment,
    "tasks": Tasks,
    "steps": Steps,
    "health": Health,
    "deploy": Deploy,
    "plugin": Plugin,
}
"""Root model of each document kind."""
