"""Which kind of document a file is, from its name and its root keys."""

from __future__ import annotations

DIMENSIONS = ("baseline", "elasticity", "fault_tolerance", "dependencies")
"""The four dimensions that every contract must state."""

_HEALTH = frozenset(("bandwidth_cap", "latency_cap", "snapshot_interval", "policies", "plugins", "telemetry"))


_KNOWN = frozenset(
    (
        *("version", "name", "base", "dependencies", "runtime_context", "security_policy", "include-code"),
        *("steps", "shell", "iterations", "tokens", "tasks", "communication", "data_source", "nvlink_mode"),
        *("max_steps_per_episode", "checkpoint_interval_steps", "max_gpu_hours", "min_gpu_hours"),
        *("plugins", "bandwidth_cap", "latency_cap", "snapshot_interval", "policies", "telemetry"),
    )
)
"""Keys of contracts besides the dimensions: a document with no other key is none of another kind."""


_COMMON = frozenset(("version", "name"))
OWN_KEYS = (_KNOWN | frozenset(DIMENSIONS)) - _COMMON
"""Keys by which a contract is known, as nearly every kind of document has a version and a name."""


MEANT = frozenset(
    ("dsandbox.yaml", "dsandbox.yml", "ds_config.yaml", "ds_config.yml", "plugin.yaml", "plugin.yml")
)
"""Names of files that are read key by key, whatever keys they have."""


def may_be_foreign(keys: frozenset[str]) -> bool:
    """Whether a document may be of a kind that has nothing to do with contracts."""
    return not (keys <= _KNOWN or keys & {"baseline", "elasticity", "fault_tolerance"})


def has_key_of_contract(keys: frozenset[str]) -> bool:
    """Whether any of the keys is one that a contract has and hardly anything else."""
    return not keys.isdisjoint(OWN_KEYS) or (bool(keys) and keys <= _COMMON)


def classify(keys: frozenset[str], file_name: str) -> str:
    """`contract`, `environment`, `tasks`, `steps`, `health`, `deploy` or `plugin`.

    What is nothing else is a contract, so that a misspelt one is told what it lacks.
    """
    name = file_name.replace("\\", "/").rpartition("/")[2]
    if name in ("plugin.yaml", "plugin.yml") or keys & {"permissions", "entrypoint"}:
        return "plugin"
    if {"model", "runtime"} <= keys:
        return "deploy"
    if keys & {"baseline", "elasticity", "fault_tolerance"}:
        return "contract"
    if "base" in keys:
        return "environment"
    if "tasks" in keys:
        return "tasks"
    if name in ("ds_config.yaml", "ds_config.yml"):
        return "steps"
    return "health" if keys and keys <= _HEALTH else "contract"
