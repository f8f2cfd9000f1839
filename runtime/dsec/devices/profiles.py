"""Machines that many people have, by name: `builtin:8xa100-sxm-80gb`."""

from __future__ import annotations

from dsec.cards import resolve
from dsec.devices.described import from_document
from dsec.errors import InventoryProblem
from dsec.inventory import Inventory
from dsec.words import joined, say

PREFIX = "builtin:"

_HALVES = [0, 0, 0, 0, 1, 1, 1, 1]


def _box(cpu: int, memory: str, type_: str, count: int, **links: object) -> dict[str, object]:
    return {"cpu": cpu, "memory": memory, "gpus": [{"type": type_, "count": count, **links}]}


_PROFILES: dict[str, dict[str, object]] = {
    "1xa10g": _box(4, "16Gi", "a10g", 1, numa=0),
    "1xl40s": {"cpu": 16, "memory": "128Gi", "gpus": [{"type": "l40s"}]},
    "1xrtx-4090": _box(16, "64Gi", "rtx-4090", 1, numa=0),
    "2xrtx-3090": _box(16, "64Gi", "rtx-3090", 2, nvlink="pairs", numa=0),
    "2xrtx-4090": _box(16, "128Gi", "rtx-4090", 2, numa=0, pcie="PHB"),
    "4xa100-pcie-80gb": _box(96, "880Gi", "a100-pcie-80gb", 4, nvlink="pairs", numa=[0, 1, 2, 3]),
    "4xa100-sxm-40gb": _box(128, "512Gi", "a100-sxm-40gb", 4, nvlink="full", nvlinks=4, numa=[2, 2, 6, 6]),
    "4xa10g": _box(48, "192Gi", "a10g", 4, numa=0, pcie="PHB"),
    "4xl40s": _box(64, "512Gi", "l40s", 4, numa=[0, 0, 1, 1]),
    "4xrtx-4090": _box(32, "256Gi", "rtx-4090", 4, numa=0),
    "4xt4": _box(48, "192Gi", "t4", 4, numa=0, pcie="PHB"),
    "8xa100-sxm-40gb": _box(96, "1152Gi", "a100-sxm-40gb", 8, numa=_HALVES),
    "8xa100-sxm-80gb": _box(96, "1024Gi", "a100-sxm-80gb", 8, numa=_HALVES),
    "8xa10g": _box(192, "768Gi", "a10g", 8, numa=_HALVES, pcie="PHB"),
    "8xb200": _box(192, "2048Gi", "b200", 8, numa=_HALVES),
    "8xh100-sxm-80gb": _box(192, "2048Gi", "h100-sxm-80gb", 8, numa=_HALVES),
    "8xh200-sxm-141gb": _box(192, "2048Gi", "h200-sxm-141gb", 8, numa=_HALVES),
    "8xl4": _box(96, "384Gi", "l4", 8, numa=_HALVES, pcie="PHB"),
    "8xl40s": _box(128, "1024Gi", "l40s", 8, numa=_HALVES, switch=2),
}
"""Memory sizes are those of the card table. Links and NUMA nodes of the A100, H100, L4 and RTX 3090
boxes, and those of eight PCIe cards, are recorded ones (`nvidia-smi topo -m`); the rest is usual."""


def names() -> tuple[str, ...]:
    """Names of the profiles, sorted."""
    return tuple(sorted(_PROFILES))


def profile(spec: str) -> Inventory:
    """The profile that `builtin:NAME` names; raises InventoryProblem with the names there are."""
    name = spec.removeprefix(PREFIX)
    if name not in _PROFILES:
        raise InventoryProblem(say("no built-in inventory is called {name!r}", name=name), hint=_hint(name))
    return from_document({"name": f"{PREFIX}{name}", **_PROFILES[name]}, spec)


def _hint(name: str) -> str:
    near, there = like(name), ", ".join(names())
    if not near:
        return say("there are {names}", names=there)
    meant = joined(" or ", near)
    return say("did you mean {meant}? there are {names}", meant=meant, names=there)


def like(name: str) -> tuple[str, ...]:
    """Profiles of the GPU type that is meant, of as many GPUs if there are; else of like spelling."""
    count, times, kind = name.lower().partition("x")
    if not times or not count.isdigit():
        count, kind = "", name
    alike = [one for one in names() if _type(one) in resolve(kind)]
    same = [one for one in alike if one.startswith(f"{count}x")]
    if same or alike:
        return tuple(same or alike)
    from difflib import get_close_matches

    return tuple(get_close_matches(name.lower(), names(), n=1, cutoff=0.75))


def _type(name: str) -> str:
    return name.partition("x")[2]
