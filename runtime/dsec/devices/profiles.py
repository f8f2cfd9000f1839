"""Machines that many people have, by name: `builtin:8xa100-sxm-80gb`."""

from __future__ import annotations

from dsec.devices.described import from_document
from dsec.errors import InventoryProblem
from dsec.inventory import Inventory

PREFIX = "builtin:"

_HALVES = [0, 0, 0, 0, 1, 1, 1, 1]
_PROFILES: dict[str, dict[str, object]] = {
    "1xl40s": {"cpu": 16, "memory": "128Gi", "gpus": [{"type": "l40s"}]},
    "2xrtx-3090": {
        "cpu": 16,
        "memory": "64Gi",
        "gpus": [{"type": "rtx-3090", "count": 2, "nvlink": "pairs", "numa": 0}],
    },
    "4xrtx-4090": {"cpu": 32, "memory": "256Gi", "gpus": [{"type": "rtx-4090", "count": 4, "numa": 0}]},
    "8xa100-sxm-80gb": {
        "cpu": 96,
        "memory": "1024Gi",
        "gpus": [{"type": "a100-sxm-80gb", "count": 8, "numa": _HALVES}],
    },
    "8xh100-sxm-80gb": {
        "cpu": 192,
        "memory": "2048Gi",
        "gpus": [{"type": "h100-sxm-80gb", "count": 8, "numa": _HALVES}],
    },
}


def names() -> tuple[str, ...]:
    """Names of the profiles, sorted."""
    return tuple(sorted(_PROFILES))


def profile(spec: str) -> Inventory:
    """The profile that `builtin:NAME` names; raises InventoryProblem with the names there are."""
    name = spec.removeprefix(PREFIX)
    if name not in _PROFILES:
        raise InventoryProblem(
            f"no built-in inventory is called {name!r}", hint=f"there are {', '.join(names())}"
        )
    return from_document({"name": f"{PREFIX}{name}", **_PROFILES[name]}, spec)
