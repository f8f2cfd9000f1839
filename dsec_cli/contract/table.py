"""The contract language as plain data, generated from `contract.model` by `contract.generate`."""

from __future__ import annotations

# ruff: noqa: E501
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# fmt: off
SECTIONS: dict[str, tuple[str, tuple[str, ...], dict[str, tuple[Any, ...]]]] = {
    "Statement": ("the document", (), {
        "version": ("written",),
        "name": ("text",),
        "base": ("text",),
        "baseline": ("section", "Baseline"),
        "elasticity": ("section", "Elasticity"),
        "fault_tolerance": ("section", "FaultTolerance"),
        "dependencies": ("list", ("keyed", "package", "PackageDependency", "NamedDependency"), 0),
        "runtime_context": ("section", "RuntimeContext"),
        "security_policy": ("section", "SecurityPolicy"),
        "include-code": ("section", "IncludeCode"),
        "steps": ("list", ("section", "Step"), 0),
        "iterations": ("section", "Iterations"),
        "tokens": ("dict", ("form", "token name"), ("whole", 1, 1000000)),
        "tasks": ("list", ("section", "Task"), 0),
        "communication": ("list", ("section", "Communication"), 0),
        "data_source": ("text",),
        "max_steps_per_episode": ("whole", 0, 1000000),
        "checkpoint_interval_steps": ("whole", 0, 1000000),
        "max_gpu_hours": ("number", 0, 1000000000),
        "min_gpu_hours": ("number", 0, 1000000000),
        "nvlink_mode": ("enum", ("switched", "p2p", "off")),
        "plugins": ("list", ("section", "PluginUse"), 0),
        "bandwidth_cap": ("quantity", "bandwidth"),
        "latency_cap": ("quantity", "duration"),
        "snapshot_interval": ("quantity", "duration"),
        "policies": ("list", ("section", "Policy"), 0),
        "telemetry": ("bool",),
    }),
    "Deploy": ("deploy", ("model", "runtime"), {
        "name": ("text",),
        "version": ("written",),
        "model": ("text",),
        "runtime": ("text",),
        "resources": ("section", "DeployResources"),
        "concurrency": ("whole", 0, 1000000),
        "lifecycle": ("section", "Lifecycle"),
    }),
    "Plugin": ("plugin", ("name", "version", "entrypoint"), {
        "name": ("text",),
        "version": ("written",),
        "description": ("text",),
        "entrypoint": ("text",),
        "schema": ("text",),
        "permissions": ("list", ("text",), 0),
        "allow_unknown": ("list", ("section", "Unseen"), 0),
        "signature": ("text",),
        "baseline": ("section", "Baseline"),
        "elasticity": ("section", "Elasticity"),
        "fault_tolerance": ("section", "FaultTolerance"),
        "dependencies": ("list", ("keyed", "package", "PackageDependency", "NamedDependency"), 0),
        "runtime_context": ("section", "RuntimeContext"),
        "security_policy": ("section", "SecurityPolicy"),
    }),
    "Baseline": ("baseline", (), {
        "gpu": ("section", "Gpu"),
        "cpu": ("number", 0, 1000000),
        "memory": ("quantity", "size"),
    }),
    "Elasticity": ("elasticity", (), {
        "gpu": ("section", "ElasticGpu"),
        "network": ("section", "ElasticNetwork"),
    }),
    "FaultTolerance": ("fault_tolerance", (), {
        "level": ("enum", ("critical", "pauseable", "elastic", "discardable")),
        "checkpoint_grace_period": ("quantity", "duration"),
        "resume_strategy": ("enum", ("step_resume",)),
    }),
    "PackageDependency": ("dependencies[package]", ("package",), {
        "package": ("form", "package name"),
        "version": ("written",),
        "build_options": ("list", ("text",), 0),
    }),
    "NamedDependency": ("dependencies[name]", ("name", "version", "type"), {
        "name": ("text",),
        "version": ("written",),
        "type": ("enum", ("model", "environment", "dataset", "tool", "plugin")),
        "source": ("text",),
        "hash": ("form", "content hash"),
    }),
    "RuntimeContext": ("runtime_context", (), {
        "env_vars": ("list", ("section", "EnvVar"), 0),
        "mounts": ("list", ("section", "Mount"), 0),
    }),
    "SecurityPolicy": ("security_policy", (), {
        "network": ("section", "NetworkPolicy"),
        "filesystem": ("section", "FilesystemPolicy"),
        "memory": ("section", "MemoryPolicy"),
        "dns_passthrough": ("bool",),
    }),
    "IncludeCode": ("include-code", (), {
        "exclude_patterns": ("list", ("text",), 0),
    }),
    "Step": ("steps[]", ("id",), {
        "id": ("form", "step id"),
        "name": ("text",),
        "run": ("either", ("command",), ("list", ("text",), 1), ()),
        "call": ("form", "call"),
        "args": ("free",),
        "worker": ("text",),
        "needs": ("list", ("either", ("form", "step id"), (), ("section", "Need")), 0),
        "resources": ("section", "Resources"),
        "layers": ("either", (), ("list", ("section", "Layer"), 1), ("section", "Layer")),
        "all_reduce": ("form", "reduction"),
        "level": ("enum", ("critical", "pauseable", "elastic", "discardable")),
        "timeout": ("quantity", "duration"),
        "checkpoint_grace_period": ("quantity", "duration"),
        "checkpoint_cmd": ("text",),
        "retries": ("either", ("whole", 0, 1000), (), ("section", "RetryPolicy")),
        "inputs": ("list", ("text",), 0),
        "outputs": ("list", ("text",), 0),
        "expected_duration": ("quantity", "duration"),
        "env": ("dict", ("form", "variable name"), ("written",)),
        "cwd": ("text",),
        "break_cycle": ("bool",),
        "break_point": ("form", "step id"),
    }),
    "Iterations": ("iterations", ("count",), {
        "count": ("whole", 1, 1000000),
        "max_staleness": ("whole", 0, 1000000),
        "in_flight": ("whole", 1, 1000000),
        "carried": ("list", ("section", "Carried"), 0),
    }),
    "Task": ("tasks[]", ("name",), {
        "name": ("form", "step id"),
        "compute_unit": ("section", "ComputeUnit"),
        "script": ("command",),
        "timeout": ("quantity", "duration"),
    }),
    "Communication": ("communication[]", ("from", "to"), {
        "from": ("form", "step id"),
        "to": ("form", "step id"),
        "protocol": ("enum", ("shared-memory", "nvlink-p2p", "pcie", "rdma-over-converged-ethernet", "tcp", "quic")),
    }),
    "PluginUse": ("plugins[]", ("name",), {
        "name": ("text",),
        "version": ("written",),
        "config": ("free",),
        "permissions": ("list", ("text",), 0),
    }),
    "Policy": ("policies[]", ("name", "when", "action"), {
        "name": ("text",),
        "when": ("text",),
        "for": ("quantity", "duration"),
        "action": ("text",),
        "args": ("free",),
        "cooldown": ("quantity", "duration"),
        "dry_run": ("bool",),
    }),
    "DeployResources": ("resources", (), {
        "gpu": ("either", ("text",), (), ("section", "Gpu")),
        "cpu": ("number", 0, 1000000),
        "memory": ("quantity", "size"),
        "instances": ("whole", 0, 1000000),
        "concurrency": ("whole", 0, 1000000),
    }),
    "Lifecycle": ("lifecycle", (), {
        "warmup_steps": ("whole", 0, 1000000),
        "auto_scale": ("bool",),
    }),
    "Unseen": ("plugin.allow_unknown[]", ("reason", "why"), {
        "reason": ("text",),
        "where": ("text",),
        "why": ("text",),
    }),
    "Gpu": ("baseline.gpu", ("count",), {
        "count": ("whole", 0, 1000000),
        "memory": ("quantity", "GPU memory"),
        "type": ("text",),
    }),
    "ElasticGpu": ("elasticity.gpu", (), {
        "min_count": ("whole", 0, 1000000),
        "max_count": ("whole", 0, 1000000),
        "memory_min": ("quantity", "GPU memory"),
        "memory_max": ("quantity", "GPU memory"),
    }),
    "ElasticNetwork": ("elasticity.network", (), {
        "bandwidth_min": ("quantity", "bandwidth"),
        "bandwidth_max": ("quantity", "bandwidth"),
    }),
    "EnvVar": ("runtime_context.env_vars[]", ("name",), {
        "name": ("form", "variable name"),
        "value": ("written",),
        "source": ("text",),
        "ttl": ("quantity", "duration"),
    }),
    "Mount": ("runtime_context.mounts[]", ("path", "source"), {
        "path": ("text",),
        "source": ("text",),
        "mode": ("enum", ("ro", "rw", "ro-encrypted")),
        "cache_ttl": ("quantity", "duration"),
    }),
    "NetworkPolicy": ("security_policy.network", (), {
        "egress": ("list", ("section", "Egress"), 0),
    }),
    "FilesystemPolicy": ("security_policy.filesystem", (), {
        "read_allowed": ("list", ("text",), 0),
        "write_allowed": ("list", ("text",), 0),
    }),
    "MemoryPolicy": ("security_policy.memory", (), {
        "allow_sbrk": ("bool",),
        "heap_protection": ("bool",),
    }),
    "Need": ("steps[].needs[]", ("step",), {
        "step": ("form", "step id"),
        "carried": ("bool",),
    }),
    "Resources": ("steps[].resources", (), {
        "gpu": ("section", "StepGpu"),
        "cpu": ("number", 0, 1000000),
        "memory": ("quantity", "size"),
        "disk": ("quantity", "size"),
        "pcie": ("quantity", "byte rate"),
        "network": ("quantity", "bandwidth"),
        "tokens": ("dict", ("form", "token name"), ("whole", 1, 1000000)),
    }),
    "Layer": ("steps[].layers[]", ("memory",), {
        "name": ("text",),
        "memory": ("quantity", "size"),
        "count": ("whole", 1, 10000),
    }),
    "RetryPolicy": ("steps[].retries", ("max",), {
        "max": ("whole", 0, 1000),
        "backoff": ("quantity", "duration"),
        "factor": ("whole", 1, 100),
    }),
    "Carried": ("iterations.carried[]", ("from", "to"), {
        "from": ("form", "step id"),
        "to": ("form", "step id"),
    }),
    "ComputeUnit": ("tasks[].compute_unit", (), {
        "gpu_type": ("text",),
        "min_memory": ("quantity", "GPU memory"),
        "nvlink_affinity": ("text",),
        "fp16_throughput": ("quantity", "FLOP rate"),
        "memory_bandwidth": ("quantity", "byte rate"),
        "script": ("command",),
    }),
    "Egress": ("security_policy.network.egress[]", ("domain",), {
        "domain": ("form", "host name"),
        "ports": ("list", ("whole", 1, 65535), 0),
        "rate_limit": ("quantity", "request rate"),
        "allow_internal_only": ("bool",),
    }),
    "StepGpu": ("steps[].resources.gpu", ("count",), {
        "count": ("whole", 0, 1000000),
        "memory": ("quantity", "GPU memory"),
        "type": ("text",),
        "share": ("enum", ("exclusive", "fraction", "mig")),
        "within": ("enum", ("nvlink", "switch", "numa")),
        "topology": ("enum", ("strict", "prefer")),
        "nvlink_affinity": ("text",),
        "numa_affinity": ("text",),
        "min_count": ("whole", 0, 1000000),
        "max_count": ("whole", 0, 1000000),
    }),
}
SECTIONS["Contract"] = ("the document", ("baseline", "elasticity", "fault_tolerance", "dependencies"), SECTIONS["Statement"][2])
SECTIONS["Environment"] = ("the document", ("base",), SECTIONS["Statement"][2])
SECTIONS["Tasks"] = ("the document", ("tasks",), SECTIONS["Statement"][2])
SECTIONS["Steps"] = ("the document", (), SECTIONS["Statement"][2])
SECTIONS["Health"] = ("the document", (), SECTIONS["Statement"][2])
ROOTS = {
    "contract": "Contract",
    "environment": "Environment",
    "tasks": "Tasks",
    "steps": "Steps",
    "health": "Health",
    "deploy": "Deploy",
    "plugin": "Plugin",
}
# fmt: on
