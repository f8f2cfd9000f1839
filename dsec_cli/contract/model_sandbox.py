"""What the job may touch: environment, mounts, network, files, and what a snapshot takes along."""

from __future__ import annotations

from typing import Literal

from dsec_cli.contract.leaves import HostName, Many, Port, RequestRate, Span, Text, VariableName, Written
from dsec_cli.contract.section import Section, optional, required


class EnvVar(Section):
    """A variable given to the job, literally or by reference to a secret."""

    heading = "runtime_context.env_vars[]"
    name: VariableName = required("Name of the variable.", "B 2", example="TOOL_API_KEY")
    value: Written | None = optional("Its value; secrets belong in `source`.", "SPEC A2", example="INFO")
    source: Text | None = optional(
        "Reference to the secret that it holds.", "B 2", example="vault://prod/agent-tools/websearch-key"
    )
    ttl: Span | None = optional(
        "How long the fetched secret stays valid. Not applied by a run yet.", "B 2", example="2h"
    )


class Mount(Section):
    """A folder given to the job."""

    heading = "runtime_context.mounts[]"
    path: Text = required("Where the job sees it.", "B 2", example="/workspace/data")
    source: Text = required("What is mounted.", "B 2", example="s3://ds-bucket/finetune-datasets/v2/")
    mode: Literal["ro", "rw", "ro-encrypted"] | None = optional("Read-only or writable.", "B 2", default="ro")
    cache_ttl: Span | None = optional("How long directory entries are cached.", "B 4.5", example="300s")


class RuntimeContext(Section):
    """Environment and mounts, injected when the sandbox starts."""

    heading = "runtime_context"
    env_vars: Many[EnvVar] | None = optional("Environment variables.", "B 2")
    mounts: Many[Mount] | None = optional("Mounted folders. Not applied by a run yet.", "B 2")


class Egress(Section):
    """One destination the job may call."""

    heading = "security_policy.network.egress[]"
    domain: HostName = required("Host name.", "B 2", example="api.websearch.com")
    ports: Many[Port] | None = optional("Ports.", "B 2", example=[443])
    rate_limit: RequestRate | None = optional("Most requests in a time.", "B 2", example="100req/min")
    allow_internal_only: bool | None = optional(
        "Only when the name resolves to a private address.", "B 2", default="false", example=True
    )


class NetworkPolicy(Section):
    """Network rules; what is not listed is refused."""

    heading = "security_policy.network"
    egress: Many[Egress] | None = optional("Destinations that may be called.", "B 2")


class FilesystemPolicy(Section):
    """File rules; what is not listed is refused."""

    heading = "security_policy.filesystem"
    read_allowed: Many[Text] | None = optional("Paths that may be read.", "B 2", example=["/workspace/data"])
    write_allowed: Many[Text] | None = optional(
        "Paths that may be written.", "B 2", example=["/workspace/output"]
    )


class MemoryPolicy(Section):
    """Memory rules."""

    heading = "security_policy.memory"
    allow_sbrk: bool | None = optional("Let the job move its program break.", "B 4.4", example=True)
    heap_protection: bool | None = optional("Watch the heap for misuse.", "B 4.4", example=True)


class SecurityPolicy(Section):
    """What the job may do."""

    heading = "security_policy"
    network: NetworkPolicy | None = optional("Network rules.", "B 2")
    filesystem: FilesystemPolicy | None = optional("File rules.", "B 2")
    memory: MemoryPolicy | None = optional("Memory rules.", "B 4.4")
    dns_passthrough: bool | None = optional(
        "Let name resolution work without listing resolver files.", "B 4.1", default="false", example=True
    )


class IncludeCode(Section):
    """Which source files a snapshot takes along."""

    heading = "include-code"
    exclude_patterns: Many[Text] | None = optional(
        "Patterns to leave out.", "B 4.3", example=[".git/**", "*.log"]
    )
