"""Which kind of document a file is, from its name and its root keys."""

from __future__ import annotations

DIMENSIONS = ("baseline", "elasticity", "fault_tolerance", "dependencies")
"""The four dimensions that every contract must state."""

_HEALTH = frozenset(("bandwidth_cap", "latency_cap", "snapshot_interval", "policies", "plugins", "telemetry"))


_FOREIGN = frozenset(
    ("$schema", "apiVersion", "channels", "file_mounts", "format", "gpus", "hash", "jobs", "machines")
) | frozenset(("repos", "services", "setup", "stages", "workflow"))
"""Keys of documents that are no contracts; `contract.foreign` knows which."""


def may_be_foreign(keys: frozenset[str]) -> bool:
    """Whether a document may be of a kind that has nothing to do with contracts."""
    return not (keys.isdisjoint(_FOREIGN) or keys & {"baseline", "elasticity", "fault_tolerance"})


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
