"""The four mandatory dimensions: baseline, elasticity, fault tolerance, dependencies."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Discriminator, Tag

from dsec_cli.contract.leaves import (
    Bandwidth,
    ContentHash,
    Cores,
    Count,
    GpuMemoryText,
    Many,
    PackageName,
    Size,
    Span,
    Text,
    Written,
)
from dsec_cli.contract.section import Section, optional, required

Level = Literal["critical", "pauseable", "elastic", "discardable"]


class Gpu(Section):
    """GPUs that are held all the time."""

    heading = "baseline.gpu"
    count: Count = required("How many GPUs.", "A 2.1", example=2)
    memory: GpuMemoryText | None = optional(
        "Memory wanted on each GPU: exact, or the nominal class of a card.",
        "A 2.1",
        default="the whole device",
        example="24Gi",
    )
    type: Text | None = optional(
        "GPU type, matched strictly: an A100 is no V100. `>=a100` accepts that type and better ones.",
        "A 2.1",
        example="a100-pcie-40gb",
    )


class Baseline(Section):
    """The standing resources of the job."""

    heading = "baseline"
    gpu: Gpu | None = optional("GPUs; leave out for a job without.", "A 2.1")
    cpu: Cores | None = optional("Processor cores; fractions are allowed.", "A 2.1", example=8)
    memory: Size | None = optional("Main memory.", "A 2.1", example="64Gi")


class ElasticGpu(Section):
    """How far the GPUs may shrink and grow."""

    heading = "elasticity.gpu"
    min_count: Count | None = optional("Fewest GPUs; the baseline must not exceed it.", "A 2.1", example=2)
    max_count: Count | None = optional(
        "Most GPUs; more than twice the baseline is reported as risky.", "A 2.1, A 5.3", example=4
    )
    memory_min: GpuMemoryText | None = optional("Least memory per GPU.", "A 2.1", example="24Gi")
    memory_max: GpuMemoryText | None = optional("Most memory per GPU.", "A 2.1", example="40Gi")


class ElasticNetwork(Section):
    """The network rate the job may use."""

    heading = "elasticity.network"
    bandwidth_min: Bandwidth | None = optional("Least rate between agents.", "A 2.1", example="1Gbps")
    bandwidth_max: Bandwidth | None = optional("Most rate between agents.", "A 2.1", example="5Gbps")


class Elasticity(Section):
    """The allowed resources: lower and upper bounds."""

    heading = "elasticity"
    gpu: ElasticGpu | None = optional("Bounds of the GPUs.", "A 2.1")
    network: ElasticNetwork | None = optional("Bounds of the network rate.", "A 2.1")


class FaultTolerance(Section):
    """What may be done to the job when resources run short or a node fails."""

    heading = "fault_tolerance"
    level: Level | None = optional(
        "Tolerance level, from what is never taken away to what goes first.", "A 2.1", default="pauseable"
    )
    checkpoint_grace_period: Span | None = optional(
        "Longest time a Step gets to save its state; under 10s is reported as risky.",
        "A 2.1, A 5.3",
        example="30s",
    )
    resume_strategy: Literal["step_resume"] | None = optional(
        "Where a resumed run begins: after the last complete Step.", "A 2.1", default="step_resume"
    )


class NamedDependency(Section):
    """A model, environment, data set, tool or plugin, by exact version."""

    heading = "dependencies[name]"
    name: Text = required("Name of the thing.", "A 2.1", example="reward_model_v2")
    version: Written = required(
        "Semantic version, matched strictly: 1.3.0 is not satisfied by 1.2.9.",
        "A 2.1, A 2.2",
        example="1.3.0",
    )
    type: Literal["model", "environment", "dataset", "tool", "plugin"] = required("What it is.", "A 2.1")
    source: Text | None = optional(
        "Where it is kept: `ds://PATH` (the registry folder's PATH/VERSION), a path, a URL.",
        "A 2.1",
        default="`ds://NAME`",
        example="ds://models/reward/2024q3",
    )
    hash: ContentHash | None = optional(
        "Hash that its content must have, checked before the first Step; `dsec hash` prints it.",
        "A 2.1",
        example="sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    )


class PackageDependency(Section):
    """A Python package, by PEP 440 range."""

    heading = "dependencies[package]"
    package: PackageName = required("Distribution name.", "B 2", example="transformers")
    version: Written | None = optional(
        "PEP 440 version or range; what is installed must be in it.",
        "B 2",
        default="any",
        example=">=4.40.0,<4.42.0",
    )
    build_options: Many[Text] | None = optional(
        "Options for building it. Not applied by a run yet.", "B 2", example=["--enable-cuda-graph"]
    )


def dependency_tag(value: object) -> str:
    """A dependency with the key `package` is a Python package."""
    return "<package>" if isinstance(value, dict) and "package" in value else "<else>"


Dependency = Annotated[
    Annotated[PackageDependency, Tag("<package>")] | Annotated[NamedDependency, Tag("<else>")],
    Discriminator(dependency_tag),
]
