"""Running the job: plugins, policies, and the two companion documents (plugin manifest, deployment)."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Tag

from dsec_cli.contract.leaves import BY_NODE, Cores, Count, Many, Size, Span, Text, Written
from dsec_cli.contract.model_resources import Baseline, Dependency, Elasticity, FaultTolerance, Gpu
from dsec_cli.contract.model_sandbox import RuntimeContext, SecurityPolicy
from dsec_cli.contract.section import Section, optional, required


class PluginUse(Section):
    """A plugin that the job loads."""

    heading = "plugins[]"
    name: Text = required("Name of the plugin.", "C 3.1", example="dsec_monitor")
    version: Written | None = optional("Semantic version.", "A 4.3", example="1.0.0")
    config: dict[str, Any] | None = optional(
        "Settings handed to the plugin as they are.", "C 3.1", example={"heartbeat_interval": 5}
    )
    permissions: Many[Text] | None = optional("Permissions granted to it.", "A 5.5", example=["read:redis"])


class Policy(Section):
    """What is done when a metric's condition holds. Not applied by a run yet."""

    heading = "policies[]"
    name: Text = required("Name of the policy.", "C 5.2", example="fewer-meltdowns")
    when: Text = required("Condition on a metric.", "C 5.2", example="dsec_melt_down_count > 3/hour")
    lasting: Span | None = optional(
        "How long it must hold.", "C 5.2", key="for", default="at once", example="2h"
    )
    action: Text = required("What is done.", "C 5.2", example="gradient_accumulation")
    args: dict[str, Any] | None = optional("Arguments of the action.", "C 3.2", example={"steps": 4})
    cooldown: Span | None = optional("Least time between two actions.", "SPEC J4", example="10m")
    dry_run: bool | None = optional("Record only, do nothing.", "SPEC J4", default="false", example=True)


class Unseen(Section):
    """What a plugin's author says about a place that its scan cannot see into."""

    heading = "allow_unknown[]"
    reason: Text = required("The code that the scan gives.", "A 5.5", example="exec-child")
    where: Text | None = optional("An address, or a function on the way; all places without it.", "A 5.5")
    why: Text = required("Why it is meant.", "A 5.5", example="runs /usr/bin/git only")


class Plugin(Section):
    """`plugin.yaml`: what a plugin is and what it needs."""

    heading = "plugin"
    name: Text = required("Name of the plugin.", "A 4.3", example="skill-manager")
    version: Written = required("Semantic version.", "A 4.3", example="1.0.0")
    description: Text | None = optional("What it is for.", "A 4.3")
    entrypoint: Text = required("Shared object that holds it.", "A 4.3", example="entrypoint.so")
    data_schema: Text | None = optional(
        "File that describes its input and output.", "A 4.3", key="schema", default="schema.json"
    )
    permissions: Many[Text] | None = optional(
        "All that it may do; nothing else is granted.", "A 5.5", example=["read:redis", "write:s3"]
    )
    allow_unknown: Many[Unseen] | None = optional(
        "Places that the scan cannot see into, accounted for.", "A 5.5"
    )
    signature: Text | None = optional("File with the signature.", "A 4.3", example="plugin.sig")
    baseline: Baseline | None = optional("Standing resources, merged into the contract.", "A 4.3")
    elasticity: Elasticity | None = optional("Allowed resources, merged into the contract.", "A 4.3")
    fault_tolerance: FaultTolerance | None = optional("What may be done to it.", "A 4.3")
    dependencies: Many[Dependency] | None = optional("What it loads.", "A 4.3")
    runtime_context: RuntimeContext | None = optional("Environment and mounts it needs.", "A 4.3")
    security_policy: SecurityPolicy | None = optional("What it may touch. Not applied by a run yet.", "A 4.3")


class DeployResources(Section):
    """Resources of a deployment."""

    heading = "resources"
    gpu: Annotated[Annotated[Text, Tag("<scalar>")] | Annotated[Gpu, Tag("<mapping>")], BY_NODE] | None = (
        optional(
            "GPU of each instance: its type, or count, memory and type.", "A 4.2", example="a100-pcie-40gb"
        )
    )
    cpu: Cores | None = optional("Processor cores of each instance.", "A 4.2", example=8)
    memory: Size | None = optional("Main memory of each instance.", "A 4.2", example="64Gi")
    instances: Count | None = optional("Number of instances.", "A 4.2", example=4)
    concurrency: Count | None = optional("Requests that one instance serves at once.", "A 4.2", example=32)


class Lifecycle(Section):
    """How instances start and scale. Not applied by a run yet."""

    heading = "lifecycle"
    warmup_steps: Count | None = optional("Steps run before the first request.", "A 4.2", example=1000)
    auto_scale: bool | None = optional("Follow load and latency.", "A 4.2", default="false", example=True)


class Deploy(Section):
    """`hermes-deploy.yaml`: how a trained model is served."""

    heading = "deploy"
    name: Text | None = optional("Name of the deployment.", "A 4.2", example="agent-nav")
    version: Written | None = optional("Version of the deployment.", "A 4.2", example="1.0.0")
    model: Text = required("The model served.", "A 4.2", example="ds://models/agent-nav/2024q3")
    runtime: Text = required("The inference runtime.", "A 4.2", example="hermes-v2.1")
    resources: DeployResources | None = optional("Resources.", "A 4.2")
    concurrency: Count | None = optional("Requests that one instance serves at once.", "A 4.2", example=32)
    lifecycle: Lifecycle | None = optional(
        "How instances start and scale. Not applied by a run yet.", "A 4.2"
    )
